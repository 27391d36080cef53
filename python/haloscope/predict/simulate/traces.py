"""SimGrid's trace text: one file per rank, one action per line, and a list of the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from haloscope.base.errors import SimulationError, UsageError

_LONGEST = 4096  # characters of a first line
_NUMBER = re.compile(r"(\d+)")
BYTE = 6  # SimGrid's number of MPI_BYTE
MOST_TAGS = 1_000_000  # SMPI's MPI_TAG_UB


class ActionTrace(Protocol):
    """A trace with actions for each rank."""

    @property
    def ranks(self) -> int:
        """Number of ranks."""

    def iterate_actions(self, rank: int) -> Iterable[str]:
        """Return the actions of a rank, without its number."""


def begin_region(name: str, communication: bool) -> str:
    """Return the action that begins a region."""
    return f"location {quote(name, safe='')} {2 if communication else 1}"


def end_region(name: str) -> str:
    """Return the action that ends a region."""
    return f"location {quote(name, safe='')} 0"


def list_traces(source: Path) -> list[Path]:
    """Return the files of a trace by rank, from a directory or from SimGrid's list."""
    try:
        if source.is_dir():
            files = sorted((path for path in source.iterdir() if path.is_file()), key=_natural_key)
        else:
            lines = source.read_text(encoding="utf-8").splitlines()
            files = [_find_trace(source, line.strip()) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise SimulationError(f"{source}: cannot be read as a list of traces: {error}") from None
    if not files:
        raise UsageError(
            f"{source}: has no traces; give a directory with one file per rank, or a list of files"
        )
    for rank, file in enumerate(files):
        _check_trace(file, rank)
    return files


def write_traces(pattern: ActionTrace, directory: Path) -> Path:
    """Write the traces of all ranks; return the path of their list."""
    names = []
    for rank in range(pattern.ranks):
        path = directory / f"{rank}.txt"
        with path.open("w", encoding="ascii") as stream:
            stream.writelines(_make_lines(rank, pattern.iterate_actions(rank)))
        names.append(f"{path}\n")
    listing = directory / "list"
    listing.write_text("".join(names), encoding="utf-8")
    return listing


def _make_lines(rank: int, actions: Iterable[str]) -> Iterator[str]:
    yield f"{rank} init\n"
    for action in actions:
        yield f"{rank} {action}\n"
    yield f"{rank} finalize\n"


def _natural_key(path: Path) -> list[int | str]:
    return [int(part) if part.isdecimal() else part for part in _NUMBER.split(path.name)]


def _find_trace(source: Path, name: str) -> Path:
    """Return the path of a trace: SimGrid writes names relative to its working directory or to the list."""
    given = Path(name)
    return given.absolute() if given.exists() else (source.parent / name).absolute()


def _check_trace(file: Path, rank: int) -> None:
    try:
        if not file.is_file():  # a pipe would wait, a device never end
            raise SimulationError(f"{file}: is not a file; name the traces of the ranks, one file per rank")
        with file.open(encoding="ascii") as stream:
            words = stream.readline(_LONGEST).split()
    except (OSError, ValueError) as error:
        raise SimulationError(f"{file}: cannot be read as a trace: {error}") from None
    if words[:2] != [str(rank), "init"]:
        raise SimulationError(f"{file}: is not a trace of rank {rank}: its first line is not '{rank} init'")
