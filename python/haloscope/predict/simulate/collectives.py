"""Collectives as SimGrid's actions: those of the world by name, others as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from haloscope.predict.simulate.traces import BYTE

# Messages of one round: source, destination and bytes.
Round = list[tuple[int, int, int]]
_WHOLE_ARGUMENT = {"Alltoall", "Alltoallv", "Alltoallw"}


def blocking_name(operation: str) -> str:
    """Return the blocking form of an operation, as `Allreduce` for `Iallreduce`."""
    if operation[:1] == "I" and operation[1:2].islower():
        return operation[1:].capitalize()
    return operation[:1].upper() + operation[1:]


def make_world_actions(name: str, size: int, ranks: int, root: int = 0) -> Iterator[str]:
    """Yield the actions of a collective of the world, in SimGrid's form."""
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
    return _RULES.get(operation, _make_allreduce)(size, data)


def _make_fan_out(size: int, data: int) -> list[Round]:
    steps = [1 << step for step in range((size - 1).bit_length())]
    return [[(rank, rank + step, data) for rank in range(step) if rank + step < size] for step in steps]


def _make_fan_in(size: int, data: int) -> list[Round]:
    return [
        [(to, start, data) for start, to, _ in messages] for messages in reversed(_make_fan_out(size, data))
    ]


def _make_allreduce(size: int, data: int) -> list[Round]:
    return _make_fan_in(size, data) + _make_fan_out(size, data)


def _make_barrier(size: int, _data: int) -> list[Round]:
    steps = [1 << step for step in range((size - 1).bit_length())]
    return [[(rank, (rank + step) % size, 0) for rank in range(size)] for step in steps]


def _make_ring(size: int, data: int) -> list[Round]:
    return [[(rank, (rank + 1) % size, data) for rank in range(size)]] * (size - 1)


def _make_pairwise(size: int, data: int) -> list[Round]:
    block = -(-data // size)
    return [[(rank, (rank + step) % size, block) for rank in range(size)] for step in range(1, size)]


def _send_to_first(size: int, data: int) -> list[Round]:
    return [[(rank, 0, data) for rank in range(1, size)]]


def _send_from_first(size: int, data: int) -> list[Round]:
    block = -(-data // size)
    return [[(0, rank, block) for rank in range(1, size)]]


def _make_reduce_scatter(size: int, data: int) -> list[Round]:
    return _make_fan_in(size, data) + _send_from_first(size, data)


def _make_chain(size: int, data: int) -> list[Round]:
    return [[(rank, rank + 1, data)] for rank in range(size - 1)]


_RULES: dict[str, Callable[[int, int], list[Round]]] = {
    "Barrier": _make_barrier,
    "Bcast": _make_fan_out,
    "Reduce": _make_fan_in,
    "Allreduce": _make_allreduce,
    "Allgather": _make_ring,
    "Allgatherv": _make_ring,
    "Alltoall": _make_pairwise,
    "Alltoallv": _make_pairwise,
    "Alltoallw": _make_pairwise,
    "Gather": _send_to_first,
    "Gatherv": _send_to_first,
    "Scatter": _send_from_first,
    "Scatterv": _send_from_first,
    "Reduce_scatter": _make_reduce_scatter,
    "Reduce_scatter_block": _make_reduce_scatter,
    "Scan": _make_chain,
    "Exscan": _make_chain,
}
