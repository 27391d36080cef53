"""The machine on which a part of a study ran, and how much of it other programs used."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from haloscope.base import paths
from haloscope.base.errors import HaloscopeError
from haloscope.base.headers import library_version
from haloscope.base.mpi import find_installed_library
from haloscope.base.toolchain import toolchain
from haloscope.base.version import own_version

BUSY = 0.05  # largest share of the processors that other programs may use while times are measured
_IDLE = (3, 4)  # idle and waiting for a disk, in a line of /proc/stat
_COUNTED = 8  # fields up to the time that a virtual machine did not get; guests' time is part of the user's


@dataclass
class Conditions:
    """Where and when a part ran; `others` is the share of the processors that other programs used."""

    date: str = ""
    processor: str = ""
    cores: int = 0
    mpi: str = ""
    version: str = ""
    seconds: float = 0.0
    others: float | None = None
    switches: int = 0

    @property
    def is_busy(self) -> bool:
        """Whether times of this part are those of a machine that was also doing other things."""
        return self.others is not None and self.others > BUSY


@contextlib.contextmanager
def observe_conditions() -> Iterator[Conditions]:
    """Yield conditions that are complete when the block ends, for the processes that the block waited for."""
    found = Conditions(
        date=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        processor=_read_processor(),
        cores=len(os.sched_getaffinity(0)),
        mpi=_find_mpi(),
        version=_find_version(),
    )
    begin, busy, before = time.monotonic(), _busy_seconds(), resource.getrusage(resource.RUSAGE_CHILDREN)
    yield found
    after, found.seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begin
    found.switches = after.ru_nivcsw - before.ru_nivcsw
    if busy is not None and (ended := _busy_seconds()) is not None and found.seconds > 0:
        own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        others = (ended - busy - own) / (found.seconds * (os.cpu_count() or 1))
        found.others = min(max(others, 0.0), 1.0)


def _busy_seconds() -> float | None:
    """Return the time that all processors together have worked since the machine started."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text("ascii").split("\n")[0].split()[1:]]
    except (OSError, ValueError):
        return None
    worked = (value for index, value in enumerate(ticks[:_COUNTED]) if index not in _IDLE)
    return sum(worked) / os.sysconf("SC_CLK_TCK")


def _read_processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return os.uname().machine


def _find_mpi() -> str:
    with contextlib.suppress(HaloscopeError):
        library = find_installed_library(toolchain().launcher)
        found = library_version(library.path) if library and library.path else None
        return found[1] if found else ""
    return ""


def _find_version() -> str:
    """Return the version, with the commit in a checkout."""
    root = paths.root()
    if not (root / ".git").exists():
        return own_version()
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
    with contextlib.suppress(OSError):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return f"{own_version()}, commit {done.stdout.strip()}"
    return own_version()
