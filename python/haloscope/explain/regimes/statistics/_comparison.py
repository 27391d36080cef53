"""Are the times of two runs, or of two methods, alike? Kolmogorov-Smirnov tests (section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import kolmogorov

from haloscope.explain.regimes.statistics._samples import (
    Sample,
    largest_distance,
    long_run_variance,
    row_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["compare_distributions"]

# Of longer samples, the largest distance is sought at this many quantiles of each.
_QUANTILES = 1 << 16
# Where the dependence is measured: the distribution's sixteenths.
_LEVELS = np.arange(1, 16) / 16

_SCHEMA = {
    "first": pl.String,
    "second": pl.String,
    "regime": pl.Int64,
    "statistic": pl.Float64,
    "points_first": pl.Int64,
    "points_second": pl.Int64,
    "p_plain": pl.Float64,
    "effective_first": pl.Float64,
    "effective_second": pl.Float64,
    "p_corrected": pl.Float64,
}


def compare_distributions(samples: Sequence[Sample], regime: int | None = None) -> pl.DataFrame:
    """Test each pair of samples for having the same distribution of times: one row a pair.

    Columns: `first`, `second` (names), `regime` (from 1; null: all times), `statistic` (the
    largest distance between the two distributions; of more than 65 536 times, at so many
    quantiles of each, so at most 1.6e-5 too small), `points_*` (times), `p_plain` (as if they were
    independent), `effective_*` (independent times that the sample is worth) and `p_corrected`,
    Kolmogorov's limit at these.

    An instance's times on all ranks depend on each other, and instances on those before, so a
    sample is worth Σ F(1−F) / Σ V independent times: at the sixteenths of its distribution, F is
    the share of times below, and V the long-run variance of that share, an instance being the
    unit. Null where there are no times, or less than 8 instances. Regimes that were fitted to each
    sample by itself are cut where their model says: compare within those with care.
    """
    parts = [_Part.of(sample, regime) for sample in samples]
    rows = [
        {
            "first": first.name,
            "second": second.name,
            "regime": None if regime is None else regime + 1,
            **_test(one, other),
        }
        for (first, one), (second, other) in combinations(zip(samples, parts, strict=True), 2)
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


@dataclass(frozen=True)
class _Part:
    """The sorted times of a sample and how many independent ones they are worth."""

    ordered: NDArray[np.float64]
    effective: float | None

    @classmethod
    def of(cls, sample: Sample, regime: int | None) -> _Part:
        values = sample.values(regime)
        values.sort()
        return cls(values, _effective(sample, regime, values))


def _test(first: _Part, second: _Part) -> dict[str, float | None]:
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


def _effective(sample: Sample, regime: int | None, ordered: NDArray[np.float64]) -> float | None:
    """Return the number of independent times that a sample is worth; None: unknown."""
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


def _counts(sample: Sample, regime: int | None, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many ranks' times lie between the levels: (levels + 1, instances)."""
    instances = sample.durations.shape[1]
    counts = np.zeros((levels.size + 1) * instances)
    columns = np.arange(instances)
    for rows in row_blocks(sample):
        chosen = sample.chosen(rows, regime)
        bins = np.searchsorted(levels, sample.durations[rows][chosen], side="left")
        places = bins * instances + np.broadcast_to(columns, chosen.shape)[chosen]
        counts += np.bincount(places, minlength=counts.size)
    return counts.reshape(-1, instances)
