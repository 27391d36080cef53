"""Collectives of some ranks only, as messages: SimGrid's traces know those of all ranks.

Each is a list of rounds; a round is a list of messages (from, to, bytes), places in the group.
Trees are binomial and rooted at the first; exchanges of all with all are pairwise.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Round", "lowered"]

Round = list[tuple[int, int, int]]


def lowered(operation: str, size: int, data: int) -> list[Round]:
    """The rounds of a collective whose argument on each rank has `data` bytes."""
    return _RULES.get(operation, _allreduce)(size, data)


def _fan_out(size: int, data: int) -> list[Round]:
    steps = [1 << step for step in range((size - 1).bit_length())]
    return [
        [(place, place + step, data) for place in range(step) if place + step < size]
        for step in steps
    ]


def _fan_in(size: int, data: int) -> list[Round]:
    return [[(to, start, data) for start, to, _ in one] for one in reversed(_fan_out(size, data))]


def _allreduce(size: int, data: int) -> list[Round]:
    return _fan_in(size, data) + _fan_out(size, data)


def _barrier(size: int, _data: int) -> list[Round]:
    steps = [1 << step for step in range((size - 1).bit_length())]
    return [[(place, (place + step) % size, 0) for place in range(size)] for step in steps]


def _ring(size: int, data: int) -> list[Round]:
    return [[(place, (place + 1) % size, data) for place in range(size)]] * (size - 1)


def _pairwise(size: int, data: int) -> list[Round]:
    block = -(-data // size)
    return [
        [(place, (place + step) % size, block) for place in range(size)] for step in range(1, size)
    ]


def _to_first(size: int, data: int) -> list[Round]:
    return [[(place, 0, data) for place in range(1, size)]]


def _from_first(size: int, data: int) -> list[Round]:
    block = -(-data // size)
    return [[(0, place, block) for place in range(1, size)]]


def _reduce_scatter(size: int, data: int) -> list[Round]:
    return _fan_in(size, data) + _from_first(size, data)


def _chain(size: int, data: int) -> list[Round]:
    return [[(place, place + 1, data)] for place in range(size - 1)]


_RULES: dict[str, Callable[[int, int], list[Round]]] = {
    "Barrier": _barrier,
    "Bcast": _fan_out,
    "Reduce": _fan_in,
    "Allreduce": _allreduce,
    "Allgather": _ring,
    "Allgatherv": _ring,
    "Alltoall": _pairwise,
    "Alltoallv": _pairwise,
    "Alltoallw": _pairwise,
    "Gather": _to_first,
    "Gatherv": _to_first,
    "Scatter": _from_first,
    "Scatterv": _from_first,
    "Reduce_scatter": _reduce_scatter,
    "Reduce_scatter_block": _reduce_scatter,
    "Scan": _chain,
    "Exscan": _chain,
}
