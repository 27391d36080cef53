"""SimGrid's tools, and what is compiled for it: the recorder, the replayer, the applications."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from haloscope.base import paths
from haloscope.base.building import applications, build_executable
from haloscope.base.cache import build_once, fingerprint
from haloscope.base.errors import SimulationError, UsageError
from haloscope.base.toolchain import compiler_identity
from haloscope.predict.simulate._passing import declared, passing

__all__ = ["application", "executable", "recorder", "replayer", "smpicxx", "smpirun", "version"]

_MISSING = (
    "{} not found: simulations need SimGrid with SMPI "
    "(Debian: apt-get install libsimgrid-dev; elsewhere: put SimGrid's bin directory on PATH)"
)


def smpirun() -> Path:
    """Return SimGrid's launcher."""
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


def recorder() -> Path:
    """The library that counts what simulated ranks do; it is preloaded into SMPI."""
    folder = paths.source("src", "predict", "simulate")
    name = "simulate-recorder.so"
    sources = [folder / f"{part}.cpp" for part in ("recorder", "passing", "counts", "write")]
    made = _passing(folder / "recorder.cpp")
    includes = [folder, paths.include(), made.parent]
    return build_executable(name, [*sources, made], includes, smpicxx())


def replayer() -> Path:
    """The program that replays traces and counts them."""
    return _built("simulate-replay", "replay.cpp", "counts.cpp", "write.cpp")


def application(name: str) -> Path:
    """A bundled application, compiled for SMPI."""
    folder = paths.source("apps", name)
    sources = sorted(folder.glob("*.cpp"))
    return build_executable(name, sources, [paths.include(), folder.parent], smpicxx())


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


def _passing(source: Path) -> Path:
    """The wrappers of what the recorder has none of, for this SimGrid."""
    compiler = smpicxx()
    made_by = Path(__file__).with_name("_passing.py")
    key = fingerprint([source, made_by], compiler_identity(str(compiler)))

    def make(directory: Path) -> None:
        text = passing(declared(compiler), source.read_text(encoding="utf-8"))
        (directory / "wrappers.cpp").write_text(text, encoding="ascii")

    return build_once(f"simulate-wrappers-{key}", make) / "wrappers.cpp"


def _built(name: str, *sources: str) -> Path:
    folder = paths.source("src", "predict", "simulate")
    files = [folder / source for source in sources]
    return build_executable(name, files, [folder, paths.include()], smpicxx())


def _tool(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise SimulationError(_MISSING.format(name))
    return Path(found)
