"""Each rank's distribution of times on common points: the curves of Figures 9 and 10."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from haloscope.explain.regimes._samples import Sample

__all__ = ["Cdfs", "common_times", "rank_cdfs"]

# The common points are quantiles of so many times of each sample: sharp enough.
_MOST = 1 << 19


@dataclass(frozen=True)
class Cdfs:
    """The ranks' cumulative distributions: `curves[i, j]` is the share of times ≤ `times[j]`.

    `times` are seconds, ascending; `rows` says which row of the sample each curve is of: ranks
    without a time (in the regime) have none.
    """

    times: NDArray[np.float64]
    curves: NDArray[np.float64]
    rows: NDArray[np.int64]


def common_times(
    samples: Sequence[Sample], regime: int | None = None, points: int = 512
) -> NDArray[np.float64]:
    """Return at most `points` ascending times, so that all samples' curves can be compared.

    They are quantiles of all times pooled, every sample with the same weight, from the least to
    the largest: dense where the times are, and with the same depths whether one looks at times
    or at their logarithms. Equal ones are one.
    """
    pooled, ends = [], []
    for sample in samples:
        values = sample.values(regime)
        if values.size:
            ends += [values.min(), values.max()]
            levels = np.linspace(0, values.size - 1, min(values.size, _MOST)).astype(np.int64)
            pooled.append(np.quantile(values[levels], np.linspace(0, 1, 8 * points)))
    if not pooled:
        return np.empty(0)
    inner = np.quantile(np.concatenate(pooled), np.linspace(0, 1, points), method="lower")
    inner[0], inner[-1] = min(ends), max(ends)
    return np.unique(inner)


def rank_cdfs(
    sample: Sample,
    regime: int | None = None,
    times: NDArray[np.float64] | None = None,
    points: int = 512,
) -> Cdfs:
    """Evaluate every rank's empirical distribution, of all its times or those in `regime`.

    At `times`, where given, else at `common_times` of the sample alone.
    """
    if times is None:
        times = common_times([sample], regime, points)
    curves, rows = [], []
    for row, durations in enumerate(sample.durations):
        values = durations[sample.chosen(slice(row, row + 1), regime)[0]]
        if values.size:
            values.sort()
            curves.append(np.searchsorted(values, times, side="right") / values.size)
            rows.append(row)
    stacked = np.array(curves) if curves else np.empty((0, times.size))
    return Cdfs(times, stacked, np.array(rows, dtype=np.int64))
