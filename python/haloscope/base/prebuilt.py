"""Ready-made libraries of an installed wheel, for known MPI interfaces.

There is one folder per interface, which `tools/prebuild.py` fills. `interface.json` states the MPI that it
was built for; one archive per kind of library has the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haloscope.base import paths
from haloscope.base.cache import build_once, fingerprint
from haloscope.base.errors import RecorderError
from haloscope.base.objects import Abi, MpiLibrary, read_defined_names
from haloscope.base.version import own_version

DESCRIPTION, SOURCES = "interface.json", "SOURCES"
# This excludes Fortran's names, which some libraries define in capitals.
_FUNCTION = rb"MPIX?_[A-Z]\w*[a-z]\w*"


@dataclass(frozen=True)
class Prebuilt:
    """A library built for the interface of `product`; it does not wrap the functions `unseen` of this MPI."""

    archive: Path
    mark: str
    product: str
    unseen: tuple[str, ...]


def functions(library: Path) -> frozenset[str]:
    """Return the functions of an MPI library that tools can wrap, by their names in C."""
    return frozenset(name[1:] for name in read_defined_names(library, b"P" + _FUNCTION))


def list_wrapped_functions(recorder: Path) -> frozenset[str]:
    """Return the functions that a recorder wraps."""
    return read_defined_names(recorder, _FUNCTION)


def source_mark(kind: str, sources: Iterable[Path]) -> str:
    """Return a checksum of the sources of a kind of library."""
    return fingerprint(sources, kind, own_version())


def find_prebuilt(kind: str, library: MpiLibrary, sources: Iterable[Path]) -> Prebuilt | None:
    """Return the ready-made library that fits best.

    It is built from exactly these sources, and wraps no function that the MPI library does not have.
    """
    found = list(_find_fitting(library))
    mark = source_mark(kind, sources) if found else ""
    for unseen, description, folder in sorted(
        found, key=lambda entry: (len(entry[0]), -len(entry[1]["wraps"]))
    ):
        if description["sources"].get(kind) == mark:
            archive = folder / f"{kind}.tar.xz"
            return Prebuilt(archive, mark, description["product"], tuple(sorted(unseen)))
    return None


def is_any_ready(library: MpiLibrary) -> bool:
    """Return whether anything is ready-made for an MPI library."""
    return any(True for _ in _find_fitting(library))


def unpack_prebuilt(kind: str, ready: Prebuilt) -> Path:
    """Return the directory of the cache with the files of a ready-made library.

    Its kind there is separate, because the time of unpacking does not predict that of a build.
    """
    name = f"ready-{kind}-{ready.archive.parent.name}-{ready.mark}"
    return build_once(name, lambda to: _unpack(ready.archive, to))


def _unpack(archive: Path, directory: Path) -> None:
    import lzma
    import tarfile

    try:
        with tarfile.open(archive) as files:
            files.extraction_filter = getattr(tarfile, "tar_filter", lambda member, _: member)
            files.extractall(directory)
    except (tarfile.TarError, lzma.LZMAError, EOFError):
        raise RecorderError(f"{archive}: is damaged; install Haloscope again") from None


def _find_fitting(library: MpiLibrary) -> Iterator[tuple[frozenset[str], dict[str, Any], Path]]:
    """Yield each interface of which a library has all functions.

    Yields:
        The functions of the library that the interface does not know, its description, its folder.
    """
    described = [(found, path.parent) for path, found in _descriptions(library.abi)]
    known = functions(library.path) if described and library.path else frozenset()
    for description, folder in described:
        if known.issuperset(description["wraps"]):
            yield known.difference(description["functions"]), description, folder


def _descriptions(abi: Abi) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(paths.prebuilt().glob(f"{abi}-*/{DESCRIPTION}")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if tuple(found["glibc"]) <= _glibc():
            yield path, found


def _glibc() -> tuple[int, ...]:
    """Return the version of the system's C library; empty if it is not glibc."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        return ()
    return tuple(map(int, version.split("."))) if name == "glibc" else ()
