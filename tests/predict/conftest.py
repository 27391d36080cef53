"""The MPI in use, and the command, for tests that measure."""

from __future__ import annotations

import queue
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.command import Command, capture_command
from support.limits import HANG
from support.mpi import Mpi
from support.mpis import tools

_REMARKS = ("haloscope: building ", "haloscope: launcher: ")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`command("bench", "p2p")` runs the command in this process, in a directory of its own.

    Its standard error is without messages about builds and the launcher.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HALOSCOPE_TIME_LIMIT", f"{HANG:g}")

    def run(*words: str | Path, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = capture_command(capsys, *words, status=status)
        lines = done.stderr.splitlines(keepends=True)
        done.stderr = "".join(line for line in lines if not line.startswith(_REMARKS))
        return done

    return run


@pytest.fixture
def used(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    """The MPI whose `mpicc` and `mpiexec` this process and its children find."""
    for name, value in tools(mpi).items():
        monkeypatch.setenv(name, value)
    return mpi


@pytest.fixture
def any_used(any_mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    """The same of any MPI, where it does not matter which."""
    for name, value in tools(any_mpi).items():
        monkeypatch.setenv(name, value)
    return any_mpi


class _Lines:
    """The lines of a launcher. The time for the next one is over when it has printed `hangs`, not before."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._hangs = False

    def put(self, line: bytes | None) -> None:
        self._lines.put(line)

    def get(self, timeout: float) -> bytes | None:
        if self._hangs:
            raise queue.Empty
        line = self._lines.get(timeout=max(timeout, HANG))
        self._hangs = line == b"hangs\n"
        return line


@pytest.fixture
def planted_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher that prints `hangs` has hung for longer than the limit; any other is in time."""
    planted = SimpleNamespace(SimpleQueue=_Lines, Empty=queue.Empty)
    monkeypatch.setattr("haloscope.predict.bench.output_stream.queue", planted)
