"""The file with the source lines of a module: the module, or a separate file of debug information."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.cache import user_cache
from haloscope.profile.sites.elf import Elf, read_elf

_DEBUG = Path("/usr/lib/debug")
# Of a file; larger ones are not read.
_MOST_BYTES = 8 << 30
_PART = 1 << 20


@dataclass(frozen=True)
class Found:
    """A file to read, None if there is none, and a remark for the user."""

    file: Path | None
    base: int = 0
    remark: str = ""


def find(path: str, build: str, ended: float | None) -> Found:
    """Return the best file for the module at `path` that had `build`, its build-id in hexadecimal, or none.

    Without a build-id, a file that changed after `ended`, seconds since 1970, is refused.
    """
    if "/" not in path:
        return Found(None, remark="is not a file")
    file = Path(path)
    own = _read_usable(file)
    why = _explain_unusable(file, own, build, ended)
    if own is not None and not why and own.has_lines:
        return Found(file, own.base)
    for other in _find_elsewhere(file, build, None if why else own):
        elf = _read_usable(other)
        if elf is not None and elf.has_lines:
            return Found(other, elf.base)
    if why or own is None:
        return Found(None, remark=why)
    return Found(file, own.base, "has no debug information (compile with -g): functions only")


def _read_usable(path: Path) -> Elf | None:
    try:
        return read_elf(path) if path.is_file() and path.stat().st_size <= _MOST_BYTES else None
    except OSError:
        return None


def _explain_unusable(path: Path, elf: Elf | None, build: str, ended: float | None) -> str:
    """Return the reason why the file cannot be used, empty if it can."""
    if elf is None:
        return "cannot be read" if os.path.lexists(path) else "does not exist any more"
    if build:
        return "" if elf.build == build else "was replaced by a different build since the run"
    if not path.is_absolute():
        return "has no build-id, so that it cannot be recognised"
    return "was changed since the run" if ended is not None and path.stat().st_mtime > ended else ""


def _find_elsewhere(path: Path, build: str, own: Elf | None) -> Iterator[Path]:
    """Yield files that have the debug information of this build, without asking any server."""
    if len(build) > 2 and set(build) <= set("0123456789abcdef"):
        yield _DEBUG / ".build-id" / build[:2] / f"{build[2:]}.debug"
        kept = os.environ.get("DEBUGINFOD_CACHE_PATH") or user_cache() / "debuginfod_client"
        yield Path(kept) / build / "debuginfo"
    if own is not None and own.debug_link is not None:
        name, crc = own.debug_link
        folder = path.resolve().parent
        for directory in (folder, folder / ".debug", _DEBUG / folder.relative_to("/")):
            if _crc(directory / name) == crc:
                yield directory / name


def _crc(path: Path) -> int | None:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        crc = 0
        with path.open("rb") as file:
            while part := file.read(_PART):
                crc = zlib.crc32(part, crc)
        return crc
    except OSError:
        return None
