"""Executing a schedule: `src/explain/schedule.cpp`.

Every rank sends one message at a time and receives one at a time, both at once if it has both to
do, in the order of the schedule. A message occupies the sender's way out and the receiver's way in
for some time, and is there after its latency more. Messages that share a link go through it one
after the other.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from haloscope.explain import native_library as library

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.predict.schedule._schedule import Schedule

    Floats = NDArray[np.float64]

__all__ = ["Durations", "Executed", "execute"]


@dataclass(frozen=True)
class Durations:
    """Seconds of each message: of both ports, of latency after that, of adding what has come.

    `shared` is for how long it occupies the links `way_out` and `way_in`, -1 where there is none.
    """

    occupied: Floats
    latency: Floats
    work: Floats
    shared: Floats | None = None
    way_out: NDArray[np.int32] | None = None
    way_in: NDArray[np.int32] | None = None


class Executed(NamedTuple):
    """When each rank is done and, if asked for, how often each duration counts in their mean."""

    ends: Floats
    weights: Durations | None


class _Struct(ctypes.Structure):
    _fields_ = (
        *((f"p{i}", ctypes.c_void_p) for i in range(11)),
        ("messages", ctypes.c_int64), ("ranks", ctypes.c_int32), ("links", ctypes.c_int32),
    )  # fmt: skip


def execute(
    schedule: Schedule, durations: Durations, *, eager: float = 0, weights: bool = False
) -> Executed:
    """Execute the schedule; messages of fewer than `eager` bytes do not wait for their target."""
    columns = schedule.columns
    count = len(columns["bytes"])
    nowhere = np.full(count, -1, np.int32)
    way_out = nowhere if durations.way_out is None else durations.way_out
    way_in = nowhere if durations.way_in is None else durations.way_in
    shared = np.zeros(count) if durations.shared is None else durations.shared
    arrays = [
        *(columns[name] for name in ("source", "target", "source_step", "target_step")),
        ((columns["meets"] > 0) & (columns["bytes"] >= eager)).astype(np.uint8),
        *(np.ascontiguousarray(values, np.float64)
          for values in (durations.occupied, durations.latency, durations.work)),
        *(np.ascontiguousarray(way, np.int32) for way in (way_out, way_in)),
        np.ascontiguousarray(shared, np.float64),
    ]  # fmt: skip
    assert all(len(array) == count for array in arrays)
    links = 1 + max(-1, int(way_out.max(initial=-1)), int(way_in.max(initial=-1)))
    struct = _Struct(*(array.ctypes.data for array in arrays), count, schedule.ranks, links)
    ends = np.empty(schedule.ranks)
    counted = np.empty((4, count if weights else 0))
    places = [row.ctypes.data if weights else None for row in counted]
    if library().haloscope_schedule(ctypes.byref(struct), ends.ctypes.data, *places):
        raise MemoryError
    return Executed(ends, Durations(*counted) if weights else None)
