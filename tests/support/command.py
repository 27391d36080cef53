"""Runs the command in this process, through its public entry point."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from haloscope.cli import main

Command = Callable[..., subprocess.CompletedProcess[str]]
"""Runs `haloscope` with some words, and returns its status and what it printed."""


def run_command(*words: str | Path) -> int:
    """Run `haloscope WORDS...` and return its exit status; its output is that of this process."""
    with patch.object(sys, "argv", ["haloscope", *map(str, words)]):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    raise AssertionError("main() returns nothing: it exits")
