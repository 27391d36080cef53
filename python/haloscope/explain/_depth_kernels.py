"""The native kernels for functional boxplots: `src/explain/depth.cpp`."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._native import library

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["band_depth", "envelope", "outside"]


class _Curves(ctypes.Structure):
    """`Curves` in src/explain/depth.hpp."""

    _fields_ = (("values", ctypes.c_void_p), ("count", ctypes.c_int64), ("points", ctypes.c_int64))


def band_depth(curves: Floats, threads: int) -> Floats:
    """For each of two or more curves, the share of points and pairs that it lies between.

    `curves` is (curves, points) and contiguous, as below. Raises `ValueError` for NaN.
    """
    depth = np.empty(len(curves))
    status = library().haloscope_band_depth(_struct(curves), threads, depth.ctypes.data)
    if status == 2:
        raise ValueError("a curve has NaN")
    if status:
        raise MemoryError
    return depth


def envelope(curves: Floats, chosen: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Least and largest of the `chosen` curves, at least one, at each point."""
    low, high = np.empty((2, curves.shape[1]))
    index = np.ascontiguousarray(chosen, dtype=np.int64)
    if not index.size or index.min() < 0 or index.max() >= len(curves):
        raise IndexError("there are no such curves")
    library().haloscope_envelope(
        _struct(curves), index.ctypes.data, index.size, low.ctypes.data, high.ctypes.data
    )
    return low, high


def outside(curves: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Whether each curve is below `low` or above `high`, (points,) each, anywhere."""
    found = np.empty(len(curves), dtype=np.bool_)
    bounds = [np.broadcast_to(bound, curves.shape[1:]).astype(np.float64) for bound in (low, high)]
    library().haloscope_outside(_struct(curves), *(bound.ctypes.data for bound in bounds), found.ctypes.data)
    return found


def _struct(curves: Floats) -> object:
    if not (curves.ndim == 2 and curves.dtype == np.float64 and curves.flags.c_contiguous):
        raise ValueError(f"{curves.dtype} {curves.shape}: a contiguous matrix of float64 is needed")
    return ctypes.byref(_Curves(curves.ctypes.data, *curves.shape))
