"""Programs of this machine: on PATH first, then in this Python environment, where pip puts an MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path


def find_tool(name: str) -> Path | None:
    """Return the program `name` that is first on PATH, else this Python environment's, else None."""
    found = shutil.which(name)
    return Path(found).absolute() if found else environment_tool(name)


def environment_tool(name: str) -> Path | None:
    """Return the program `name` in the directory of the running Python."""
    path = Path(sys.prefix) / "bin" / name
    return path if path.is_file() and os.access(path, os.X_OK) else None


def read_answer(*command: str) -> str | None:
    """Return the standard output of a command; None if it cannot be started or takes over a minute."""
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        ).stdout
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
