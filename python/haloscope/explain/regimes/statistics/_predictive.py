"""What a model did not foresee: statistics of times beside those of times drawn from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl
from scipy.special import ndtri

from haloscope.explain.regimes.statistics._samples import autocorrelation, largest_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    States = NDArray[np.uint8]

__all__ = ["Emission", "Floats", "checks", "drawn", "pseudo_residuals", "regime_fits"]

_NEAREST = 1e-12  # to 0 and 1 that a probability is taken to be: 7 standard deviations
_QUANTILES = 4096  # where distributions are compared: a distance that small matters to nobody
_FITS: dict[str, pl.DataType | type[pl.DataType]] = {
    "regime": pl.Int64,
    "instances": pl.Int64,
    "distance": pl.Float64,
    "allowed": pl.Float64,
    "negative": pl.Float64,
    "run_length": pl.Float64,
    "drawn_run_length": pl.Float64,
}


class Emission(Protocol):
    """What is needed of a family of distributions, one for each state."""

    @property
    def name(self) -> str:
        """The family's name."""

    def log_density(self, values: Floats) -> Floats:
        """(points,) -> (points, states)."""

    def cdf(self, values: Floats) -> Floats:
        """(points,) -> (points, states): the probability of no more."""

    def sample(self, states: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Draw a value for each of these states."""


def pseudo_residuals(durations: Floats, start: Floats, transition: Floats, emission: Emission) -> Floats:
    """Return normal pseudo-residuals, (sequences, instances), NaN where there is no instance.

    The forecast ones of Zucchini, MacDonald and Langrock (Hidden Markov Models for Time Series,
    2nd edition 2016, section 6.3): the probability, given all earlier times, of one that is no
    longer than what came, as the quantile of a standard normal distribution. If the model is right
    they are independent and standard normal.
    """
    residuals = np.full(durations.shape, np.nan)
    belief = np.tile(start, (len(durations), 1))
    for instance, values in enumerate(np.ascontiguousarray(durations.T)):
        there = ~np.isnan(values)
        if not there.any():
            break
        now = values[there]
        chances = np.einsum("ij,ij->i", belief[there], emission.cdf(now))
        residuals[there, instance] = ndtri(np.clip(chances, _NEAREST, 1 - _NEAREST))
        density = emission.log_density(now)
        weight = belief[there] * np.exp(density - density.max(axis=1, keepdims=True))
        total = weight.sum(axis=1, keepdims=True)
        known = np.where(total > 0, weight / np.where(total > 0, total, 1), belief[there])
        belief[there] = known @ transition
    return residuals


def drawn(
    like: Floats, start: Floats, transition: Floats, emission: Emission, rng: np.random.Generator
) -> Floats:
    """Return sequences drawn from the model, each as long as its counterpart in `like`."""
    sequences, instances = like.shape
    states = np.empty((instances, sequences), dtype=np.int64)
    bounds = np.tile(np.cumsum(start)[:-1], (sequences, 1))
    after: Floats = np.cumsum(transition, axis=1)[:, :-1]
    for instance, chances in enumerate(rng.random((instances, sequences))):
        states[instance] = (chances[:, None] > bounds).sum(axis=1)
        bounds = after[states[instance]]
    values = emission.sample(states.T.ravel(), rng).reshape(sequences, instances)
    return np.where(np.isnan(like), np.nan, values)


def regime_fits(
    seen: tuple[Floats, States], drawn: tuple[list[Floats], list[States]], count: int, levels: Floats
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return how the times of each regime agree, and their quantiles side by side."""
    fits, quantiles = [], []
    every, states = np.concatenate(drawn[0]), np.concatenate(drawn[1])
    for regime in range(count):
        own, other = seen[0][seen[1] == regime], every[states == regime]
        row: dict[str, float | None] = {"regime": regime + 1, "instances": own.size}
        row["run_length"] = _run_length(seen[1], regime)
        row["drawn_run_length"] = _run_length(states, regime)
        if own.size and other.size:
            own.sort()
            other.sort()
            row["distance"] = largest_distance(own, other, _QUANTILES)
            row["allowed"] = _allowed(own, drawn, regime, other)
            row["negative"] = np.searchsorted(other, 0.0) / other.size
            quantiles.append(_quantiles(regime + 1, levels, own, other))
        fits.append(row)
    table = pl.concat(quantiles) if quantiles else _quantiles(0, levels[:0], levels, levels)
    return pl.DataFrame(fits, schema=_FITS), table


def _quantiles(regime: int, levels: Floats, own: Floats, other: Floats) -> pl.DataFrame:
    sides = {"observed": np.quantile(own, levels), "drawn": np.quantile(other, levels)}
    return pl.DataFrame({"level": levels, **sides}).select(
        pl.lit(regime, dtype=pl.Int64).alias("regime"), pl.all()
    )


def _allowed(own: Floats, drawn: tuple[list[Floats], list[States]], regime: int, every: Floats) -> float:
    """The largest distance of any one series drawn from all that were drawn."""
    parts = [np.sort(one[states == regime]) for one, states in zip(*drawn, strict=True)]
    return max((largest_distance(part, every, _QUANTILES) for part in parts if part.size), default=1.0)


def _run_length(states: States, regime: int) -> float | None:
    inside = states == regime
    begins = int(np.count_nonzero(inside[:, 0]))
    begins += int(np.count_nonzero(inside[:, 1:] & ~inside[:, :-1]))
    return float(np.count_nonzero(inside)) / begins if begins else None


def checks(seen: tuple[Floats, States], drawn: tuple[list[Floats], list[States]], count: int) -> pl.DataFrame:
    """Return each statistic as seen and as drawn: the median and the middle 95 %."""
    observed = _statistics(*seen, count)
    others = [_statistics(*one, count) for one in zip(*drawn, strict=True)]
    rows = []
    for name, value in observed.items():
        values = np.array([other[name] for other in others])
        low, median, high = np.quantile(values, [0.025, 0.5, 0.975])
        row = {"statistic": name, "observed": value, "low": low, "median": median, "high": high}
        rows.append(row)
    return pl.DataFrame(rows)


def _statistics(durations: Floats, states: States, count: int) -> dict[str, float]:
    values = durations[~np.isnan(durations)]
    rows = [row[~np.isnan(row)] for row in durations]
    first = [autocorrelation(row, 1)[1] for row in rows if row.size > 2]
    shares = np.bincount(states[states < count], minlength=count) / max(1, values.size)
    median, most = np.quantile(values, [0.5, 0.99])
    return {
        "mean": float(values.mean()),
        "std": float(values.std()),
        "median": float(median),
        "99 % quantile": float(most),
        "maximum": float(values.max()),
        "minimum": float(values.min()),
        "correlation with the instance before": float(np.mean(first)) if first else 0.0,
        **{f"share of regime {regime + 1}": float(shares[regime]) for regime in range(count)},
    }
