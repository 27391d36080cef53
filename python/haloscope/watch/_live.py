"""The live records of a run: what ranks that died left behind, and clearing it away."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from haloscope._errors import RecorderError
from haloscope.watch._build import Recorder
from haloscope.watch._outputs import expand

__all__ = ["clear", "directories", "join_records"]


def directories(run: str, base: str | None) -> list[Path]:
    """The directories on this node that hold records of a run, one for each world."""
    bases = (base,) if base else ("/dev/shm", "/tmp")
    mains = [path for path in (Path(b) / f"haloscope-{run}" for b in bases) if path.is_dir()]
    return mains + [path for main in mains for path in sorted(main.glob("spawned-*"))]


def clear(found: list[Path]) -> None:
    for directory in found:
        shutil.rmtree(directory, ignore_errors=True)


def join_records(recorder: Recorder, records: Path, pattern: Path) -> tuple[Path, list[str]]:
    """Make a profile of what is there; returns its path and what the joiner said."""
    with tempfile.TemporaryDirectory(prefix=".haloscope-", dir=pattern.parent) as scratch:
        whole = Path(scratch) / "joined.halo"
        done = subprocess.run(
            [str(recorder.join), str(records), str(whole)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        remarks = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        if done.returncode or not whole.is_file():
            why = remarks[-1] if remarks else f"exit status {done.returncode}"
            raise RecorderError(f"{records}: could not be joined ({why}); the records stay there")
        target = _name(whole, pattern)
        os.replace(whole, target)
    return target, remarks


def _name(profile: Path, pattern: Path) -> Path:
    if "%" not in pattern.name:
        return pattern
    from haloscope.explain import open as open_profile

    info = open_profile(profile).info
    return expand(pattern, int(info.get("ranks", 0)), str(info.get("program", "program")))
