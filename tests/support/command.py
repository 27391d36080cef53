"""Runs the command in this process, through its public entry point."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from haloscope.cli import main

Command = Callable[..., subprocess.CompletedProcess[str]]
"""Runs `haloscope` with some words, asserts its status (0, or `status`), and returns its output."""


def run_command(*words: str | Path) -> int:
    """Run `haloscope WORDS...` and return its exit status; its output is that of this process."""
    with patch.object(sys, "argv", ["haloscope", *map(str, words)]):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    raise AssertionError("main() returns nothing: it exits")


def capture_command(
    capture: pytest.CaptureFixture[str], *words: object, status: int | None = 0
) -> subprocess.CompletedProcess[str]:
    """Run `haloscope WORDS...`, and return its output. Assert its status, unless that is None."""
    capture.readouterr()
    ended = run_command(*map(str, words))
    printed = capture.readouterr()
    assert status in (None, ended), printed.out + printed.err
    return subprocess.CompletedProcess(list(map(str, words)), ended, printed.out, printed.err)
