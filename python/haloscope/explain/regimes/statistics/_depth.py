"""Functional boxplots after Sun and Genton (2011): which curve is central, which are outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain import _kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FunctionalBoxplot", "band_depth", "functional_boxplot", "modified_band_depth"]


@dataclass(frozen=True)
class FunctionalBoxplot:
    """What a functional boxplot draws, of n curves at p points.

    `depth` (n,): of each curve, larger is more central. `median`: the deepest curve's index.
    `central_low`, `central_high` (p,): the band of the deeper half. `fence_low`, `fence_high`
    (p,): that band, widened by `factor` times its height on either side. `outliers`: indices,
    ascending, of the curves that leave the fences anywhere. `low`, `high` (p,): the
    envelope of the curves that don't.
    """

    depth: NDArray[np.float64]
    median: int
    central_low: NDArray[np.float64]
    central_high: NDArray[np.float64]
    fence_low: NDArray[np.float64]
    fence_high: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    outliers: NDArray[np.int64]


def functional_boxplot(
    curves: NDArray[np.float64], factor: float = 1.5, depth: NDArray[np.float64] | None = None
) -> FunctionalBoxplot | None:
    """Summarise `curves` (n, p) as Sun and Genton (2011, doi 10.1198/jcgs.2011.09224) do.

    By the modified band depth unless `depth` is given. Ties of depth go to the lower index.
    None without curves or points.
    """
    if not curves.size:
        return None
    curves = np.ascontiguousarray(curves, dtype=np.float64)
    if depth is None:
        depth = modified_band_depth(curves)
    order = np.argsort(-depth, kind="stable")
    low, high = _kernels.envelope(curves, order[: (len(curves) + 1) // 2])
    reach = factor * (high - low)
    outside = _kernels.outside(curves, low - reach, high + reach)
    least, largest = _kernels.envelope(curves, np.flatnonzero(~outside))
    return FunctionalBoxplot(
        depth=depth,
        median=int(order[0]),
        central_low=low,
        central_high=high,
        fence_low=low - reach,
        fence_high=high + reach,
        low=least,
        high=largest,
        outliers=np.flatnonzero(outside),
    )


def modified_band_depth(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each curve, the share of points and of pairs of curves between which it lies there.

    By ranks at each point, as Sun, Genton and Nychka (2012, doi 10.1002/sta4.8) do, in at most
    O(p n log n); where curves tie, still exactly what counting all pairs gives: of n(n−1)/2 pairs
    those fail that are both above or both below. Raises `ValueError` for NaN.
    """
    if len(curves) < 2 or not curves.shape[1]:
        return np.ones(len(curves))
    contiguous = np.ascontiguousarray(curves, dtype=np.float64)
    return _kernels.band_depth(contiguous, _kernels.available_threads())


def band_depth(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each curve, the share of pairs of curves between which it lies everywhere (J = 2).

    After López-Pintado and Romo (2009, doi 10.1198/jasa.2009.0108), from the definition, in
    O(n³ p): for some hundred curves. The quick formula by extreme ranks that is in use elsewhere
    holds only for curves that do not cross.
    """
    n = len(curves)
    if n < 2:
        return np.ones(n)
    depth = np.empty(n)
    for index, curve in enumerate(curves):
        above = (curves > curve).astype(np.float32)
        below = (curves < curve).astype(np.float32)
        same_side = above @ above.T + below @ below.T
        depth[index] = np.triu(same_side == 0, 1).sum() / (n * (n - 1) / 2)
    return depth
