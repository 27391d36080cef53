"""How much faster one run or method is than another, and whether their times differ at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy.special import kolmogorov, stdtrit

from haloscope.base.arrays import Bytes, Floats, Integers
from haloscope.markov.statistics.samples import (
    Mean,
    Sample,
    largest_distance,
    long_run_variance,
    ratio_mean,
    row_blocks,
)

_MEANS_SCHEMA = {
    "name": pl.String,
    "regime": pl.Int64,
    "instances": pl.Int64,
    **dict.fromkeys(
        ("share", "effective", "mean", "mean_low", "mean_high", "faster", "faster_low", "faster_high"),
        pl.Float64,
    ),
}
_TABLE_SCHEMA = {
    "regime": pl.Int64,
    **dict.fromkeys(("mean", "std", "median", "share"), pl.Float64),
    "instances": pl.Int64,
    "runs": pl.Int64,
    "run_length": pl.Float64,
}


def regime_means(
    samples: Sequence[Sample], regime: int | None = 0, baseline: int = 0, level: float = 0.95
) -> pl.DataFrame:
    """Return each sample's mean time in `regime`, compared with that of the sample `baseline`.

    Columns: `name`, `regime` (from 1; null: all times), `instances` (of all ranks), `share` of the
    sample's instances that are in it, `effective` (independent instances that they are worth),
    `mean` in seconds with its interval `mean_low`, `mean_high`; `faster`: by how many percent the
    mean is less than the baseline's, 100 (1 − mean / baseline mean), with its interval; null for
    the baseline.

    The intervals hold at `level` for points with any dependence within an instance and on instances before:
    Student's t at the effective number of instances; for the ratio the variances of the two logarithms are
    added (degrees of freedom after Welch). They do not include differences between runs. Unknown values are
    null.
    """
    parts = [_MeanPart.from_sample(sample, regime) for sample in samples]
    rows = []
    for index, part in enumerate(parts):
        row = part.row(level) | {"regime": None if regime is None else regime + 1}
        if index != baseline:
            row |= _faster(part.mean, parts[baseline].mean, level)
        rows.append(row)
    return pl.DataFrame(rows, schema=_MEANS_SCHEMA)


class _MeanPart:
    """A sample's mean, and its row of the table."""

    def __init__(self, name: str, mean: Mean | None, chosen: int, all_points: int) -> None:
        self.name, self.mean, self.chosen, self.all_points = name, mean, chosen, all_points

    @classmethod
    def from_sample(cls, sample: Sample, regime: int | None) -> _MeanPart:
        instances = sample.durations.shape[1]
        sums, counts, there = np.zeros(instances), np.zeros(instances), 0
        for rows in row_blocks(sample):
            chosen = sample.find_chosen(rows, regime)
            sums += np.where(chosen, sample.durations[rows], 0).sum(axis=0)
            counts += chosen.sum(axis=0)
            there += int(np.count_nonzero(sample.find_chosen(rows, None)))
        return cls(sample.name, ratio_mean(sums, counts), int(counts.sum()), there)

    def row(self, level: float) -> dict[str, object]:
        row: dict[str, object] = {"name": self.name, "instances": self.chosen}
        if self.all_points:
            row["share"] = self.chosen / self.all_points
        if self.mean is None:
            return row
        row["mean"] = self.mean.value
        if np.isfinite(self.mean.effective):
            reach = _quantile(level, self.mean.effective) * _error(self.mean)
            low, high = self.mean.value - reach, self.mean.value + reach
            row |= {"effective": self.mean.effective, "mean_low": low, "mean_high": high}
        return row


def _faster(own: Mean | None, baseline: Mean | None, level: float) -> dict[str, float]:
    if own is None or baseline is None or not own.value > 0 < baseline.value:
        return {}
    ratio = own.value / baseline.value
    row = {"faster": 100 * (1 - ratio)}
    variances = np.array([(_error(mean) / mean.value) ** 2 for mean in (own, baseline)])
    if not np.isfinite(variances).all():
        return row
    freedom = np.array([own.effective, baseline.effective])
    welch = _welch(variances, freedom)
    factor = float(np.exp(_quantile(level, welch) * np.sqrt(variances.sum())))
    return row | {"faster_low": 100 * (1 - ratio * factor), "faster_high": 100 * (1 - ratio / factor)}


