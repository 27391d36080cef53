"""What has happened in a campaign: a line for each start and end, which survives a kill."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from haloscope.base.errors import OutputError, UsageError

_NAME = "journal.jsonl"
_LOCK = "lock"


def events(directory: Path) -> Iterator[dict[str, Any]]:
    """Yield all that was noted in a campaign's directory, but for a line that a kill cut off."""
    try:
        with (directory / _NAME).open("rb") as stream:
            for line in stream:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict) and {"event", "run"} <= event.keys():
                    yield event
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{directory / _NAME}: cannot be read: {error.strerror}") from None


def attempts_of(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """Return for each run its attempts, in order; of one that has not ended only its start is there."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for event in events(directory):
        # Newest last: an end replaces its start.
        attempts = found.setdefault(str(event["run"]), {})
        number = int(event.get("attempt", 0))
        attempts[number] = {**attempts.get(number, {}), **event}
    return {run: [attempts[number] for number in sorted(attempts)] for run, attempts in found.items()}


class CampaignJournal:
    """The journal of a campaign, open for writing by one process alone."""

    def __init__(self, directory: Path, file: int) -> None:
        self.directory = directory
        self._file = file

    @classmethod
    @contextmanager
    def opened(cls, directory: Path) -> Iterator[CampaignJournal]:
        """Open a campaign's journal.

        Raises `OutputError` if another process has it, or if it can't be written.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(
                f"{directory}: cannot be written: {error.strerror}; call it from another place"
            ) from None
        file = None
        try:
            _take(lock, directory)
            file = _open(directory / _NAME)
            yield cls(directory, file)
        finally:
            os.close(lock)
            if file is not None:
                os.close(file)

    def note(self, event: str, run: str, attempt: int, values: Mapping[str, Any]) -> None:
        """Write one line, and wait until it is on the disk. Raises `OutputError`."""
        line = json.dumps({"event": event, "run": run, "attempt": attempt, **values}) + "\n"
        data = line.encode()
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            raise OutputError(
                f"{self.directory / _NAME}: cannot be written: {error.strerror}; "
                "what has ended is kept: make room and run the same command again"
            ) from None


def _take(lock: int, directory: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(lock, 200, 0).decode("utf-8", "replace").strip()
        raise OutputError(
            f"{directory}: another campaign run is at it ({owner}); wait, or end that one"
        ) from None
    except OSError:
        pass  # some parallel file systems have no locks
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)


def _open(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")  # the last line was cut off; the next one must be whole
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
    return file
