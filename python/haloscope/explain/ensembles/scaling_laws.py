"""Laws of growth in the normal form of Extra-P: c₀ + c₁ · pᵃ · log₂(p)ᵇ, chosen by leaving out each point.

The form, the exponents that are tried and the rule that chooses among them are those of Calotoiu, Hoefler,
Poke and Wolf, "Using automated performance modeling to find scalability bugs in complex codes" (SC 2013), as
Extra-P has them today, so that both give the same law for the same data. Ours are two: a law rises without
bound or falls towards c₀, c₁ > 0, as times and counts do that are never negative; and how sure a law is comes
from repeated runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from haloscope.base.arrays import Floats, Integers

FEWEST_POINTS = 5
# A term that adds less than this share to every value says nothing.
_LEAST_SHARE = 5e-4
_EQUAL = 1e-9


@dataclass(frozen=True)
class Term:
    """pᵃ · log₂(p)ᵇ."""

    power: Fraction
    log: int

    def of(self, points: Floats) -> Floats:
        """Return the term at numbers of ranks, or of what else it goes by."""
        value: Floats = points ** float(self.power) * np.log2(points) ** self.log
        return value

    def __str__(self) -> str:
        power = "" if not self.power else "p" if self.power == 1 else f"p^{_exponent(self.power)}"
        log = "" if not self.log else "log2(p)" if self.log == 1 else f"log2(p)^{self.log}"
        return " · ".join(part for part in (power, log) if part)


def _exponent(power: Fraction) -> str:
    return str(power) if power.denominator == 1 and power > 0 else f"({power})"


def _terms() -> tuple[Term, ...]:
    """Return the terms that are tried, simpler ones first where both are as good."""
    plain = "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3".split()
    once = "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 2 5/2 3".split()
    twice = "0 1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2".split()
    rising = [Term(Fraction(text), log) for log, texts in enumerate((plain, once, twice)) for text in texts]
    return tuple(sorted(rising, key=lambda term: (term.power, term.log))) + tuple(
        Term(-Fraction(text), 0) for text in plain
    )


TERMS = _terms()
FALLING = np.array([term.power < 0 for term in TERMS])
_POWERS = {Fraction(text) for text in ("1/3", "1/2", "2/3", "1")}
NATURAL = np.array(
    [abs(term.power) in _POWERS if not term.log else term.log == 1 and term.power in (0, 1) for term in TERMS]
)


@dataclass(frozen=True)
class ScalingLaws:
    """A law for each row of values: `chosen` is its place in `TERMS`, −1 for a constant.

    `constant` and `factor` are c₀ and c₁, `error` the mean relative error of points that were left out,
    percent (SMAPE). All have the shape (rows,).
    """

    chosen: Integers
    constant: Floats
    factor: Floats
    error: Floats

    def at(self, points: Floats) -> Floats:
        """Return what each law says of each point, shape (rows, points)."""
        basis = np.array([term.of(points) for term in TERMS] + [np.zeros(len(points))])
        value: Floats = self.constant[:, None] + self.factor[:, None] * basis[self.chosen]
        return value

    def text(self, row: int, unit: str = "") -> str:
        """Return a law in words, such as `0.5 + 2e-06 · p · log2(p) s`."""
        constant = f"{self.constant[row]:.3g}"
        if self.chosen[row] < 0:
            return f"{constant} {unit}".strip()
        sign = "-" if self.factor[row] < 0 else "+"
        text = f"{constant} {sign} {abs(self.factor[row]):.3g} · {TERMS[self.chosen[row]]}"
        return f"({text}) {unit}" if unit else text


def fit(points: Sequence[float] | Floats, values: Floats, *, bounded: bool = False) -> ScalingLaws:
    """Return the laws of rows of values at `points`, each greater than or equal to 1, shape (rows, points).

    A constant is judged by all points, as Extra-P does it, a term by predicting each point from the others.
    `bounded` laws may rise towards c₀, too: c₁ < 0 with a power below 0, as shares of ranks inside of a grid.
    Their terms are only those that trees, rows, squares and cubes of ranks have: among all of them noise
    would choose, and steep ones would be far off where nothing was measured.
    """
    x = np.asarray(points, dtype=np.float64)
    y = np.atleast_2d(np.asarray(values, dtype=np.float64))
    basis = np.array([term.of(x) for term in TERMS])
    scale = np.abs(basis).max(axis=1, keepdims=True)
    constant, factor, left_out = _lines(basis / scale, y)
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


def _lines(basis: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return c₀ and c₁ of each row and term, and each point as the line through the others has it."""
    count = len(basis[0])
    centred = basis - basis.mean(axis=1, keepdims=True)
    spread = (centred**2).sum(axis=1)
    factor = (y @ centred.T) / spread
    constant = y.mean(axis=1)[:, None] - factor * basis.mean(axis=1)
    residual = y[:, None, :] - (constant[:, :, None] + factor[:, :, None] * basis)
    # How much a point draws the line to itself; without it, its residual is so much larger.
    pull = 1 / count + centred**2 / spread[:, None]
    return constant, factor, y[:, None, :] - residual / (1 - pull)


def _smape(predicted: Floats, y: Floats) -> Floats:
    """Return the symmetric mean absolute percentage error over the last axis."""
    size = np.abs(predicted) + np.abs(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(size > 0, 2 * np.abs(predicted - y) / size, 0.0)
    error: Floats = 100 * relative.mean(axis=-1)
    return error


def draws_of(
    repetitions: Sequence[Sequence[float]], number: int, random: np.random.Generator
) -> Floats | None:
    """Return what means of repeated runs could have been, shape (number, points); None without repetitions.

    The relative scatter is taken to be the same at all points, and is estimated from all of them; how well it
    is known goes into the draws, by its χ² distribution.
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
