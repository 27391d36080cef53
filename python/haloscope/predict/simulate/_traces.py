"""SimGrid's trace text: a file a rank, an action a line, and the list of the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from haloscope.base.errors import SimulationError, UsageError

__all__ = ["Round", "lowered", "trace_list", "write_traces"]

_NUMBER = re.compile(r"(\d+)")
Round = list[tuple[int, int, int]]


class Traced(Protocol):
    """What has actions for each of its ranks."""

    ranks: int

    def actions(self, rank: int) -> Iterable[str]:
        """Return the actions of a rank, without its number."""


def trace_list(place: Path) -> list[Path]:
    """Return the files of a trace, in the order of ranks: those of a directory, or of SimGrid's list."""
    try:
        if place.is_dir():
            files = sorted((path for path in place.iterdir() if path.is_file()), key=_natural)
        else:
            lines = place.read_text(encoding="utf-8").splitlines()
            files = [_found(place, line.strip()) for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise SimulationError(f"{place}: cannot be read as a list of traces: {error}") from None
    if not files:
        raise UsageError(f"{place}: has no traces: a file a rank is needed, or a list of such")
    for rank, file in enumerate(files):
        _check(file, rank)
    return files


def write_traces(pattern: Traced, directory: Path) -> Path:
    """Write the traces of all ranks; returns their list."""
    names = []
    for rank in range(pattern.ranks):
        path = directory / f"{rank}.txt"
        with path.open("w", encoding="ascii") as stream:
            stream.writelines(_lines(rank, pattern.actions(rank)))
        names.append(f"{path}\n")
    listing = directory / "list"
    listing.write_text("".join(names), encoding="utf-8")
    return listing


def _lines(rank: int, actions: Iterable[str]) -> Iterator[str]:
    yield f"{rank} init\n"
    for action in actions:
        yield f"{rank} {action}\n"
    yield f"{rank} finalize\n"


def _natural(path: Path) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in _NUMBER.split(path.name)]


def _found(place: Path, name: str) -> Path:
    """SimGrid writes names as seen from where it ran; beside the list is as good."""
    given = Path(name)
    return given.absolute() if given.exists() else (place.parent / name).absolute()


def _check(file: Path, rank: int) -> None:
    try:
        with file.open(encoding="ascii") as stream:
            words = stream.readline().split()
    except (OSError, UnicodeDecodeError) as error:
        raise SimulationError(f"{file}: cannot be read as a trace: {error}") from None
    if words[:2] != [str(rank), "init"]:
        raise SimulationError(f"{file}: is no trace of rank {rank}: its first line is not '{rank} init'")


def lowered(operation: str, size: int, data: int) -> list[Round]:
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
