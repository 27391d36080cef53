"""Builds the recorder for an MPI, once."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from haloscope import _paths
from haloscope._errors import RecorderError
from haloscope.watch._cache import (
    build_once,
    cache,
    compiler_identity,
    fingerprint,
    progress,
    run_logged,
)
from haloscope.watch._headers import Headers

__all__ = ["Recorder", "build_recorder", "built_recorders", "compiler", "is_built"]


@dataclass(frozen=True)
class Recorder:
    """The files of one build."""

    directory: Path

    @property
    def library(self) -> Path:
        return self.directory / "libhaloscope-watch.so"

    @property
    def join(self) -> Path:
        return self.directory / "haloscope-join"


def build_recorder(headers: Headers, quiet: bool = False) -> Recorder:
    """The recorder for these headers, from the cache or built now."""
    name = _name(headers)
    if not (cache() / name).is_dir():
        with progress(f"building the recorder for {headers.product} (once) …", quiet):
            return Recorder(build_once(name, lambda directory: _build(headers, directory)))
    return Recorder(cache() / name)


def built_recorders() -> list[Recorder]:
    """All recorders in the cache, the newest first."""
    found = [Recorder(directory) for directory in cache().glob("recorder-*-*")]
    made = [recorder for recorder in found if recorder.join.is_file()]
    return sorted(made, key=lambda made: made.join.stat().st_mtime_ns, reverse=True)


def is_built(headers: Headers) -> bool:
    """True if the cache has the recorder for these headers already."""
    return (cache() / _name(headers)).is_dir()


def compiler() -> str:
    """The C++ compiler: `$CXX`, else the first on PATH."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise RecorderError(
        "no C++ compiler found: install one (Debian: apt-get install g++), or name it in CXX"
    )


def _name(headers: Headers) -> str:
    sources = [
        path
        for directory in (_paths.source("src", "watch"), _paths.include())
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    declared = [path for path in headers.directories[0].glob("mpi*.h") if path.is_file()]
    key = fingerprint(
        [*sources, *declared], headers.abi, version("haloscope"), compiler_identity(compiler())
    )
    return f"recorder-{headers.abi}-{key}"


def _build(headers: Headers, directory: Path) -> None:
    build = directory / "build"
    what = f"building the recorder for {headers.product}"
    log = cache() / "recorder-build.log"
    environment = _build_environment()
    configure = [
        _tool("cmake"), "-S", str(_paths.source("src", "watch")), "-B", str(build), "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={compiler()}", f"-DHALOSCOPE_ABI={headers.abi}",
        "-DHALOSCOPE_MPI_INCLUDE=" + ";".join(map(str, headers.directories)),
        f"-DHALOSCOPE_VERSION={version('haloscope')}", f"-DPython3_EXECUTABLE={sys.executable}",
    ]  # fmt: skip
    run_logged(configure, what, log, environment)
    run_logged([_tool("cmake"), "--build", str(build)], what, log, environment)
    made = Recorder(directory)
    for file in (made.library, made.join):
        shutil.move(build / file.name, file)
    shutil.rmtree(build)


def _tool(name: str) -> str:
    """CMake and Ninja come with this Python environment; the system's will do as well."""
    own = Path(sys.prefix) / "bin" / name
    found = str(own) if own.is_file() else shutil.which(name)
    if found is None:
        raise RecorderError(f"{name} not found: install it (pip install {name})")
    return found


def _build_environment() -> dict[str, str]:
    """The user's environment without what would change or watch the build itself."""
    dropped = {"LD_PRELOAD", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "DESTDIR"}
    return {name: value for name, value in os.environ.items() if name not in dropped}
