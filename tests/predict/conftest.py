"""The MPI in use, and the command, for tests that measure."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.command import Command, run_command
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

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        status = run_command(*words)
        printed = capsys.readouterr()
        lines = printed.err.splitlines(keepends=True)
        told = "".join(line for line in lines if not line.startswith(_REMARKS))
        return subprocess.CompletedProcess(list(map(str, words)), status, printed.out, told)

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
