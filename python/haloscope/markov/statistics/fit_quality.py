"""Quality of a fit: the observed times compared with times drawn from the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from scipy.special import ndtri

from haloscope.base.arrays import Bytes, Floats, Integers
from haloscope.markov.statistics.samples import autocorrelation, largest_distance

Decoder = Callable[[Floats], Bytes]

_NEAREST = 1e-12  # smallest distance of a probability from 0 and 1: 7 standard deviations
_QUANTILES = 4096  # at which distributions are compared; smaller distances do not matter
_FITS: dict[str, pl.DataType | type[pl.DataType]] = {
    "regime": pl.Int64,
    "instances": pl.Int64,
    **dict.fromkeys(("distance", "allowed", "negative", "run_length", "drawn_run_length"), pl.Float64),
}


class Family(Protocol):
    """The interface of a family of distributions, one per state."""

    @property
    def name(self) -> str:
        """The family's name."""

    def log_density(self, values: Floats) -> Floats:
        """Return the natural logarithm of the density: (points,) → (points, states)."""

    def cdf(self, values: Floats) -> Floats:
        """Return the probability of a time that is no longer: (points,) → (points, states)."""

    def sample(self, states: Integers, rng: np.random.Generator) -> Floats:
        """Draw a value for each of these states."""


def pseudo_residuals(durations: Floats, start: Floats, transition: Floats, emission: Family) -> Floats:
    """Return normal pseudo-residuals, (sequences, instances), NaN where there is no instance.

    These are the forecast residuals of Zucchini, MacDonald and Langrock (Hidden Markov Models for Time
    Series, 2nd edition 2016, section 6.3). For each time, the probability of a shorter one, given all earlier
    times, is mapped to the quantile of a standard normal distribution. If the model is right, residuals are
    independent and standard normal.
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


def draw_sequences(
    like: Floats, start: Floats, transition: Floats, emission: Family, rng: np.random.Generator
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
    seen: tuple[Floats, Bytes], drawn: tuple[list[Floats], list[Bytes]], count: int, levels: Floats
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return how well the times of each regime agree with the model, and both quantiles."""
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
            row["allowed"] = _find_allowed(own, drawn, regime, other)
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


def _find_allowed(own: Floats, drawn: tuple[list[Floats], list[Bytes]], regime: int, every: Floats) -> float:
    """Return the largest distance of one drawn series from all drawn series."""
    parts = [np.sort(series[states == regime]) for series, states in zip(*drawn, strict=True)]
    return max((largest_distance(part, every, _QUANTILES) for part in parts if part.size), default=1.0)


def _run_length(states: Bytes, regime: int) -> float | None:
    inside = states == regime
    begins = int(np.count_nonzero(inside[:, 0]))
    begins += int(np.count_nonzero(inside[:, 1:] & ~inside[:, :-1]))
    return float(np.count_nonzero(inside)) / begins if begins else None


def checks(seen: tuple[Floats, Bytes], drawn: tuple[list[Floats], list[Bytes]], count: int) -> pl.DataFrame:
    """Return each statistic of the observed times, and the median and the middle 95 % of drawn ones."""
    observed = _statistics(*seen, count)
    others = [_statistics(*series, count) for series in zip(*drawn, strict=True)]
    rows = []
    for name, value in observed.items():
        values = np.array([other[name] for other in others])
        low, median, high = np.quantile(values, [0.025, 0.5, 0.975])
        row = {"statistic": name, "observed": value, "low": low, "median": median, "high": high}
        rows.append(row)
    return pl.DataFrame(rows)


def _statistics(durations: Floats, states: Bytes, count: int) -> dict[str, float]:
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


_FAR = 0.1  # share of a regime's times that do not fit: larger ones are reported
_NEGATIVE = 0.01
_CORRELATED = 0.1
_LONGER = 1.5
_FEWEST = 20
_WINDOW = 8192  # instances of a sequence in one window
_MOST = 1 << 18  # points in all windows: more would not change the result
_LEVELS = np.linspace(0.005, 0.995, 199)
_LAGS = 50


def verdicts(
    family: str, fits: pl.DataFrame, checks: pl.DataFrame, correlation: pl.DataFrame
) -> tuple[str, ...]:
    """Return one line per misfit that is large enough to matter, not only significant."""
    lines = [line for row in fits.to_dicts() if (line := _judge_regime(family, row))]
    lines += [line for row in fits.to_dicts() if (line := _judge_runs(row))]
    if len(correlation):
        lag, value, band = correlation.row(0)
        if abs(value) > max(_CORRELATED, band):
            lines.append(
                f"times depend on each other beyond what the regimes explain: the residuals' "
                f"correlation at lag {lag} is {value:.2f}"
            )
    del checks
    return tuple(lines)


def _judge_regime(family: str, row: dict[str, Any]) -> str | None:
    if row["instances"] < _FEWEST or row["distance"] is None:
        return None
    reasons = []
    if row["negative"] > _NEGATIVE:
        reasons.append(f"{100 * row['negative']:.0f} % of the times that it draws are negative")
    if row["distance"] > max(_FAR, 2 * row["allowed"]):
        share = f"{100 * row['distance']:.0f} %"
        reasons.append(f"{share} of the times do not fit it")
    if not reasons:
        return None
    return f"{family} is a bad model of regime {row['regime']}: {' and '.join(reasons)}"


