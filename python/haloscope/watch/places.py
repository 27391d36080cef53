"""Directories of live records on this node, and their owners."""

from __future__ import annotations

import os
from pathlib import Path

_DEEPEST = 6


def directories(run: str, base: str | None) -> list[Path]:
    """Return the directories on this node with records of a run, one per world."""
    bases = (base,) if base else ("/dev/shm", "/tmp")
    mains = [path for path in (Path(b) / f"haloscope-{run}" for b in bases) if path.is_dir()]
    return mains + [path for main in mains for path in sorted(main.glob("spawned-*"))]


def mains_of_user() -> list[Path]:
    """Return the directories of this user's runs on this node."""
    own = os.environ.get("HALOSCOPE_LIVE")
    bases = [Path(own)] if own else [Path("/dev/shm"), Path("/tmp")]
    mains = [path for base in bases for path in sorted(base.glob("haloscope-*"))]
    return [main for main in mains if not is_foreign(main)]


def places_of_user() -> list[Path]:
    """Return the directories in which this user's runs on this node put records."""
    return [directory for main in mains_of_user() for directory in holders(main)]


def is_foreign(path: Path) -> bool:
    """Return whether a different user owns it: its content, such as output paths, is not trusted."""
    return path.lstat().st_uid != os.geteuid()


def holders(root: Path) -> list[Path]:
    """Return all directories with records in and below a directory."""
    found = []
    for directory, below, files in os.walk(root):
        if len(Path(directory).relative_to(root).parts) == _DEEPEST:
            below.clear()
        if any(name.endswith(".live") for name in files):
            found.append(Path(directory))
    return sorted(found)


def has_mapped(path: Path, pid: int) -> bool:
    """Return whether the process of a record is alive. Its number alone may be that of a new process."""
    try:
        status = path.stat()
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False
    return any(line.split()[4:5] == [str(status.st_ino)] for line in maps.splitlines())
