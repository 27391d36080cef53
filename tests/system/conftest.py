"""The command in the process of the tests, which is ten times as fast as a process of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from support.command import Command, capture_command


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """`command("show", path)` runs a verb in an empty directory whose name has a space."""
    directory = tmp_path / "my work"
    directory.mkdir()
    monkeypatch.chdir(directory)

    return partial(capture_command, capfd)
