"""Each rank's distribution of times on common points: the curves of Figures 9 and 10."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain.regimes._samples import Sample, row_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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
    found = [picked for sample in samples if (picked := _picked(sample, regime, 8 * points)).size]
    if not found:
        return np.empty(0)
    inner = np.quantile(np.concatenate(found), np.linspace(0, 1, points), method="lower")
    return np.unique(inner)


def _picked(sample: Sample, regime: int | None, count: int) -> NDArray[np.float64]:
    """Return `count` quantiles of a sample's times, the first and last of them exact."""
    step = 1 + sample.durations.size // _MOST
    some, ends = [], []
    for rows in row_blocks(sample):
        values = sample.durations[rows][sample.chosen(rows, regime)]
        if values.size:
            some.append(values[::step])
            ends += [values.min(), values.max()]
    if not some:
        return np.empty(0)
    quantiles = np.quantile(np.concatenate(some), np.linspace(0, 1, count), method="nearest")
    quantiles[0], quantiles[-1] = min(ends), max(ends)
    return quantiles


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
