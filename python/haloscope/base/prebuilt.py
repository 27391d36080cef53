"""What an installed wheel brings ready-made: what stands before an MPI, for the interfaces that are known.

A folder for each interface, which `tools/prebuild.py` fills: `interface.json` says what it was made for, and
each kind of library has a folder with its files, and a mark of the sources that it was made of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haloscope.base import paths
from haloscope.base.cache import fingerprint, is_whole
from haloscope.base.objects import Abi, Library, defined
from haloscope.base.version import own_version

__all__ = [
    "DESCRIPTION",
    "SOURCES",
    "Prebuilt",
    "find_prebuilt",
    "fits_one",
    "functions",
    "prebuilt",
    "source_mark",
    "wrapped",
]

DESCRIPTION, SOURCES = "interface.json", "SOURCES"
# Of Fortran's names, which some libraries define in capitals, none matches.
_FUNCTION = rb"MPIX?_[A-Z]\w*[a-z]\w*"


@dataclass(frozen=True)
class Prebuilt:
    """What was made for the interface of `product`; of the library at hand, it lets `unseen` pass."""

    directory: Path
    product: str
    unseen: tuple[str, ...]


def functions(library: Path) -> frozenset[str]:
    """Return the functions of an MPI library that tools can stand before, by their names in C."""
    return frozenset(name[1:] for name in defined(library, b"P" + _FUNCTION))


def wrapped(recorder: Path) -> frozenset[str]:
    """Return the functions that a recorder stands before."""
    return defined(recorder, _FUNCTION)


def source_mark(kind: str, sources: Iterable[Path]) -> str:
    """Return what tells the sources that something was made of from all others."""
    return fingerprint(sources, kind, own_version())


def find_prebuilt(kind: str, library: Library, sources: Iterable[Path]) -> Prebuilt | None:
    """Return what fits a library best: made of these very sources, of no function that the library lacks."""
    found = list(_fitting(library))
    mark = source_mark(kind, sources) if found else ""
    for unseen, description, place in sorted(found, key=lambda one: (len(one[0]), -len(one[1]["wraps"]))):
        if _mark(place / kind) == mark and is_whole(place / kind):
            return Prebuilt(place / kind, description["product"], tuple(sorted(unseen)))
    return None


def fits_one(library: Library) -> bool:
    """Return whether there is anything ready-made for a library."""
    return any(True for _ in _fitting(library))


def prebuilt(kind: str) -> Iterator[Path]:
    """Yield the folders of all that is ready-made of a kind."""
    yield from sorted(paths.prebuilt().glob(f"*/{kind}"))


def _mark(directory: Path) -> str:
    try:
        return (directory / SOURCES).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""


def _fitting(library: Library) -> Iterator[tuple[frozenset[str], dict[str, Any], Path]]:
    """Yield each interface whose functions a library all has, and which of the library's it does not know."""
    described = [(found, path.parent) for path, found in _descriptions(library.abi)]
    known = functions(library.path) if described and library.path else frozenset()
    for description, place in described:
        if known.issuperset(description["wraps"]):
            yield known.difference(description["functions"]), description, place


def _descriptions(abi: Abi) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(paths.prebuilt().glob(f"{abi}-*/{DESCRIPTION}")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if tuple(found["glibc"]) <= _glibc():
            yield path, found


def _glibc() -> tuple[int, ...]:
    """Return the version of this system's C library; none for one that is not glibc."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        return ()
    return tuple(map(int, version.split("."))) if name == "glibc" else ()
