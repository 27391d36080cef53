"""Processes of others: which there are, and their end."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from support.limits import HANG


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


def shared_files(processes: Iterable[int]) -> set[Path]:
    """The names of files of ours that these processes have mapped, or had before they removed them."""
    maps = "".join(Path(f"/proc/{process}/maps").read_text() for process in processes)
    names = (line.split(maxsplit=5)[5:] for line in maps.splitlines())
    found = {Path(name.removesuffix(" (deleted)")) for (name,) in filter(None, names)}
    return {path for path in found if path.name.startswith(("haloscope-", "memfd:haloscope"))}


def kill(process: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal. The process may be gone: launchers end ranks once one rank has ended."""
    with suppress(ProcessLookupError):
        os.kill(process, number)


def wait_for_end(processes: Iterable[int]) -> None:
    """Return when none of these processes runs any more; they need not be children."""
    for process in processes:
        try:
            descriptor = os.pidfd_open(process)
        except ProcessLookupError:
            continue
        try:
            ended, _, _ = select.select([descriptor], [], [], HANG)
        finally:
            os.close(descriptor)
        assert ended, f"process {process} does not end"
