"""SimGrid's trace text: a file a rank, an action a line, and the list of the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from haloscope.base.errors import SimulationError, UsageError

_NUMBER = re.compile(r"(\d+)")
BYTE = 6  # SimGrid's number of MPI_BYTE
MOST_TAGS = 1_000_000  # SMPI's MPI_TAG_UB


class ActionTrace(Protocol):
    """What has actions for each of its ranks."""

    @property
    def ranks(self) -> int:
        """How many there are."""

    def actions(self, rank: int) -> Iterable[str]:
        """Return the actions of a rank, without its number."""


def region_begin(name: str, communication: bool) -> str:
    """Return the action that begins a region of any name."""
    return f"location {quote(name, safe='')} {2 if communication else 1}"


def region_end(name: str) -> str:
    """Return the action that ends it."""
    return f"location {quote(name, safe='')} 0"


def trace_list(place: Path) -> list[Path]:
    """Return the files of a trace, in the order of ranks: those of a directory, or of SimGrid's list."""
    try:
        if place.is_dir():
            files = sorted((path for path in place.iterdir() if path.is_file()), key=_natural)
        else:
            lines = place.read_text(encoding="utf-8").splitlines()
            files = [_find_trace(place, line.strip()) for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise SimulationError(f"{place}: cannot be read as a list of traces: {error}") from None
    if not files:
        raise UsageError(f"{place}: has no traces: a file a rank is needed, or a list of such")
    for rank, file in enumerate(files):
        _check(file, rank)
    return files


def write_traces(pattern: ActionTrace, directory: Path) -> Path:
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


def _find_trace(place: Path, name: str) -> Path:
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
