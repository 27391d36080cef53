"""Runs commands on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path


def print_on_terminal(*command: str | Path, **environment: str) -> bytes:
    """Return what a command prints on a terminal of 80 columns."""
    master, terminal = pty.openpty()
    os.set_blocking(master, True)
    subprocess.run(["stty", "cols", "80"], stdin=terminal, check=True)
    subprocess.run(command, stdout=terminal, stderr=terminal, check=True, env=os.environ | environment)
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(master)
    return shown
