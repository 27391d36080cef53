"""The activity of each location as stretches of time without gaps, by the kernels of `src/explain`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray, Bytes, Integers, Integers32
from haloscope.profile.kernels import native_library
from haloscope.profile.waiting.timeline import Timeline

# Kinds of stretches: before the first event, outside of MPI, in MPI, waiting in MPI. `Kind` in timelines.hpp.
BEFORE, COMPUTING, IN_CALL, WAITING = range(4)


@dataclass(frozen=True)
class Stretches:
    """Stretches of location l are `first[l]` to `first[l + 1]`; `call` is -1 outside of calls.

    `before_call` and `after_call` are the first stretches after the begin and after the end of each call.
    """

    first: Integers
    begin: Integers
    end: Integers
    call: Integers
    path: Integers32
    kind: Bytes
    before_call: Integers
    after_call: Integers

    @property
    def struct(self) -> ctypes.Array[ctypes.c_void_p]:
        """The structure that kernels read."""
        return pointers(
            self.first,
            self.begin,
            self.end,
            self.call,
            self.path,
            self.kind,
            self.before_call,
            self.after_call,
        )

    def shorten(self, count: int) -> Stretches:
        """Return the first `count` stretches, in memory of their own."""
        parts = {
            name: getattr(self, name)[:count].copy() for name in ("begin", "end", "call", "path", "kind")
        }
        return replace(self, **parts)

    @property
    def location(self) -> Integers32:
        """The location of each stretch."""
        return np.repeat(np.arange(len(self.first) - 1, dtype=np.int32), np.diff(self.first))

    @property
    def time(self) -> Integers:
        """The duration of each stretch (ns), more than 0."""
        return self.end - self.begin


def pointers(*arrays: AnyArray) -> ctypes.Array[ctypes.c_void_p]:
    """Return the addresses of contiguous arrays, which must exist while the kernel uses them."""
    assert all(array.flags.c_contiguous for array in arrays)
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


class _Recorded(ctypes.Structure):
    """`Recorded` in timelines.cpp."""

    _fields_ = (("arrays", ctypes.c_void_p * 9), ("start", ctypes.c_int64), ("locations", ctypes.c_int32))


def stretches(timeline: Timeline, waits: pl.DataFrame) -> Stretches:
    """Return the stretches of a timeline; a call begins with its waiting, if it is in `waits`."""
    calls, visits, locations = len(timeline.begin), len(timeline.visits), len(timeline.locations)
    waited = np.zeros(calls, dtype=np.int64)
    is_wait = waits["cause"].to_numpy() >= 0
    waited[waits["call"].to_numpy()[is_wait]] = waits["time"].to_numpy()[is_wait]
    begin, end, path = (
        _make_contiguous(timeline.visits[name].to_numpy()) for name in ("begin", "end", "path")
    )
    given: Sequence[AnyArray] = [
        timeline.first_call,
        _make_contiguous(timeline.begin),
        _make_contiguous(timeline.end),
        waited,
        _make_contiguous(timeline.path),
        timeline.first_visit,
        begin,
        end,
        path.astype(np.int32),
    ]
    most = 3 * calls + 2 * visits + 2 * locations
    made = Stretches(
        first=np.zeros(locations + 1, dtype=np.int64),
        begin=np.empty(most, dtype=np.int64),
        end=np.empty(most, dtype=np.int64),
        call=np.empty(most, dtype=np.int64),
        path=np.empty(most, dtype=np.int32),
        kind=np.empty(most, dtype=np.uint8),
        before_call=np.empty(calls, dtype=np.int64),
        after_call=np.empty(calls, dtype=np.int64),
    )
    recorded = _Recorded(pointers(*given), timeline.start, locations)
    if native_library().haloscope_stretches(ctypes.byref(recorded), made.struct):
        raise MemoryError
    return made.shorten(int(made.first[-1]))


def _make_contiguous(array: AnyArray) -> AnyArray:
    return np.ascontiguousarray(array)
