"""Runs a program, lists the processes of one, and waits for their end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from support.limits import HANG


def run_program(
    command: Sequence[str | Path],
    *,
    text: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    status: int | None = 0,
) -> subprocess.CompletedProcess[str]:
    """Run a program with `text` as its input. Assert its status, unless that is None."""
    no_input = subprocess.DEVNULL if text is None else None
    done = subprocess.run(
        command, input=text, stdin=no_input, env=env, cwd=cwd, capture_output=True, text=True, check=False
    )
    message = f"status {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    assert status in (None, done.returncode), message
    return done


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
