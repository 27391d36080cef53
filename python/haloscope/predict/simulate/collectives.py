"""Collectives in SimGrid's actions: those of the world as its own, others as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from haloscope.predict.simulate.traces import BYTE

# What is sent at a time: from, to and how many bytes.
Round = list[tuple[int, int, int]]
_WHOLE_ARGUMENT = {"Alltoall", "Alltoallv", "Alltoallw"}


def blocking_name(operation: str) -> str:
    """Return the blocking form of an operation, as `Allreduce` for `Iallreduce`."""
    if operation[:1] == "I" and operation[1:2].islower():
        return operation[1:].capitalize()
    return operation[:1].upper() + operation[1:]


def of_all(name: str, size: int, ranks: int, root: int = 0) -> Iterator[str]:
    """Yield a collective of the world, in the form that SimGrid has for it."""
    block = -(-size // ranks)
    if name == "Barrier":
        yield "barrier"
    elif name in ("Bcast", "Scan", "Exscan", "Reduce", "Allreduce"):
        form = {"Bcast": "{0} {2} {1}", "Reduce": "{0} {0} {2} {1}"}.get(name, "{0} {0} {1}")
        yield f"{name.lower()} {form.format(size, BYTE, root)}"
    elif name in ("Gather", "Gatherv"):
        yield f"gather {size} {size} {root} {BYTE} {BYTE}"
    elif name in ("Allgather", "Allgatherv"):
        yield f"allgather {size} {size} {BYTE} {BYTE}"
    elif name in ("Scatter", "Scatterv"):
        yield f"scatter {block} {block} {root} {BYTE} {BYTE}"
    elif name in _WHOLE_ARGUMENT:
        yield f"alltoall {block} {block} {BYTE} {BYTE}"
    elif name.startswith("Reduce_scatter"):
        yield f"reduce {size} {size} 0 {BYTE}"
        yield f"scatter {block} {block} 0 {BYTE} {BYTE}"
    else:
        yield f"allreduce {size} {size} {BYTE}"


def lower_collective(operation: str, size: int, data: int) -> list[Round]:
    """Return the rounds of a collective whose argument on each rank has `data` bytes."""
    return _RULES.get(operation, _allreduce)(size, data)


def _fan_out(size: int, data: int) -> list[Round]:
    steps = [1 << step for step in range((size - 1).bit_length())]
    return [[(place, place + step, data) for place in range(step) if place + step < size] for step in steps]


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
    return [[(place, (place + step) % size, block) for place in range(size)] for step in range(1, size)]


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