def _welch(variances: Floats, effective: Floats) -> float:
    """Return the effective number of instances of the sum of both variances."""
    if not variances.sum():
        return float(effective.sum())
    freedom = np.maximum(effective - 1, 1)
    return float(variances.sum() ** 2 / (variances**2 / freedom).sum()) + 1


def _error(mean: Mean) -> float:
    """Return the standard error, corrected for few instances (n / (n − 1))."""
    return float(np.sqrt(mean.variance * mean.effective / max(mean.effective - 1, 1)))


def _quantile(level: float, effective: float) -> float:
    return float(stdtrit(max(effective - 1, 1), 0.5 + level / 2))


def sentences(means: pl.DataFrame, baseline: int = 0) -> list[str]:
    """Return one line per sample except the baseline: how much faster or slower it was.

    `means` is what `regime_means` returned for this `baseline`. "in these two runs B was 4.2 % [3.6, 4.8]
    faster than A in the fast regime"; if the interval contains 0, that no difference is significant.
    """
    rows = means.to_dicts()
    peer = rows[baseline]["name"]
    return [sentence(row, peer) for index, row in enumerate(rows) if index != baseline]


def sentence(
    row: dict[str, Any], peer: str, runs: tuple[int, int] = (1, 1), doubts: Sequence[str] = ()
) -> str:
    """Return how much faster or slower than `peer` a sample is, from a row of `regime_means`.

    With one run each it is about these two runs; with several, about the methods. `doubts` are reasons not to
    state a difference.
    """
    regime, name = row["regime"], row["name"]
    where = {None: "", 1: " in the fast regime"}.get(regime, f" in regime {regime}")
    amount, low, high = row["faster"], row["faster_low"], row["faster_high"]
    if amount is None:
        return f"{name} cannot be compared with {peer}{where}: one has no times"
    alone = runs == (1, 1)
    begin = "in these two runs" if alone else f"by {runs[0]} and {runs[1]} runs"
    begin = f"{begin} {name} {'was' if alone else 'is'}"
    word = "faster" if amount >= 0 else "slower"
    than = f"{word} than {peer}{where}"
    if low is None:
        return f"{begin} {abs(amount):.1f} % {than}; too few instances for an interval"
    if doubts or low <= 0 <= high:
        amount, low, high = (round(number, 1) + 0.0 for number in (amount, low, high))  # not -0.0
        bounds = f"{amount:+.1f} % [{low:+.1f}, {high:+.1f}]"
        why = f", as {'; '.join(doubts)}" if doubts else ""
        return f"{begin} not significantly faster or slower than {peer}{where}: {bounds}{why}"
    lesser, larger = sorted((abs(low), abs(high)))
    return f"{begin} {abs(amount):.1f} % [{lesser:.1f}, {larger:.1f}] {than}"


def regime_table(durations: Floats, states: Bytes, n_regimes: int) -> pl.DataFrame:
    """Return one row per regime, the fastest first, over all ranks and instances.

    `durations` are seconds, (ranks, instances); `states` are the decoded regimes in the same shape, 255 where
    a rank has no instance. Columns: `regime` (from 1; state 0 is regime 1), `mean`, `std` (of the sample),
    `median` in seconds, `share` of all instances, `instances`, `runs` and `run_length`. A run is a maximal
    stretch of instances of one rank in the regime; `run_length` is the mean length in instances, with
    stretches that the series' ends cut off. A statistic of too few instances is null.
    """
    durations, states = np.atleast_2d(durations), np.atleast_2d(states)
    runs = _runs(states)
    rows = [_row(durations[states == state], state, int(runs[state])) for state in range(n_regimes)]
    total = sum(row["instances"] or 0 for row in rows)
    for row in rows:
        row["share"] = (row["instances"] or 0) / total if total else None
    return pl.DataFrame(rows, schema=_TABLE_SCHEMA)


def _row(values: Floats, state: int, runs: int) -> dict[str, float | None]:
    instances = values.size
    mean = float(values.mean()) if instances else None
    return {
        "regime": state + 1,
        "mean": mean,
        "std": float(values.std(ddof=1)) if instances > 1 else None,
        "median": float(np.median(values, overwrite_input=True)) if instances else None,
        "instances": instances,
        "runs": runs,
        "run_length": instances / runs if runs else None,
    }


def _runs(states: Bytes) -> Integers:
    """Return the number of stretches of each state."""
    begins = np.ones(states.shape, dtype=bool)
    np.not_equal(states[:, 1:], states[:, :-1], out=begins[:, 1:])
    return np.bincount(states[begins], minlength=256)


