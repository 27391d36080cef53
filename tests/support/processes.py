"""Processes of others: which there are, and their end."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

__all__ = ["kill", "processes_of"]


def processes_of(program: Path) -> list[int]:
    """The processes that run a program, the eldest first."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "exe").resolve() == program:
                found.append(int(entry.name))
        except OSError:
            continue
    return sorted(found)


def kill(process: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal. The process may be gone: launchers end ranks once another one has ended."""
    with suppress(ProcessLookupError):
        os.kill(process, number)
