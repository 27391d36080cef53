"""Builds what comes with Haloscope as sources, once, into the cache."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from haloscope.base import paths
from haloscope.base.cache import build_once, cache, fingerprint
from haloscope.base.errors import ComponentError
from haloscope.base.headers import Headers
from haloscope.base.mpi import installed
from haloscope.base.toolchain import (
    build_environment,
    build_tool,
    compiler,
    compiler_identity,
    find_hypre,
    run_logged,
    toolchain,
    wrapper_identity,
)
from haloscope.base.version import own_version

__all__ = [
    "applications",
    "build_application",
    "build_executable",
    "build_object",
    "build_preload",
    "build_with_cmake",
    "hypre_options",
    "preload_name",
]

_FLAGS = ("-O3", "-std=c++20")
# MPI in C alone: C programs can link what C++ was compiled into.
_LIBRARY_FLAGS = (*_FLAGS, "-fPIC", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
_SOURCES = {".cpp", ".hpp", ".h"}
_WITH_HYPRE = frozenset({"amg"})


def applications(with_libraries: bool = False) -> list[str]:
    """Return the names of the bundled applications that need nothing but MPI, or hypre, too."""
    folders = [path.parent for path in (paths.root() / "apps").glob("*/main.cpp")]
    names = sorted(path.name for path in folders if not (path / "CMakeLists.txt").is_file())
    return [name for name in names if with_libraries or name not in _WITH_HYPRE]


def build_application(name: str, quiet: bool = False) -> Path:
    """Return the executable of a bundled application, from the cache or compiled now.

    Raises `ComponentError` if it needs hypre and that is missing, or is made for another MPI.
    """
    folder = paths.source("apps", name)
    sources = sorted(folder.glob("*.cpp"))
    options = hypre_options(toolchain().compiler) if name in _WITH_HYPRE else []
    includes = [paths.source("apps"), paths.include()]
    return build_executable(name, sources, includes, quiet=quiet, options=options)


def hypre_options(compiler: Path) -> list[str]:
    """Return what a compiler wrapper needs for programs with hypre.

    Raises `ComponentError` if hypre is missing, or is made for another MPI.
    """
    hypre, mpi = find_hypre(), installed(compiler)
    if mpi is not None and hypre.abi is not None and mpi.abi != hypre.abi:
        raise ComponentError(
            f"{hypre.library}: this hypre was built with {hypre.abi}, and {compiler} is {mpi.abi}'s: "
            f"put the compiler of that MPI first on PATH, or set HYPRE_DIR"
        )
    # The compiler's own directory, given once more, would come before what has to come before it.
    include = [] if hypre.include == Path("/usr/include") else ["-isystem", str(hypre.include)]
    return [*include, str(hypre.library), f"-Wl,-rpath,{hypre.library.parent}", "-lm"]


def build_executable(
    name: str,
    sources: Sequence[Path],
    includes: Sequence[Path],
    compiler: Path | None = None,
    quiet: bool = False,
    options: Sequence[str] = (),
) -> Path:
    """Return an executable made of `sources`, from the cache or compiled now by `compiler`.

    `options` are more words for the compiler, such as libraries.
    It is built anew when anything in `includes` has changed. They are the include path, too, but
    what is in a room of `src` is included by its name from there on.
    """
    compiler = compiler or toolchain().compiler
    depends = [p for f in includes for p in f.rglob("*") if p.suffix in _SOURCES and p.is_file()]
    key = fingerprint(depends, name, *_FLAGS, *options, str(compiler), wrapper_identity(compiler))
    target = f"{name}-{key}"
    words = [str(compiler), *_FLAGS]
    path = dict.fromkeys(_root_of(folder) for folder in includes)
    words += [word for folder in path for word in ("-I", str(folder))]
    words += [*map(str, sources), *options, "-ldl"]  # of its own before glibc 2.34
    what = f"building {name} with {compiler}"
    return build_once(target, lambda to: _compile(words, to / name), what, quiet) / name


def build_object(name: str, folder: Path, quiet: bool = False) -> Path:
    """Return all sources of a folder as one object file, from the cache or compiled now."""
    compiler = toolchain().compiler
    sources = [p for p in folder.iterdir() if p.suffix in _SOURCES]
    headers = [p for p in paths.include().rglob("*") if p.suffix in _SOURCES]
    key = fingerprint([*sources, *headers], *_LIBRARY_FLAGS, str(compiler), wrapper_identity(compiler))
    target = f"{name}-{key}"
    made = f"haloscope-{name}.o"
    what = f"building the {name} library with {compiler}"
    build = build_once(target, lambda to: _compile_object(compiler, folder, to / made), what, quiet)
    return build / made


def build_preload(
    kind: str, headers: Headers, made: Sequence[str], sources: Sequence[Path], quiet: bool = False
) -> Path:
    """Return the directory of what is preloaded before an MPI: `made`, from the cache or built now.

    It is built from the first of the directories of `sources`; the others are what it depends on.
    """
    name = preload_name(kind, headers, sources)
    what = f"building the {kind} for {headers.product}"
    log = cache() / f"{kind}-build.log"
    return build_once(name, lambda to: _build(headers, sources[0], to, made, what, log), what, quiet)


def build_with_cmake(
    source: Path, directory: Path, made: Sequence[str], definitions: Sequence[str], what: str, log: Path
) -> None:
    """Build the project in `source`, and leave what it `made` in `directory`."""
    build = directory / "build"
    environment = build_environment()
    configure = [
        build_tool("cmake"),
        "-S",
        str(source),
        "-B",
        str(build),
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={build_tool('ninja')}",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={compiler()}",
        *definitions,
    ]
    run_logged(configure, what, log, environment)
    run_logged([build_tool("cmake"), "--build", str(build)], what, log, environment)
    for name in made:
        (directory / name).parent.mkdir(exist_ok=True)
        shutil.move(build / name, directory / name)
    shutil.rmtree(build)


def preload_name(kind: str, headers: Headers, places: Iterable[Path]) -> str:
    """Return the name in the cache of what is built from these files and directories for these headers."""
    sources = [
        path
        for place in places
        for path in ([place] if place.is_file() else place.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    declared = [path for path in headers.directories[0].glob("mpi*.h") if path.is_file()]
    key = fingerprint([*sources, *declared], headers.abi, own_version(), compiler_identity(compiler()))
    return f"{kind}-{headers.abi}-{key}"


def _build(
    headers: Headers, source: Path, directory: Path, made: Sequence[str], what: str, log: Path
) -> None:
    definitions = [
        f"-DHALOSCOPE_ABI={headers.abi}",
        "-DHALOSCOPE_MPI_INCLUDE=" + ";".join(map(str, headers.directories)),
        f"-DHALOSCOPE_VERSION={own_version()}",
        f"-DPython3_EXECUTABLE={sys.executable}",
    ]
    build_with_cmake(source, directory, made, definitions, what, log)


def _root_of(folder: Path) -> Path:
    """Return where the includes of a folder begin: for a room of the sources, that is `src`."""
    sources = paths.source("src")
    return sources if folder.is_relative_to(sources) else folder


def _compile(words: list[str], executable: Path) -> None:
    log = cache() / f"{executable.name}-build.log"
    command = [*words, "-o", str(executable)]
    run_logged(command, f"building {executable.name}", log, dict(os.environ))


def _compile_object(compiler: Path, folder: Path, made: Path) -> None:
    """Compile all sources as one file, so that a program has to link one object only."""
    first, *others = sorted(str(path) for path in folder.glob("*.cpp"))
    included = [word for path in others for word in ("-include", path)]
    command = [
        str(compiler),
        *_LIBRARY_FLAGS,
        "-I",
        str(paths.include()),
        "-I",
        str(_root_of(folder)),
        *included,
        "-c",
        first,
        "-o",
        str(made),
    ]
    log = cache() / f"{made.stem}-build.log"
    run_logged(command, f"building {made.name}", log, dict(os.environ))
