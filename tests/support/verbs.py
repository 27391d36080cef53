"""Runs verbs of the command line, as in another terminal."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

Verb = Callable[..., subprocess.CompletedProcess[str]]


def verb(haloscope: Path, name: str, directory: Path, env: Mapping[str, str] | None = None) -> Verb:
    """Return what runs `haloscope NAME` with arguments in a directory, with text for output and no input.

    `env` is added to the environment of the moment.
    """

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [haloscope, name, *arguments],
            cwd=directory,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
