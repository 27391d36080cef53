"""One measured or predicted point: its schedule on a machine, and the components of its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from haloscope.base.arrays import Floats, Integers, Integers32
from haloscope.predict.schedule import CollectivePlan, Durations, Schedule, execute, schedule

if TYPE_CHECKING:
    from haloscope.predict.machine import Level, Machine

EVERYTHING = 1 << 62
"""An eager limit above all message sizes."""
_BANDWIDTH = 1e10
"""Default bandwidth (bytes per second): beta is then relative to it."""


@dataclass(frozen=True)
class Theta:
    """Parameters of each range (beginning at `firsts`), and of all messages."""

    firsts: Integers
    overhead: Floats
    alpha: Floats
    beta: Floats
    call: float = 0.0
    gamma: float = 0.0
    eager: int = 0
    whole: bool = False
    """Whether ports are also occupied for the latency, as in Hockney's model."""


class Path(NamedTuple):
    """Components of the mean over ranks: messages, latency and byte time by message size."""

    sizes: Integers
    number: Floats
    latency: Floats
    transfer: Floats
    added: float
    time: float

    def make_row(self, firsts: Integers) -> Floats:
        """Return the coefficients of the parameters: call, gamma, and three per range."""
        index = np.searchsorted(firsts, self.sizes, side="right") - 1
        sums = [
            np.bincount(index, values, len(firsts)) for values in (self.number, self.latency, self.transfer)
        ]
        return np.concatenate([[1.0, self.added], *sums])


class Observation:
    """A schedule whose messages have the latency and byte time of their level."""

    def __init__(self, machine: Machine, messages: Schedule, mapping: str = "core") -> None:
        self._schedule = messages
        columns = messages.columns
        self._real = columns["source"] != columns["target"]
        cores = np.array(machine.ranks_on_cores(mapping, messages.ranks))
        self._sizes, self._size_index = np.unique(columns["bytes"], return_inverse=True)
        self._latency, self._transfer, self._links = _find_level_costs(
            machine, cores[columns["source"]], cores[columns["target"]], columns["bytes"]
        )
        self._added = columns["added"].astype(np.float64)

    @classmethod
    def of(
        cls, machine: Machine, collective: str, algorithm: str, plan: CollectivePlan, mapping: str = "core"
    ) -> Observation | None:
        """Return the observation, or None if the algorithm's messages are unknown."""
        messages = schedule(collective, algorithm, plan)
        return None if messages is None else cls(machine, messages, mapping)

    def predict_last(self, theta: Theta) -> float:
        """Return the seconds until the last rank has finished."""
        index = np.searchsorted(theta.firsts, self._sizes, side="right") - 1
        durations = self._durations(theta, index[self._size_index])
        return float(execute(self._schedule, durations, eager=theta.eager).ends.max())

    def find_path(self, theta: Theta) -> Path:
        """Execute the schedule with these parameters, and return the components of its mean time."""
        index = np.searchsorted(theta.firsts, self._sizes, side="right") - 1
        index = index[self._size_index]
        durations = self._durations(theta, index)
        ends, weights = execute(self._schedule, durations, eager=theta.eager, weights=True)
        assert weights is not None
        assert weights.shared is not None
        occupied = np.where(self._real, weights.occupied, 0)
        latency = np.where(self._real, weights.latency, 0) * self._latency
        transfer = occupied * self._transfer + weights.shared * self._links.seconds
        count = len(self._sizes)
        sums = np.zeros((3, count))
        for which, values in enumerate((occupied, latency, transfer)):
            sums[which] = np.bincount(self._size_index, values, count)
        added = float(weights.work @ self._added)
        time = theta.call + float(ends.mean())
        return Path(self._sizes, sums[0], sums[1], sums[2], added, time)

    def _durations(self, theta: Theta, index: Integers) -> Durations:
        beta = theta.beta[index]
        occupied = theta.overhead[index] + beta * self._transfer
        if theta.whole:
            occupied = occupied + self._latency
        return Durations(
            np.where(self._real, occupied, 0),
            np.where(self._real, theta.alpha[index] * self._latency, 0),
            theta.gamma * self._added,
            beta * self._links.seconds,
            self._links.out,
            self._links.into,
        )


class _Links(NamedTuple):
    seconds: Floats
    out: Integers32
    into: Integers32


def _find_level_costs(
    machine: Machine, source: Integers, target: Integers, sizes: Integers
) -> tuple[Floats, Floats, _Links]:
    """Return latency, byte time and shared links of messages between cores."""
    count = len(source)
    latency, transfer, seconds = np.zeros(count), np.zeros(count), np.zeros(count)
    out, into = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
    left, below, links = source != target, 1, 0
    for level in machine.levels:
        on_level = left & (source // level.cores == target // level.cores)
        left = left & ~on_level
        if on_level.any():
            latency[on_level] = float(level.latency)
            transfer[on_level] = _byte_times(level, sizes[on_level])
            if level.shared is not None:
                seconds[on_level] = sizes[on_level] / float(level.shared)
                out[on_level] = links + source[on_level] // below
                into[on_level] = links + target[on_level] // below
        links += machine.cores // below
        below = level.cores
    return latency, transfer, _Links(seconds, out, into)


def _byte_times(level: Level, sizes: Integers) -> Floats:
    """Return seconds of each message beyond the level's latency."""
    distinct, index = np.unique(sizes, return_inverse=True)
    if level.bandwidth is None and not level.protocols:
        return np.asarray(sizes / _BANDWIDTH)
    latency = float(level.latency)
    times = [max(0.0, level.message_time(int(size)) - latency) for size in distinct]
    return np.array(times)[index]
