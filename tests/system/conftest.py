"""The command in the process of the tests, which is ten times as fast as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from haloscope.cli import main


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`command("show", path)` runs a verb in an empty directory whose name has a space."""
    directory = tmp_path / "my work"
    directory.mkdir()
    monkeypatch.chdir(directory)

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = ["haloscope", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as left:
            main()
        assert isinstance(left.value.code, int)
        return subprocess.CompletedProcess(words, left.value.code, *capfd.readouterr())

    return run