def _judge_runs(row: dict[str, Any]) -> str | None:
    seen, drawn = row["run_length"], row["drawn_run_length"]
    if row["instances"] < _FEWEST or seen is None or drawn is None:
        return None
    if seen < _LONGER * drawn and drawn < _LONGER * seen:
        return None
    return (
        f"regime {row['regime']} lasts {seen:.1f} instances in a row, "
        f"{drawn:.1f} in series of the model: it isn't a Markov chain"
    )


@dataclass(frozen=True)
class Goodness:
    """How well a fitted model agrees with its times. Regimes count from 1.

    `regimes`: a row per regime: `regime, instances, distance, allowed, negative, run_length,
    drawn_run_length`. `distance` is the largest one between the distributions of observed and of drawn times,
    both decoded in the same way; `allowed` its largest value by chance; `negative` the share of drawn times
    below 0; the last two are mean numbers of instances in a row. `quantiles`: `regime, level, observed,
    drawn`: the points of a QQ plot of each regime, seconds. `residuals`: `level, normal, residual`: those of
    a QQ plot of the normal pseudo-residuals. `correlation`: `lag, correlation, band`: of the
    pseudo-residuals; outside ± band: not chance. `checks`: `statistic, observed, low, median, high`:
    statistics of the observed times, and the middle 95 % of those of series drawn from the model (posterior
    predictive check). `verdicts`: one line per misfit; empty if there is none.
    """

    regimes: pl.DataFrame
    quantiles: pl.DataFrame
    residuals: pl.DataFrame
    correlation: pl.DataFrame
    checks: pl.DataFrame
    verdicts: tuple[str, ...]


def goodness(
    durations: Floats,
    start: Floats,
    transition: Floats,
    emission: Family,
    decode: Decoder,
    *,
    draws: int = 19,
    seed: int = 0,
) -> Goodness:
    """Compare a model with `durations` (sequences, instances) in seconds, NaN where there is none.

    Both observed and drawn times are decoded, since decoding cuts the tails where regimes overlap. With many
    instances, windows of 8192 at equal distances are used.

    Args:
        durations: Observed times.
        start: Probabilities of the first state, (states,).
        transition: Probabilities of the next state (column), (states, states).
        emission: Distributions of the times.
        decode: Returns the states of such a matrix, 255 where there is no instance.
        draws: Number of series to draw from the model.
        seed: Seed of the draws; the result is deterministic.
    """
    windows = _windows(np.atleast_2d(durations))
    rng = np.random.default_rng(seed)
    series = [draw_sequences(windows, start, transition, emission, rng) for _ in range(draws)]
    seen = decode(windows)
    decoded = [decode(drawn_series) for drawn_series in series]
    count = len(start)
    fits, quantiles = regime_fits((windows, seen), (series, decoded), count, _LEVELS)
    predictive = checks((windows, seen), (series, decoded), count)
    residuals = pseudo_residuals(windows, start, transition, emission)
    correlation = _correlation(residuals)
    return Goodness(
        regimes=fits,
        quantiles=quantiles,
        residuals=_normal_plot(residuals),
        correlation=correlation,
        checks=predictive,
        verdicts=verdicts(emission.name, fits, predictive, correlation),
    )


def _windows(durations: Floats) -> Floats:
    """Return windows of all rows with a limited number of points."""
    width = max(1, min(_WINDOW, durations.shape[1]))
    begins = range(0, durations.shape[1] - width + 1, width)
    windows = np.concatenate([durations[:, begin : begin + width] for begin in begins])
    windows = windows[~np.isnan(windows[:, 0])]
    most = max(1, _MOST // width)
    chosen = np.linspace(0, len(windows) - 1, min(most, len(windows))).astype(np.int64)
    return np.ascontiguousarray(windows[chosen])


def _normal_plot(residuals: Floats) -> pl.DataFrame:
    values = residuals[~np.isnan(residuals)]
    found = np.quantile(values, _LEVELS) if values.size else np.full(_LEVELS.size, np.nan)
    table = {"level": _LEVELS, "normal": ndtri(_LEVELS), "residual": found}
    return pl.DataFrame(table).with_columns(pl.col("residual").fill_nan(None))


def _correlation(residuals: Floats) -> pl.DataFrame:
    """Return the sequences' mean autocorrelation, weighted by length, and twice its standard error."""
    rows = [row[~np.isnan(row)] for row in residuals]
    rows = [row for row in rows if row.size > 2 * _LAGS]
    schema = {"lag": pl.Int64, "correlation": pl.Float64, "band": pl.Float64}
    if not rows:
        return pl.DataFrame(schema=schema)
    sizes = np.array([row.size for row in rows])
    each = np.array([autocorrelation(row, _LAGS)[1:] for row in rows])
    mean = (sizes[:, None] * each).sum(axis=0) / sizes.sum()
    band = np.full(_LAGS, 1.96 / np.sqrt(sizes.sum()))
    columns = {"lag": np.arange(1, _LAGS + 1), "correlation": mean, "band": band}
    return pl.DataFrame(columns, schema=schema)
