"""Builds the recorder for an MPI, once."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
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
    is_whole,
    run_logged,
)
from haloscope.watch._headers import Headers

__all__ = [
    "Recorder",
    "build_environment",
    "build_preload",
    "build_recorder",
    "build_tool",
    "build_with_cmake",
    "built_recorders",
    "compiler",
    "is_built",
]


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
    made = ("libhaloscope-watch.so", "haloscope-join")
    return Recorder(build_preload("recorder", headers, made, _sources(), quiet))


def build_preload(
    kind: str, headers: Headers, made: Sequence[str], sources: Sequence[Path], quiet: bool = False
) -> Path:
    """The directory of what is preloaded before an MPI: `made`, from the cache or built now.

    It is built from the first of the directories of `sources`; the others are what it depends on.
    """
    name = _library_name(kind, headers, sources)
    what = f"building the {kind} for {headers.product}"
    log = cache() / f"{kind}-build.log"
    return build_once(
        name, lambda to: _build(headers, sources[0], to, made, what, log), what, quiet
    )


def built_recorders() -> list[Recorder]:
    """All recorders in the cache, the newest first."""
    found = [Recorder(directory) for directory in cache().glob("recorder-*-*")]
    made = [recorder for recorder in found if is_whole(recorder.directory)]
    return sorted(made, key=lambda made: made.join.stat().st_mtime_ns, reverse=True)


def is_built(headers: Headers) -> bool:
    """True if the cache has the recorder for these headers already."""
    return is_whole(cache() / _library_name("recorder", headers, _sources()))


def compiler() -> str:
    """The C++ compiler: `$CXX`, else the first on PATH."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise RecorderError(
        "no C++ compiler found: install one (Debian: apt-get install g++), or name it in CXX"
    )


def _sources() -> list[Path]:
    return [_paths.source("src", "watch"), _paths.source("src", "interpose"), _paths.include()]


def _library_name(kind: str, headers: Headers, directories: Iterable[Path]) -> str:
    """The name in the cache of what is built from these directories for these headers."""
    sources = [
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    declared = [path for path in headers.directories[0].glob("mpi*.h") if path.is_file()]
    key = fingerprint(
        [*sources, *declared], headers.abi, version("haloscope"), compiler_identity(compiler())
    )
    return f"{kind}-{headers.abi}-{key}"


def _build(
    headers: Headers, source: Path, directory: Path, made: Sequence[str], what: str, log: Path
) -> None:
    definitions = [
        f"-DHALOSCOPE_ABI={headers.abi}",
        "-DHALOSCOPE_MPI_INCLUDE=" + ";".join(map(str, headers.directories)),
        f"-DHALOSCOPE_VERSION={version('haloscope')}", f"-DPython3_EXECUTABLE={sys.executable}",
    ]  # fmt: skip
    build_with_cmake(source, directory, made, definitions, what, log)


def build_with_cmake(
    source: Path,
    directory: Path,
    made: Sequence[str],
    definitions: Sequence[str],
    what: str,
    log: Path,
) -> None:
    """Build the project in `source`, and leave what it `made` in `directory`."""
    build = directory / "build"
    environment = build_environment()
    configure = [
        build_tool("cmake"), "-S", str(source), "-B", str(build), "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={build_tool('ninja')}", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={compiler()}", *definitions,
    ]  # fmt: skip
    run_logged(configure, what, log, environment)
    run_logged([build_tool("cmake"), "--build", str(build)], what, log, environment)
    for name in made:
        shutil.move(build / name, directory / name)
    shutil.rmtree(build)


def build_tool(name: str) -> str:
    """CMake and Ninja come with this Python environment; the system's will do as well."""
    own = Path(sys.prefix) / "bin" / name
    found = str(own) if own.is_file() else shutil.which(name)
    if found is None:
        raise RecorderError(f"{name} not found: install it (pip install {name})")
    return found


def build_environment() -> dict[str, str]:
    """The user's environment without what would change or watch the build itself."""
    dropped = {"LD_PRELOAD", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "DESTDIR"}
    return {name: value for name, value in os.environ.items() if name not in dropped}
