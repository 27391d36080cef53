"""The journal of a sweep: a line a point, on disk before the next one begins."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from haloscope.base.errors import OutputError
from haloscope.predict.bench._sweep import identity, read_records

__all__ = ["Journal", "journal"]

# Points measured otherwise don't belong into one sweep.
_SAME = ("library", "host")
_METHOD = ("synchronisation", "warmup", "iterations", "type", "validate", "confidence", "precision")


class Journal:
    """The points so far, and the file that they go to, if there is one."""

    def __init__(self, environment: Mapping[str, Any], file: int | None) -> None:
        self.environment = environment
        self.points: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        self._file = file

    def add(self, point: Mapping[str, Any]) -> None:
        """Keep a point, whatever happens next; an interrupt before it is written leaves it out."""
        self.write(point)
        self.points[identity(point)] = point

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a line."""
        if self._file is None:
            return
        data = (json.dumps(record, separators=(",", ":")) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise OutputError(f"the sweep's file: {error.strerror}; it holds all before") from None

    def has(self, point: Mapping[str, Any]) -> bool:
        """True if the point need not be measured again."""
        return identity(point) in self.points


@contextlib.contextmanager
def journal(path: Path | None, environment: Mapping[str, Any]) -> Iterator[Journal]:
    """Open a journal; one that is there is continued, if it was made in the same way."""
    if path is None:
        yield Journal(environment, None)
        return
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None
    try:
        _lock(file, path)
        yield _continued(file, path, environment)
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{path}: another haloscope bench writes there") from None
    except OSError:
        pass  # a file system without locks


def _continued(file: int, path: Path, environment: Mapping[str, Any]) -> Journal:
    if os.fstat(file).st_size == 0:
        made = Journal(environment, file)
        made.write(environment)
        return made
    records = read_records(path)
    earlier = records[0]
    _check_same(path, earlier, environment)
    _cut_torn_line(file, path)
    made = Journal(earlier, file)
    points = (record for record in records[1:] if record.get("record") == "point")
    made.points = {identity(point): point for point in points}
    return made


def _check_same(path: Path, earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    was, method = earlier.get("method") or {}, now["method"]
    pairs = [(name, earlier.get(name), now[name]) for name in _SAME]
    pairs += [(name, was.get(name), method[name]) for name in _METHOD]
    for name, before, after in pairs:
        if before != after:
            raise OutputError(
                f"{path}: measured with {name} {before}, now it is {after}; name another file, "
                "or ask for the same"
            )


def _cut_torn_line(file: int, path: Path) -> None:
    """What an interruption left of a line would spoil the next one."""
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        os.ftruncate(file, content.rfind(b"\n") + 1)
