"""What an installed wheel brings ready-made: what stands before an MPI, for the interfaces that are known.

A folder for each interface, which `tools/prebuild.py` fills: `interface.json` says what it was made for, and
the files of each kind of library are in an archive.
"""

from __future__ import annotations

import json
import lzma
import os
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haloscope.base import paths
from haloscope.base.cache import build_once, fingerprint
from haloscope.base.errors import RecorderError
from haloscope.base.objects import Abi, MpiLibrary, read_defined_names
from haloscope.base.version import own_version

__all__ = [
    "DESCRIPTION",
    "SOURCES",
    "Prebuilt",
    "find_prebuilt",
    "fits_one",
    "functions",
    "list_wrapped_functions",
    "source_mark",
    "unpack_prebuilt",
]

DESCRIPTION, SOURCES = "interface.json", "SOURCES"
# Of Fortran's names, which some libraries define in capitals, none matches.
_FUNCTION = rb"MPIX?_[A-Z]\w*[a-z]\w*"


@dataclass(frozen=True)
class Prebuilt:
    """What was made for the interface of `product`; of the library at hand, it lets `unseen` pass."""

    archive: Path
    mark: str
    product: str
    unseen: tuple[str, ...]


def functions(library: Path) -> frozenset[str]:
    """Return the functions of an MPI library that tools can stand before, by their names in C."""
    return frozenset(name[1:] for name in read_defined_names(library, b"P" + _FUNCTION))


def list_wrapped_functions(recorder: Path) -> frozenset[str]:
    """Return the functions that a recorder stands before."""
    return read_defined_names(recorder, _FUNCTION)


def source_mark(kind: str, sources: Iterable[Path]) -> str:
    """Return what tells the sources that something was made of from all others."""
    return fingerprint(sources, kind, own_version())


def find_prebuilt(kind: str, library: MpiLibrary, sources: Iterable[Path]) -> Prebuilt | None:
    """Return what fits a library best: made of these very sources, of no function that the library lacks."""
    found = list(_fitting(library))
    mark = source_mark(kind, sources) if found else ""
    for unseen, description, place in sorted(found, key=lambda one: (len(one[0]), -len(one[1]["wraps"]))):
        if description["sources"].get(kind) == mark:
            archive = place / f"{kind}.tar.xz"
            return Prebuilt(archive, mark, description["product"], tuple(sorted(unseen)))
    return None


def fits_one(library: MpiLibrary) -> bool:
    """Return whether there is anything ready-made for a library."""
    return any(True for _ in _fitting(library))


def unpack_prebuilt(kind: str, ready: Prebuilt) -> Path:
    """Return the directory of the cache with the files of what is ready-made.

    It is of a kind of its own there: how long unpacking took says nothing of how long a build takes.
    """
    name = f"ready-{kind}-{ready.archive.parent.name}-{ready.mark}"
    return build_once(name, lambda to: _unpack(ready.archive, to))


def _unpack(archive: Path, directory: Path) -> None:
    try:
        with tarfile.open(archive) as files:
            files.extraction_filter = getattr(tarfile, "tar_filter", lambda member, _: member)
            files.extractall(directory)
    except (tarfile.TarError, lzma.LZMAError, EOFError):
        raise RecorderError(f"{archive}: is damaged; install Haloscope again") from None


def _fitting(library: MpiLibrary) -> Iterator[tuple[frozenset[str], dict[str, Any], Path]]:
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
