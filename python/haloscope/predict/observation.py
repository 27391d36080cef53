"""One measured or asked point: its schedule on a machine, and what its time consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from haloscope.base.arrays import Floats, Integers, Integers32
from haloscope.predict.schedule import CollectivePlan, Durations, Schedule, execute, schedule

if TYPE_CHECKING:
    from haloscope.predict.machine import Level, Machine

EVERYTHING = 1 << 62
"""A limit of eagerness that no message reaches."""
_BANDWIDTH = 1e10
"""Bytes a second where the machine states none: beta, a factor, is then relative to this."""


@dataclass(frozen=True)
class Theta:
    """Parameters: of each range, which begins at `firsts`, and of all."""

    firsts: Integers
    overhead: Floats
    alpha: Floats
    beta: Floats
    call: float = 0.0
    gamma: float = 0.0
    eager: int = 0
    whole: bool = False
    """Ports are occupied for the latency, too, as in Hockney's model."""


class Path(NamedTuple):
    """What the mean over ranks consists of: messages, latency and byte time by message size."""

    sizes: Integers
    number: Floats
    latency: Floats
    transfer: Floats
    added: float
    time: float

    def row(self, firsts: Integers) -> Floats:
        """Return what each parameter is multiplied by: call, gamma, and three for each range."""
        place = np.searchsorted(firsts, self.sizes, side="right") - 1
        sums = [
            np.bincount(place, values, len(firsts)) for values in (self.number, self.latency, self.transfer)
        ]
        return np.concatenate([[1.0, self.added], *sums])


class Observation:
    """A schedule whose messages have their level's latency and byte time."""

    def __init__(self, machine: Machine, made: Schedule, mapping: str = "core") -> None:
        self._schedule = made
        columns = made.columns
        self._real = columns["source"] != columns["target"]
        cores = np.array(machine.ranks_on_cores(mapping, made.ranks))
        self._sizes, self._place = np.unique(columns["bytes"], return_inverse=True)
        self._latency, self._transfer, self._links = _of_levels(
            machine, cores[columns["source"]], cores[columns["target"]], columns["bytes"]
        )
        self._added = columns["added"].astype(np.float64)

    @classmethod
    def of(
        cls, machine: Machine, collective: str, algorithm: str, plan: CollectivePlan, mapping: str = "core"
    ) -> Observation | None:
        """Return the observation, or None if the algorithm's messages are not known."""
        made = schedule(collective, algorithm, plan)
        return None if made is None else cls(machine, made, mapping)

    def last(self, theta: Theta) -> float:
        """Return the seconds until the last rank is done."""
        place = np.searchsorted(theta.firsts, self._sizes, side="right") - 1
        durations = self._durations(theta, place[self._place])
        return float(execute(self._schedule, durations, eager=theta.eager).ends.max())

    def path(self, theta: Theta) -> Path:
        """Execute the schedule with these parameters, and return what its mean time consists of."""
        place = np.searchsorted(theta.firsts, self._sizes, side="right") - 1
        place = place[self._place]
        durations = self._durations(theta, place)
        ends, weights = execute(self._schedule, durations, eager=theta.eager, weights=True)
        assert weights is not None
        assert weights.shared is not None
        occupied = np.where(self._real, weights.occupied, 0)
        latency = np.where(self._real, weights.latency, 0) * self._latency
        transfer = occupied * self._transfer + weights.shared * self._links.seconds
        count = len(self._sizes)
        sums = np.zeros((3, count))
        for which, values in enumerate((occupied, latency, transfer)):
            sums[which] = np.bincount(self._place, values, count)
        added = float(weights.work @ self._added)
        time = theta.call + float(ends.mean())
        return Path(self._sizes, sums[0], sums[1], sums[2], added, time)

    def _durations(self, theta: Theta, place: Integers) -> Durations:
        beta = theta.beta[place]
        occupied = theta.overhead[place] + beta * self._transfer
        if theta.whole:
            occupied = occupied + self._latency
        return Durations(
            np.where(self._real, occupied, 0),
            np.where(self._real, theta.alpha[place] * self._latency, 0),
            theta.gamma * self._added,
            beta * self._links.seconds,
            self._links.out,
            self._links.into,
        )


class _Links(NamedTuple):
    seconds: Floats
    out: Integers32
    into: Integers32


def _of_levels(
    machine: Machine, source: Integers, target: Integers, sizes: Integers
) -> tuple[Floats, Floats, _Links]:
    """Return latency, byte time and shared links of messages between cores."""
    count = len(source)
    latency, transfer, seconds = np.zeros(count), np.zeros(count), np.zeros(count)
    out, into = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
    left, below, links = source != target, 1, 0
    for level in machine.levels:
        here = left & (source // level.cores == target // level.cores)
        left = left & ~here
        if here.any():
            latency[here] = float(level.latency)
            transfer[here] = _byte_times(level, sizes[here])
            if level.shared is not None:
                seconds[here] = sizes[here] / float(level.shared)
                out[here] = links + source[here] // below
                into[here] = links + target[here] // below
        links += machine.cores // below
        below = level.cores
    return latency, transfer, _Links(seconds, out, into)


def _byte_times(level: Level, sizes: Integers) -> Floats:
    """Return seconds of each message beyond the level's latency."""
    distinct, place = np.unique(sizes, return_inverse=True)
    if level.bandwidth is None and not level.protocols:
        return np.asarray(sizes / _BANDWIDTH)
    latency = float(level.latency)
    times = [max(0.0, level.message_time(int(size)) - latency) for size in distinct]
    return np.array(times)[place]
