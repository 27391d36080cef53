"""Models derived from Open MPI's implementation, on a machine of latencies and bandwidths.

The machine (Hockney's, with one port): a message of m bytes from i to j takes α + m β, α and 1/β
from the level that i and j share. For so long it occupies the way out of i and the way into j; a
process sends one message at a time and receives one at a time, both at once if it has both to
do, in the order of the program. In trees, whose ranks post their receives ahead, a message
comes as soon as it is sent and the way in is free; otherwise it begins when both sides have come
to it. Adding m bytes to m others takes m γ; a process adds one thing at a time, while messages
come and go.

So contention is that for the ways into and out of a process. Messages of different processes on
one link, a NIC shared by a node's cores, protocols that change with the size, and the memory that
early messages need are not in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from haloscope._errors import MachineError

if TYPE_CHECKING:
    from decimal import Decimal

    from numpy.typing import NDArray

    from haloscope.predict._machine import Machine
    from haloscope.predict._trees import Tree

    Floats = NDArray[np.float64]

__all__ = ["Costs", "broadcast", "reduction"]


class Costs:
    """α, β and γ of a machine, in seconds. Raises `MachineError` for what it does not state."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        for level in machine.levels:
            if level.bandwidth is None:
                raise self._lacks(f"bandwidth of level {level.name!r}", "bandwidth: 10 GB/s")

    def message(self, source: int, target: int) -> tuple[float, float]:
        """α and β between two cores."""
        level = self._machine.level(source, target)
        return float(level.latency), _inverse(level.bandwidth)

    @property
    def gamma(self) -> float:
        """Seconds to add one byte to another."""
        if self._machine.arithmetic is None:
            raise self._lacks("arithmetic", "arithmetic: 5 GB/s")
        return _inverse(self._machine.arithmetic)

    def _lacks(self, what: str, remedy: str) -> MachineError:
        return MachineError(
            f"{self._machine.name}: has no {what}, which the formula hockney needs;"
            f" write, for example, {remedy!r} into a copy of its YAML"
        )


def broadcast(costs: Costs, tree: Tree, sizes: Floats) -> float:
    """Return when the last rank has the last of the segments, which are so many bytes each.

    A rank sends each segment to all its children, then the next one: as in Open MPI's
    bcast_intra_generic.
    """
    arrived = {0: np.zeros(len(sizes))}
    last = 0.0
    for rank, children in enumerate(tree):
        has = arrived.pop(rank)
        last = max(last, has[-1])
        if children:
            sent = _served(_times(has, children), _durations(costs, rank, children, sizes))
            arrived |= zip(children, sent.T, strict=True)
    return float(last)


def reduction(costs: Costs, tree: Tree, sizes: Floats) -> float:
    """Return when the root has reduced the last of the segments.

    A rank takes each segment from all its children in their order and adds each to its own, then
    the next one, as in Open MPI's reduce_generic; it passes a segment on when that is complete.
    """
    gamma = costs.gamma
    complete: dict[int, Floats] = {}
    for rank in reversed(range(len(tree))):
        children = tree[rank]
        ready = np.zeros((len(sizes), 1))
        if children:
            sent = np.column_stack([complete.pop(child) for child in children])
            received = _served(sent, _durations(costs, rank, children, sizes))
            ready = _served(received, gamma * _times(sizes, children))
        complete[rank] = ready[:, -1]
    return float(complete[0][-1])


def _served(ready: Floats, durations: Floats) -> Floats:
    """When one server is done with each of its jobs: row after row, not before each is ready."""
    ends = np.cumsum(durations.ravel())
    before = ends - durations.ravel()
    waited = np.maximum.accumulate(ready.ravel() - before)
    return np.asarray((ends + waited).reshape(durations.shape))


def _durations(costs: Costs, rank: int, children: list[int], sizes: Floats) -> Floats:
    alpha, beta = np.array([costs.message(rank, child) for child in children]).T
    return np.asarray(alpha + np.outer(sizes, beta))


def _times(column: Floats, children: list[int]) -> Floats:
    return np.repeat(column[:, None], len(children), axis=1)


def _inverse(speed: Decimal | None) -> float:
    assert speed is not None
    return float(1 / speed)
