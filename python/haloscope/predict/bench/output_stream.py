"""Measuring programs: running, reading of their records, and ending if none comes in time."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import IO, Any

from haloscope.base.errors import LaunchError
from haloscope.base.signals import handle_signal

_GRACE = 5.0  # seconds that a launcher has for ending its ranks
_REFUSED = re.compile(r"not (usable|supported)|unsupported", re.IGNORECASE)
_REASON = re.compile(r"error|signal|abort|not |fail|unable|slots", re.IGNORECASE)


class Stopped(Exception):
    """The program ended too early; `status` is that of its point."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class MeasuringProcess:
    """A running measuring program in its own session, so that no process remains after `close`.

    Args:
        command: The command line.
        environment: The environment.
        limit: Longest time between two records (s).
        has_input: Whether the program reads lines (`tell`).

    Raises:
        LaunchError: The program cannot be started.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], limit: float, has_input: bool = False
    ) -> None:
        self._limit, self._other = limit, list[str]()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 # closed by `close`
        interrupts: list[int] = []
        try:
            # An interrupt before its process is known would leave it running.
            with handle_signal(signal.SIGINT, lambda number, _: interrupts.append(number)):
                self._child = subprocess.Popen(
                    list(command),
                    env=dict(environment),
                    stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    start_new_session=True,
                )
        except OSError as error:
            self._errors.close()
            raise LaunchError(f"{command[0]}: {error.strerror}; nothing was measured") from None
        if interrupts:
            self.close()
            raise KeyboardInterrupt

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records that the program prints.

        Raises:
            Stopped: The program fails, or no record comes in time.
        """
        yield from _read_records(self._child, self._limit, self._other)
        if _wait(self._child, self._limit):
            self._errors.seek(0)
            text = self._errors.read(1 << 20).decode("utf-8", "replace")
            raise _make_error(self._child.returncode, text + "\n" + "\n".join(self._other))

    def tell(self, line: str) -> None:
        """Send a line to the program. A program that reads no longer fails in `records`."""
        assert self._child.stdin is not None
        with contextlib.suppress(OSError):
            self._child.stdin.write(line.encode() + b"\n")
            self._child.stdin.flush()

    def finish(self) -> None:
        """End the input of the program, and wait for its end."""
        if self._child.stdin is not None:
            self.tell("")  # not every launcher passes the end of its input on
            with contextlib.suppress(OSError):
                self._child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=self._limit)

    def close(self) -> None:
        """End the program."""
        _end(self._child)
        self._errors.close()


def stream(
    command: Sequence[str], environment: Mapping[str, str], limit: float
) -> Generator[dict[str, Any], None, None]:
    """Yield the records that a program prints. At the end, no process remains.

    Args:
        command: The command line.
        environment: The environment.
        limit: Longest time between two records (s).

    Raises:
        LaunchError: The program cannot be started.
        Stopped: The program fails, or no record comes in time.
    """
    with contextlib.closing(MeasuringProcess(command, environment, limit)) as running:
        yield from running.records()


def _read_records(child: subprocess.Popen[bytes], limit: float, other: list[str]) -> Iterator[dict[str, Any]]:
    assert child.stdout is not None
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_read_lines, args=(child.stdout, lines), daemon=True)
    reader.start()
    while True:
        try:
            line = lines.get(timeout=limit)
        except queue.Empty:
            raise Stopped("timeout", f"no result within {limit:g} s") from None
        if line is None:
            return
        record = _parse(line)
        if record is None:
            other.append(line.decode("utf-8", "replace"))
        else:
            yield record


def _read_lines(output: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in output:
            lines.put(line)
    lines.put(None)


def _parse(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b'{"record"'):
        return None
    try:
        record = json.loads(line)
    except ValueError:  # cut off by the program's end
        return None
    return record if isinstance(record, dict) else None


def _wait(child: subprocess.Popen[bytes], limit: float) -> int:
    try:
        return child.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        raise Stopped("timeout", f"the program did not end within {limit:g} s") from None


def _make_error(status: int, output: str) -> Stopped:
    """Return the error with the most informative line of the output of launcher and library."""
    lines = [line.strip(" -*[]") for line in output.splitlines()]
    refused = next(filter(_REFUSED.search, lines), "")
    if refused:
        return Stopped("unsupported", f"the library refuses: {refused[:300]}")
    reason = next(filter(_REASON.search, lines), "") or next(filter(None, lines), "")
    return Stopped("failed", f"exit status {status}: {reason[:300]}".removesuffix(": "))


def _end(child: subprocess.Popen[bytes]) -> None:
    """Terminate the launcher, which ends its ranks, and kill the remaining processes of the session."""
    session = child.pid
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_GRACE)
    deadline = time.monotonic() + _GRACE
    while (remaining := _list_processes(session)) and time.monotonic() < deadline:
        for process in remaining:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=0.05)
    for pipe in (child.stdin, child.stdout):
        if pipe:
            with contextlib.suppress(OSError):  # unread lines
                pipe.close()


def _list_processes(leader: int) -> list[int]:
    """Return the running processes of a session."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, _, _, session = file.read().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(session) == leader and state != "Z":
            found.append(int(name))
    return found
