"""`haloscope bench collective` as a command."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.mpi import Mpi
from support.mpis import tools

__all__ = ["Bench"]


class Bench:
    """The command in an environment where one MPI is the MPI, in a directory of its own."""

    def __init__(self, command: Path, mpi: Mpi, directory: Path) -> None:
        self.command = [str(command), "bench", "collective"]
        self.environment = {**tools(mpi), "HALOSCOPE_TIME_LIMIT": "30"}
        self.directory = directory

    def __call__(self, *words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self.command, *words],
            env=self.environment,
            cwd=self.directory,
            timeout=250,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == expect, done.stderr
        return done
