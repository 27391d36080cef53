"""Scaling models in Extra-P's normal form: c₀ + c₁ · pᵃ · log₂(p)ᵇ, selected by cross-validation.

Form, exponents and selection rule are those of Calotoiu, Hoefler, Poke and Wolf, "Using automated performance
modeling to find scalability bugs in complex codes" (SC 2013), as in current Extra-P, so that both give the
same model for the same data. Two additions are ours. A model rises without bound or falls towards c₀
(c₁ > 0), because times and counts are never negative. The uncertainty of a model comes from repeated runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from haloscope.base.arrays import Floats, Integers

FEWEST_POINTS = 5
# A term that contributes less than this share to every value is not used.
_LEAST_SHARE = 5e-4
_EQUAL = 1e-9


@dataclass(frozen=True)
class Term:
    """pᵃ · log₂(p)ᵇ."""

    power: Fraction
    log: int

    def of(self, points: Floats) -> Floats:
        """Return the values of the term at these points, such as numbers of ranks."""
        value: Floats = points ** float(self.power) * np.log2(points) ** self.log
        return value

    def __str__(self) -> str:
        whole = self.power.denominator == 1 and self.power > 0
        exponent = str(self.power) if whole else f"({self.power})"
        power = "" if not self.power else "p" if self.power == 1 else f"p^{exponent}"
        log = "" if not self.log else "log2(p)" if self.log == 1 else f"log2(p)^{self.log}"
        return " · ".join(part for part in (power, log) if part)


def _list_terms() -> tuple[Term, ...]:
    """Return the candidate terms. Among equally good ones the first, simpler one is selected."""
    plain = "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3".split()
    once = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 2 5/2 3".split()
    twice = "0 1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2".split()
    rising = [Term(Fraction(text), log) for log, texts in enumerate((plain, once, twice)) for text in texts]
    return tuple(sorted(rising, key=lambda term: (term.power, term.log))) + tuple(
        Term(-Fraction(text), 0) for text in plain
    )


TERMS = _list_terms()
FALLING = np.array([term.power < 0 for term in TERMS])
_POWERS = {Fraction(text) for text in ("1/3", "1/2", "2/3", "1")}
NATURAL = np.array(
    [abs(term.power) in _POWERS if not term.log else term.log == 1 and term.power in (0, 1) for term in TERMS]
)


@dataclass(frozen=True)
class ScalingLaws:
    """A scaling model per row of values: `chosen` is the index of its term in `TERMS`, −1 for a constant.

    `constant` and `factor` are c₀ and c₁. `error` is the cross-validation error in percent (SMAPE). All have
    shape (rows,).
    """

    chosen: Integers
    constant: Floats
    factor: Floats
    error: Floats

    def at(self, points: Floats) -> Floats:
        """Return the prediction of each model at each point, shape (rows, points)."""
        basis = np.array([term.of(points) for term in TERMS] + [np.zeros(len(points))])
        value: Floats = self.constant[:, None] + self.factor[:, None] * basis[self.chosen]
        return value

    def text(self, row: int, unit: str = "") -> str:
        """Return a model as text, such as `0.5 + 2e-06 · p · log2(p) s`."""
        constant = f"{self.constant[row]:.3g}"
        if self.chosen[row] < 0:
            return f"{constant} {unit}".strip()
        sign = "-" if self.factor[row] < 0 else "+"
        text = f"{constant} {sign} {abs(self.factor[row]):.3g} · {TERMS[self.chosen[row]]}"
        return f"({text}) {unit}" if unit else text


def fit_laws(points: Sequence[float] | Floats, values: Floats, *, bounded: bool = False) -> ScalingLaws:
    """Fit a scaling model to each row of values.

    As in Extra-P, the error of a constant is that over all points, the error of a term that of predicting
    each point from the others.

    Args:
        points: Points, each at least 1.
        values: Values with shape (rows, points).
        bounded: Models may also rise towards c₀ (c₁ < 0 with a negative power), as the share of inner ranks
            of a grid. Only terms of trees, rows, squares and cubes of ranks are used, as noise would select
            among all terms, and steep ones extrapolate badly.
    """
    x = np.asarray(points, dtype=np.float64)
    y = np.atleast_2d(np.asarray(values, dtype=np.float64))
    basis = np.array([term.of(x) for term in TERMS])
    scale = np.abs(basis).max(axis=1, keepdims=True)
    constant, factor, left_out = _fit_lines(basis / scale, y)
    errors = _smape(left_out, y[:, None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.abs(factor[:, :, None] * (basis / scale) / y[:, None, :]).max(axis=2)
    is_allowed = NATURAL & ((factor > 0) | FALLING) if bounded else factor > 0
    errors[~(is_allowed & (shares >= _LEAST_SHARE) & np.isfinite(errors))] = np.inf
    mean = y.mean(axis=1)
    flat = _smape(np.broadcast_to(mean[:, None], y.shape), y)
    best = errors.argmin(axis=1)
    rows = np.arange(len(y))
    is_constant = (np.ptp(y, axis=1) <= _EQUAL * np.abs(mean)) | ~(errors[rows, best] < flat)
    return ScalingLaws(
        np.where(is_constant, -1, best),
        np.where(is_constant, mean, constant[rows, best]),
        np.where(is_constant, 0.0, factor[rows, best] / scale[best, 0]),
        np.where(is_constant, flat, errors[rows, best]),
    )


def _fit_lines(basis: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return c₀ and c₁ per row and term, and the prediction of each point from the line through the
    others."""
    count = len(basis[0])
    centred = basis - basis.mean(axis=1, keepdims=True)
    spread = (centred**2).sum(axis=1)
    factor = (y @ centred.T) / spread
    constant = y.mean(axis=1)[:, None] - factor * basis.mean(axis=1)
    residual = y[:, None, :] - (constant[:, :, None] + factor[:, :, None] * basis)
    # Leverage of a point. Without the point, its residual is larger by 1 / (1 - leverage).
    leverage = 1 / count + centred**2 / spread[:, None]
    return constant, factor, y[:, None, :] - residual / (1 - leverage)


def _smape(predicted: Floats, y: Floats) -> Floats:
    """Return the symmetric mean absolute percentage error over the last axis."""
    size = np.abs(predicted) + np.abs(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(size > 0, 2 * np.abs(predicted - y) / size, 0.0)
    error: Floats = 100 * relative.mean(axis=-1)
    return error


def draw_means(
    repetitions: Sequence[Sequence[float]], number: int, random: np.random.Generator
) -> Floats | None:
    """Return bootstrap means of repeated runs, shape (number, points); None without repetitions.

    The relative scatter is assumed to be equal at all points and is estimated from all of them. The samples
    include its uncertainty by the χ² distribution.
    """
    counts = np.array([len(group) for group in repetitions])
    means = np.array([np.mean(group) for group in repetitions])
    degrees = int((counts - 1).sum())
    if degrees < 1:
        return None
    relative = [
        (np.asarray(group) / mean - 1) ** 2 if mean else np.zeros(len(group))
        for group, mean in zip(repetitions, means, strict=True)
    ]
    scatter = np.sqrt(sum(float(part.sum()) for part in relative) / random.chisquare(degrees, number))
    noise = random.standard_normal((number, len(counts))) / np.sqrt(counts)
    draws: Floats = means * (1 + scatter[:, None] * noise)
    return draws
