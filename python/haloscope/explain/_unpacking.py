"""From the packed bytes of instances to seconds: `src/explain/instances.cpp`."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._native import library

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LOW_BYTES", "STRETCH", "unpack"]

# How many bytes of an instance, from the lowest one on, hold a quantity and all that it needs:
# three for the duration, three for the gap before it, two for the share of waiting.
LOW_BYTES = {"start": 6, "duration": 3, "wait": 8}

# `Stretch` in src/explain/instances.cpp: which instances of a chunk, and the seconds of a tick.
STRETCH = np.dtype([("begin", np.int64), ("count", np.int64), ("tick", np.float64)])


def unpack(
    planes: NDArray[np.uint8], stretches: NDArray[np.void], end: int, into: NDArray[np.float64]
) -> int:
    """Put the seconds of stretches of instances, one after the other, `into` an array.

    `planes`, shape (bytes, instances), has as many bytes of each as `LOW_BYTES` says of the
    quantity. Starts continue at `end` ticks in the first stretch, at 0 in the others; the end of
    the last one is returned. Without the interpreter's lock.
    """
    rows = planes.shape[1]
    begins, counts = stretches["begin"], stretches["count"]
    assert planes.dtype == np.uint8
    assert planes.flags.c_contiguous
    assert planes.shape[0] in LOW_BYTES.values()
    assert stretches.dtype == STRETCH
    assert into.flags.c_contiguous
    assert not ((begins < 0) | (counts < 0) | (counts > rows - begins)).any()
    assert counts.sum() == len(into)
    ticks = ctypes.c_uint64(end)
    library().haloscope_unpack(
        planes.ctypes.data, rows, len(planes), stretches.ctypes.data, len(stretches),
        ctypes.byref(ticks), into.ctypes.data,
    )  # fmt: skip
    return ticks.value
