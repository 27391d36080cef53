"""Runs verbs of the command line, as in another terminal."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from support.processes import run_program

Verb = Callable[..., subprocess.CompletedProcess[str]]


def verb(haloscope: Path, name: str, directory: Path, env: Mapping[str, str] | None = None) -> Verb:
    """Return a function that runs `haloscope NAME` with arguments in a directory, and asserts its status.

    `env` is added to the environment at the call.
    """

    def run(*arguments: str | Path, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **(env or {})}
        return run_program([haloscope, name, *arguments], env=environment, cwd=directory, status=status)

    return run
