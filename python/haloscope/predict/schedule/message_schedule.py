"""A collective as messages: source, target, bytes, and steps of the program."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haloscope.base.arrays import AnyArray, Floats, Integers32
from haloscope.base.errors import UsageError
from haloscope.profile.kernels import native_library as library

MESSAGE = np.dtype(
    [
        ("source", np.int32),
        ("target", np.int32),
        ("source_step", np.int32),
        ("target_step", np.int32),
        ("bytes", np.int64),
        ("added", np.int64),
        ("meets", np.uint8),
    ]
)
_MOST_MESSAGES = 1 << 23


@dataclass(frozen=True)
class CollectivePlan:
    """Ranks, bytes as OSU counts them, bytes per segment (0: one segment), and fan-out."""

    ranks: int
    bytes: int
    segment: int = 0
    fanout: int = 4


class Schedule:
    """Messages in an order in which they can be executed.

    Every rank has steps: in a step it starts any number of sends and receives, and the next step begins when
    all of them are complete. A message from a rank to itself is work: bytes that the rank adds.
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self._steps = np.zeros(ranks, np.int64)
        self._parts: list[NDArray[np.void]] = []
        self._number = 0

    def send(
        self,
        source: ArrayLike,
        target: ArrayLike,
        size: ArrayLike,
        *,
        source_step: ArrayLike = 1,
        target_step: ArrayLike = 1,
        added: ArrayLike = 0,
        meets: ArrayLike = True,
    ) -> None:
        """Add messages. Steps are relative to the current step of each rank; 1 is the next one.

        `meets`: the receive is not posted in advance, so that a message that is not eager waits for its
        target. `added` bytes are added to others on arrival.
        """
        arrays = np.broadcast_arrays(source, target, size, source_step, target_step, added, meets)
        count = arrays[0].size
        self._number += count
        if self._number > _MOST_MESSAGES:
            raise UsageError(f"more than {_MOST_MESSAGES} messages in one collective: choose larger segments")
        part = np.empty(count, MESSAGE)
        for name, values in zip(
            ("source", "target", "bytes", "source_step", "target_step", "added", "meets"), arrays, strict=True
        ):
            part[name] = values.ravel()
        part["source_step"] += self._steps[part["source"]]
        part["target_step"] += self._steps[part["target"]]
        for side in ("source", "target"):
            np.maximum.at(self._steps, part[side], part[f"{side}_step"])
        self._parts.append(part)

    def add(self, ranks: ArrayLike, size: ArrayLike) -> None:
        """Add a step in which each of these ranks adds `size` bytes."""
        self.send(ranks, ranks, 0, added=size)

    @cached_property
    def messages(self) -> NDArray[np.void]:
        """All messages, in order. No more can be added afterwards."""
        if not self._parts:
            return np.empty(0, MESSAGE)
        return np.concatenate(self._parts)

    @cached_property
    def columns(self) -> dict[str, AnyArray]:
        """The messages by column, each contiguous."""
        return {name: np.ascontiguousarray(self.messages[name]) for name in MESSAGE.names or ()}


@dataclass(frozen=True)
class Durations:
    """Seconds of each message: occupation of both ports, latency after that, and adding after arrival.

    `shared` is the time for which the message occupies the links `way_out` and `way_in` (-1: none).
    """

    occupied: Floats
    latency: Floats
    work: Floats
    shared: Floats | None = None
    way_out: Integers32 | None = None
    way_in: Integers32 | None = None


class Executed(NamedTuple):
    """End time of each rank, and on request the weight of each duration in their mean."""

    ends: Floats
    weights: Durations | None


class _Struct(ctypes.Structure):
    _fields_ = (
        *((f"p{i}", ctypes.c_void_p) for i in range(11)),
        ("messages", ctypes.c_int64),
        ("ranks", ctypes.c_int32),
        ("links", ctypes.c_int32),
    )


def execute(schedule: Schedule, durations: Durations, *, eager: float = 0, weights: bool = False) -> Executed:
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
        *(
            np.ascontiguousarray(values, np.float64)
            for values in (durations.occupied, durations.latency, durations.work)
        ),
        *(np.ascontiguousarray(way, np.int32) for way in (way_out, way_in)),
        np.ascontiguousarray(shared, np.float64),
    ]
    assert all(len(array) == count for array in arrays)
    links = 1 + max(-1, int(way_out.max(initial=-1)), int(way_in.max(initial=-1)))
    struct = _Struct(*(array.ctypes.data for array in arrays), count, schedule.ranks, links)
    ends = np.empty(schedule.ranks)
    counted = np.empty((4, count if weights else 0))
    places = [row.ctypes.data if weights else None for row in counted]
    if library().haloscope_schedule(ctypes.byref(struct), ends.ctypes.data, *places):
        raise MemoryError
    return Executed(ends, Durations(*counted) if weights else None)
