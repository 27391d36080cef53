"""The journal of a campaign: one line per start and end of a run, complete even after a kill."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator

from haloscope.base.errors import OutputError, UsageError
from haloscope.base.texts import parse_json

_NAME = "journal.jsonl"
_LOCK = "lock"
_Number = Annotated[float, Field(allow_inf_nan=False)]


class _Started(BaseModel, strict=True):
    """What each event has."""

    event: str
    run: str
    attempt: Annotated[int, Field(ge=0, lt=1 << 31)]


class _Ended(_Started, strict=True):
    """An event with an outcome; a run that is done has a duration."""

    outcome: str
    reason: str | None = None
    seconds: _Number | None = None
    host: str | None = None
    figures: dict[str, _Number] = {}

    @model_validator(mode="after")
    def _check_duration(self) -> _Ended:
        if self.outcome == "done" and self.seconds is None:
            raise ValueError("without a duration")
        return self


def read_events(directory: Path) -> Iterator[dict[str, Any]]:
    """Yield the events in the journal of a directory, without incomplete and damaged lines."""
    try:
        with (directory / _NAME).open("rb") as stream:
            for line in stream:
                try:
                    event = parse_json(line)
                    kind = _Ended if isinstance(event, dict) and "outcome" in event else _Started
                    kind.model_validate(event)
                except ValueError:
                    continue
                yield event
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{directory / _NAME}: cannot be read: {error.strerror}") from None


def read_attempts(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the attempts of each run in order; an unfinished attempt has only its start."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for event in read_events(directory):
        # In order of time: an end replaces its start.
        attempts, number = found.setdefault(event["run"], {}), event["attempt"]
        attempts[number] = {**attempts.get(number, {}), **event}
    return {run: [attempts[number] for number in sorted(attempts)] for run, attempts in found.items()}


class CampaignJournal:
    """The journal of a campaign, opened for writing by a single process."""

    def __init__(self, directory: Path, file: int) -> None:
        self.directory = directory
        self._file = file

    @classmethod
    @contextmanager
    def opened(cls, directory: Path) -> Iterator[CampaignJournal]:
        """Open the journal of a directory.

        Raises:
            OutputError: Another process has opened it, or it cannot be written.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True)
            lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(
                f"{directory}: cannot be written: {error.strerror}; run it in another directory"
            ) from None
        file = None
        try:
            _take_lock(lock, directory)
            file = _open_file(directory / _NAME)
            yield cls(directory, file)
        finally:
            os.close(lock)
            if file is not None:
                os.close(file)

    def note(self, event: str, run: str, attempt: int, values: Mapping[str, Any]) -> None:
        """Write one line, and wait until it is on the disk.

        Raises:
            OutputError: The line cannot be written.
        """
        line = json.dumps({"event": event, "run": run, "attempt": attempt, **values}) + "\n"
        data = line.encode()
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            raise OutputError(
                f"{self.directory / _NAME}: cannot be written: {error.strerror}; "
                "finished runs are saved: free space and run the same command again"
            ) from None


def _take_lock(lock: int, directory: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(lock, 200, 0).decode("utf-8", "replace").strip()
        raise OutputError(
            f"{directory}: another campaign run uses it ({owner}); wait, or end that one"
        ) from None
    except OSError:
        pass  # some parallel file systems have no locks
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)


def _open_file(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")  # ends an incomplete last line
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
    return file
