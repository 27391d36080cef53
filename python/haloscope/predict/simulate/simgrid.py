"""SimGrid's tools, and what is built for it: the recorder, the replayer, the applications."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from haloscope.base import paths
from haloscope.base.building import applications, build_executable, build_preload
from haloscope.base.errors import ComponentError, UsageError
from haloscope.base.headers import Headers
from haloscope.watch import recorder_sources

_MISSING = (
    "{} not found: simulations need SimGrid with SMPI "
    "(Debian: apt-get install libsimgrid-dev; elsewhere: put SimGrid's bin directory on PATH)"
)


def smpirun() -> Path:
    """Return SimGrid's launcher. Raises `ComponentError` if it is missing."""
    return _tool("smpirun")


def smpicxx() -> Path:
    """SimGrid's C++ compiler wrapper."""
    return _tool("smpicxx")


@cache
def version() -> str:
    """SimGrid's version, such as `3.32`; empty if it does not say."""
    try:
        said = subprocess.run(
            [str(smpirun()), "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    words = said.split()
    return next((word for word in words if word[0].isdigit()), "")


@dataclass(frozen=True)
class SimulationBuild:
    """What runs in a simulation, in a directory of the cache."""

    directory: Path

    @property
    def recorder(self) -> Path:
        """The recorder, for SMPI's interface."""
        return self.directory / "libhaloscope-watch.so"

    @property
    def before_smpi(self) -> Path:
        """What stands before SMPI in every simulation."""
        return self.directory / "libhaloscope-before-smpi.so"

    @property
    def replayer(self) -> Path:
        """The program that replays traces, with the recorder in it."""
        return self.directory / "haloscope-replay"


def build_simulation() -> SimulationBuild:
    """Return what runs in a simulation, from the cache or built now."""
    include = smpicxx().resolve().parent.parent / "include" / "smpi"
    headers = Headers("simgrid", (include,), f"SimGrid SMPI {version()}", (3, 1))
    what = SimulationBuild(Path())
    made = [path.name for path in (what.recorder, what.before_smpi, what.replayer)]
    sources = [paths.source("src", "predict", "simulate"), *recorder_sources()]
    return SimulationBuild(build_preload("simulation", headers, made, sources))


def application(name: str) -> Path:
    """A bundled application, compiled for SMPI."""
    folder = paths.source("apps", name)
    sources = sorted(folder.glob("*.cpp"))
    return build_executable(name, sources, [paths.include(), folder.parent], smpicxx(), is_joined=True)


def executable(word: str) -> Path:
    """What a word of the command line names: a bundled application, or a program for SMPI."""
    if word in applications():
        return application(word)
    found = shutil.which(word)
    if found is None:
        known = ", ".join(applications())
        raise UsageError(f"{word}: no such program, nor a bundled application ({known})")
    path = Path(found).resolve()
    if b"libsimgrid" not in path.read_bytes():
        raise UsageError(
            f"{word}: is not compiled for SMPI: compile it with smpicc, smpicxx or smpif90 in "
            "place of mpicc, or name a profile to be replayed"
        )
    return path


def _tool(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise ComponentError(_MISSING.format(name))
    return Path(found)
