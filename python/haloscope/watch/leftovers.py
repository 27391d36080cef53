"""Removes what killed processes leave besides their records: none of it can be recovered."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from haloscope.watch.places import is_foreign

_NAMED_BY_RANK_0 = re.compile(r"haloscope-(\d+)-\d+$")
_OLD = 60.0  # seconds; a process that makes a directory makes a record in it earlier
_MOST_OF_NAME = 128  # bytes, as in src/watch/collecting/naming.cpp
_WORD = 8  # bytes at the begin of a record that are zero until it is complete
_LEAST = 1 << 16  # bytes; no record that has been begun is smaller


def clear_unbegun(places: Iterable[Path]) -> int:
    """Remove records of processes that ended before they wrote anything. Return the number of records."""
    unbegun = [path for directory in places for path in directory.glob("*.live") if _is_unbegun(path)]
    for path in unbegun:
        clear_spool(path)
        path.unlink(missing_ok=True)
    return len(unbegun)


def clear_without_records(mains: Iterable[Path]) -> int:
    """Remove directories of runs that ended before they had a record. Return the number of directories."""
    return sum(_remove_if_left(main) for main in mains if main.is_dir() and not is_foreign(main))


def clear_parts(output: Path, pid: int) -> None:
    """Remove the partial profile of a process that ended while it wrote it."""
    begin = os.fsdecode(os.fsencode(output.name)[:_MOST_OF_NAME])
    for part in output.parent.glob(f"{glob.escape(begin)}.part-{pid}*"):
        with contextlib.suppress(OSError):
            if re.fullmatch(r"\+*", part.name.rpartition(f"-{pid}")[2]):
                part.unlink()


def clear_spool(record: Path) -> None:
    """Remove the trace of a process. It is elsewhere; a link next to the record leads to it."""
    spool = record.with_suffix(".spool")
    with contextlib.suppress(OSError):
        if spool.is_symlink():
            target = Path(os.readlink(spool))
            if (
                target.name.startswith("haloscope-")
                and target.suffix == spool.suffix
                and not is_foreign(target)
            ):
                target.unlink()
        spool.unlink()


def _is_unbegun(path: Path) -> bool:
    pid = path.stem.rpartition("-")[2]
    if not pid.isdecimal() or _is_there(int(pid)):
        return False
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return not is_foreign(path) and (size == 0 or size >= _LEAST) and not any(file.read(_WORD))
    except OSError:
        return False


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _remove_if_left(main: Path) -> bool:
    """Remove a directory if it is empty and no process is about to fill it."""
    named = _NAMED_BY_RANK_0.fullmatch(main.name)
    try:
        if _is_there(int(named[1])) if named else time.time() - main.stat().st_mtime < _OLD:
            return False
        main.rmdir()
    except OSError:
        return False
    return True
