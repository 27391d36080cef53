"""Which launcher is used: the one on PATH, else the one in this Python environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from haloscope.base.launcher import complete_command
from haloscope.base.tools import find_tool


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of this environment; PATH has others, and no launcher."""
    for name in ("timeout", "env", "app", "nice"):
        executable(tmp_path / "path" / name)
    for name in ("mpiexec", "mpirun", "haloscope", "prun"):
        executable(tmp_path / "environment" / "bin" / name)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "environment" / "bin"


@pytest.mark.parametrize(
    "command",
    [
        "{mpiexec} -n 4 app",
        "{mpirun} -np 4 ./app",
        "timeout 60 {mpiexec} -n 4 app",
        "env -u X A=b nice -n 5 {mpiexec} app",
        "{haloscope} inject --once 0:1:1s -- {haloscope} run -- {mpiexec} app",
    ],
)
def test_a_launcher_that_is_not_on_path_is_the_environments(own: Path, command: str) -> None:
    names = {name: name for name in ("mpiexec", "mpirun", "haloscope")}
    found = {name: str(own / name) for name in names}
    assert complete_command(command.format(**names).split()) == command.format(**found).split()


@pytest.mark.parametrize("command", ["srun app", "app mpiexec", "timeout 9 app prun", "./mpiexec app", ""])
def test_other_words_stay(own: Path, command: str) -> None:
    assert own.is_dir()
    assert complete_command(command.split()) == command.split()


def test_path_comes_first(own: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = executable(tmp_path / "path" / "mpiexec")
    assert complete_command(["mpiexec", "app"]) == ["mpiexec", "app"]
    assert find_tool("mpiexec") == first
    assert capfd.readouterr().err == ""
    first.unlink()
    assert find_tool("mpiexec") == own / "mpiexec"
    assert find_tool("mpicc") is None


def test_one_line_reports_what_was_found(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert complete_command(["mpiexec", "app"], quiet=True)[0] == str(own / "mpiexec")
    assert capfd.readouterr().err == ""
    for _ in range(2):
        complete_command(["mpiexec", "app"])
    assert capfd.readouterr().err == "haloscope: launcher: environment/bin/mpiexec\n"
