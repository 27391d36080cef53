"""SimGrid's tools, and the builds for it: recorder, replayer and applications."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from haloscope.base import paths
from haloscope.base.building import applications, build_executable, build_preload
from haloscope.base.errors import ComponentError, UsageError
from haloscope.base.headers import Headers
from haloscope.base.tools import read_answer
from haloscope.watch import recorder_sources

_MISSING = (
    "{} not found: simulations need SimGrid with SMPI "
    "(Debian: apt-get install libsimgrid-dev; elsewhere: put SimGrid's bin directory on PATH)"
)


def find_smpirun() -> Path:
    """Return the path of SimGrid's launcher. Raises `ComponentError` if it is missing."""
    return _find_tool("smpirun")


def find_smpicxx() -> Path:
    """Return the path of SimGrid's C++ compiler wrapper. Raises `ComponentError` if it is missing."""
    return _find_tool("smpicxx")


@cache
def find_version() -> str:
    """Return SimGrid's version, such as `3.32`; empty if unknown."""
    words = (read_answer(str(find_smpirun()), "-version") or "").split()
    return next((word for word in words if word[0].isdigit()), "")


@dataclass(frozen=True)
class SimulationBuild:
    """The libraries and programs of a simulation, in a directory of the cache."""

    directory: Path

    @property
    def recorder(self) -> Path:
        """The recorder, for SMPI's interface."""
        return self.directory / "libhaloscope-watch.so"

    @property
    def before_smpi(self) -> Path:
        """The library that is preloaded before SMPI in every simulation."""
        return self.directory / "libhaloscope-before-smpi.so"

    @property
    def replayer(self) -> Path:
        """The program that replays traces, including the recorder."""
        return self.directory / "haloscope-replay"


def build_simulation() -> SimulationBuild:
    """Return the libraries and programs of a simulation, from the cache or a new build."""
    include = find_smpicxx().resolve().parent.parent / "include" / "smpi"
    headers = Headers("simgrid", (include,), f"SimGrid SMPI {find_version()}", (3, 1))
    what = SimulationBuild(Path())
    names = [path.name for path in (what.recorder, what.before_smpi, what.replayer)]
    folders = [paths.source("src", "predict", name) for name in ("simulate", "latencies")]
    sources = [*folders, *recorder_sources()]
    return SimulationBuild(build_preload("simulation", headers, names, sources))


def build_application(name: str) -> Path:
    """Return a bundled application, compiled for SMPI."""
    folder = paths.source("apps", name)
    sources = sorted(folder.glob("*.cpp"))
    return build_executable(name, sources, [paths.include(), folder.parent], find_smpicxx(), is_joined=True)


def find_executable(word: str) -> Path:
    """Return the path of a bundled application, or of a program that was compiled for SMPI."""
    if word in applications():
        return build_application(word)
    found = shutil.which(word)
    if found is None:
        known = ", ".join(applications())
        raise UsageError(f"{word}: no such program, and not a bundled application ({known})")
    path = Path(found).resolve()
    if b"libsimgrid" not in path.read_bytes():
        raise UsageError(
            f"{word}: is not compiled for SMPI: compile it with smpicc, smpicxx or smpif90 instead "
            "of mpicc, or give a profile to replay"
        )
    return path


def _find_tool(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise ComponentError(_MISSING.format(name))
    return Path(found)
