"""The largest distance between two empirical distributions: Kolmogorov and Smirnov's statistic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["largest_distance"]


def largest_distance(first: NDArray[np.float64], second: NDArray[np.float64], most: int) -> float:
    """Return it for two ascending samples, neither empty.

    Where a sample has more than `most` values, it is sought at so many of its quantiles, and what
    is found is at most 1 / `most` too small.
    """
    times = np.concatenate((_quantiles(first, most), _quantiles(second, most)))
    shares = [np.searchsorted(part, times, "right") / part.size for part in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def _quantiles(ordered: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    if ordered.size <= most:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, most).astype(np.int64)]