# Quantiles of longer samples at which the largest distance is computed.
_QUANTILES = 1 << 16
# The dependence is measured at the sixteenths of the distribution.
_LEVELS = np.arange(1, 16) / 16

_SCHEMA = {
    "first": pl.String,
    "second": pl.String,
    "regime": pl.Int64,
    "statistic": pl.Float64,
    "points_first": pl.Int64,
    "points_second": pl.Int64,
    **dict.fromkeys(("p_plain", "effective_first", "effective_second", "p_corrected"), pl.Float64),
}


def compare_distributions(samples: Sequence[Sample], regime: int | None = None) -> pl.DataFrame:
    """Test for each pair of samples whether their times have the same distribution: one row per pair.

    Columns: `first`, `second` (names), `regime` (from 1; null: all times), `statistic` (the largest distance
    between the two distributions), `points_*` (times), `p_plain` (as if they were independent), `effective_*`
    (effective numbers of independent times) and `p_corrected`, Kolmogorov's limit at these. Of more than 65
    536 times, that number of quantiles is compared, so `statistic` is at most 1.6e-5 too small.

    An instance's times on all ranks depend on each other, and instances on those before. So a sample is worth
    Σ F(1−F) / Σ V independent times. The sums are over the sixteenths of its distribution: F is the share of
    times below, and V the long-run variance of that share, per instance. Null without times, or with fewer
    than 8 instances. Regimes that were fitted to each sample separately have different limits: compare within
    those with care.
    """
    parts = [_TimesPart.from_sample(sample, regime) for sample in samples]
    rows = [
        {
            "first": first.name,
            "second": second.name,
            "regime": None if regime is None else regime + 1,
            **_test(part, other),
        }
        for (first, part), (second, other) in combinations(zip(samples, parts, strict=True), 2)
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


@dataclass(frozen=True)
class _TimesPart:
    """The sorted times of a sample, and their effective number."""

    ordered: Floats
    effective: float | None

    @classmethod
    def from_sample(cls, sample: Sample, regime: int | None) -> _TimesPart:
        values = sample.values(regime)
        values.sort()
        return cls(values, _effective(sample, regime, values))


def _test(first: _TimesPart, second: _TimesPart) -> dict[str, float | None]:
    sizes = first.ordered.size, second.ordered.size
    row = {
        "points_first": sizes[0],
        "points_second": sizes[1],
        "effective_first": first.effective,
        "effective_second": second.effective,
    }
    if not all(sizes):
        return row
    statistic = largest_distance(first.ordered, second.ordered, _QUANTILES)
    row |= {"statistic": statistic, "p_plain": _p_value(statistic, *sizes)}
    if first.effective is not None and second.effective is not None:
        row["p_corrected"] = _p_value(statistic, first.effective, second.effective)
    return row


def _p_value(statistic: float, first: float, second: float) -> float:
    return float(kolmogorov(statistic * np.sqrt(first * second / (first + second))))


def _effective(sample: Sample, regime: int | None, ordered: Floats) -> float | None:
    """Return the effective number of independent times of a sample; None: unknown."""
    if not ordered.size:
        return None
    places = np.unique((ordered.size * _LEVELS).astype(np.int64))
    levels = np.unique(ordered[places])
    counts = _counts(sample, regime, levels)
    points = counts.sum(axis=0)
    below = np.cumsum(counts, axis=0)[:-1]
    shares = below.sum(axis=1) / points.sum()
    deviations = (below - shares[:, None] * points) / points.mean()
    variances = np.array([long_run_variance(series) for series in deviations])
    if np.isnan(variances).any():
        return None
    if not variances.sum():  # all times are the same
        return float(np.count_nonzero(points))
    independent: float = points.size * (shares * (1 - shares)).sum() / variances.sum()
    return min(float(ordered.size), independent)


def _counts(sample: Sample, regime: int | None, levels: Floats) -> Floats:
    """Return the number of ranks with times between the levels: (levels + 1, instances)."""
    instances = sample.durations.shape[1]
    counts = np.zeros((levels.size + 1) * instances)
    columns = np.arange(instances)
    for rows in row_blocks(sample):
        chosen = sample.find_chosen(rows, regime)
        bins = np.searchsorted(levels, sample.durations[rows][chosen], side="left")
        places = bins * instances + np.broadcast_to(columns, chosen.shape)[chosen]
        counts += np.bincount(places, minlength=counts.size)
    return counts.reshape(-1, instances)
