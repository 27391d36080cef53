"""The event graph of a run, as a tape that kernels of `src/explain` play for any latency."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray, Bytes, Floats, Integers
from haloscope.profile import kernels
from haloscope.profile.waiting.stretches import pointers
from haloscope.profile.waiting.timeline import Timeline

# Roles of an edge's group in a question: part of the graph, with the parameter added, or absent.
_PRESENT, COUNTED, ABSENT = range(3)
_LANES = 8


@dataclass(frozen=True)
class Edges:
    """The edges between locations, and the times along each location.

    `puts` (`call`, `hub`): when the call begins, its time is put into the hub, which keeps the latest. `gets`
    (`call`, `hub`, `weight`, `units`, `group`): the call ends at least `weight` ns after the time in the hub.
    `gap` before each call, `own` of each call and `tail` of each location are times (ns) without
    dependencies.
    """

    gap: Integers
    own: Integers
    tail: Integers
    puts: pl.DataFrame
    gets: pl.DataFrame


class _Events(ctypes.Structure):
    """`Events` in tape.cpp."""

    _fields_ = (
        ("times", ctypes.c_void_p * 5),
        ("put_call", ctypes.c_void_p),
        ("put_hub", ctypes.c_void_p),
        ("puts", ctypes.c_int64),
        ("get", ctypes.c_void_p * 5),
        ("gets", ctypes.c_int64),
        ("locations", ctypes.c_int32),
        ("hubs", ctypes.c_int32),
    )


class _Tape(ctypes.Structure):
    """`Tape` in tape.hpp."""

    _fields_ = (
        ("arrays", ctypes.c_void_p * 7),
        ("steps", ctypes.c_int64),
        ("locations", ctypes.c_int32),
        ("slots", ctypes.c_int32),
    )


@dataclass(frozen=True)
class Question:
    """The length of the run with `parameter` (ns) added per unit of edges whose group is `COUNTED`.

    `roles`, (groups,), has `COUNTED`, `ABSENT` or 0 for each group.
    """

    parameter: float
    roles: Bytes


@dataclass(frozen=True)
class Tape:
    """An event graph that can be played. `circles` edges were left out, as they closed a circle."""

    struct: _Tape
    arrays: tuple[AnyArray, ...]
    groups: int
    circles: int

    def __len__(self) -> int:
        return int(self.struct.steps)

    @property
    def all_roles(self) -> Bytes:
        """The roles of a question with all groups counted."""
        return np.full(self.groups, COUNTED, dtype=np.uint8)

    @cached_property
    def length(self) -> float:
        """The length of the run with nothing added (ns)."""
        return float(self.play([Question(0.0, self.all_roles)])[0, 0])

    def play(self, questions: Sequence[Question]) -> Floats:
        """Return for each question the run's length (ns) and its slope, (questions, 2).

        The slope is the number of units on the longest path; the largest one if there are several.
        """
        batches = [questions[i : i + _LANES] for i in range(0, len(questions), _LANES)]
        if len(batches) == 1:
            return self._play(batches[0])
        with ThreadPoolExecutor(min(kernels.available_threads(), max(len(batches), 1))) as pool:
            return np.concatenate([np.empty((0, 2)), *pool.map(self._play, batches)])

    def _play(self, questions: Sequence[Question]) -> Floats:
        roles = np.zeros((self.groups, _LANES), dtype=np.uint8)
        for lane, question in enumerate(questions):
            roles[:, lane] = question.roles
        parameter = np.array([question.parameter for question in questions])
        times, slopes = np.empty((2, len(questions)))
        if kernels.native_library().haloscope_replay(
            ctypes.byref(self.struct),
            roles.ctypes.data,
            self.groups,
            kernels._instruction_set,
            parameter.ctypes.data,
            len(questions),
            times.ctypes.data,
            slopes.ctypes.data,
        ):
            raise MemoryError
        return np.column_stack([times, slopes])


def tape(timeline: Timeline, edges: Edges) -> Tape:
    """Return the tape of an event graph."""
    puts, gets = edges.puts.sort("call"), edges.gets.sort("call")
    hubs = int(np.concatenate([[-1], puts["hub"].to_numpy(), gets["hub"].to_numpy()]).max()) + 1
    times = [timeline.first_call, edges.gap, edges.own, edges.tail, np.ascontiguousarray(timeline.begin)]
    put = [_array(puts["call"], np.int64), _array(puts["hub"], np.int32)]
    kinds = {"call": np.int64, "hub": np.int32, "weight": np.int64, "units": np.int64, "group": np.int32}
    get = [_array(gets[name], kind) for name, kind in kinds.items()]
    locations = len(timeline.locations)
    events = _Events(
        pointers(*times),
        *(array.ctypes.data for array in put),
        len(puts),
        pointers(*get),
        len(gets),
        locations,
        hubs,
    )
    count = len(puts) + len(gets) + locations
    types = (np.int32, np.int32, np.uint8, np.int64, np.int64, np.int64, np.int32)
    arrays = tuple(np.empty(count, dtype=kind) for kind in types)
    struct = _Tape(pointers(*arrays), 0, locations, 0)
    circles = kernels.native_library().haloscope_tape(ctypes.byref(events), ctypes.byref(struct))
    if circles < 0:
        raise MemoryError
    return Tape(struct, arrays, timeline.paths, circles)


def _array(column: pl.Series, kind: type) -> AnyArray:
    return np.ascontiguousarray(column.to_numpy(), dtype=kind)
