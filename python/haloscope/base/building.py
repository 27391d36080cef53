"""Builds recorders, libraries and applications from the sources of Haloscope, once, into the cache."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from haloscope.base import paths
from haloscope.base.cache import build_once, cache, fingerprint, is_whole, tell
from haloscope.base.errors import ComponentError, RecorderError
from haloscope.base.headers import Headers
from haloscope.base.known_builds import KnownBuild
from haloscope.base.mpi import find_installed_library
from haloscope.base.objects import MpiLibrary
from haloscope.base.prebuilt import SOURCES, Prebuilt, find_prebuilt, source_mark, unpack_prebuilt
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

_FLAGS = ("-O3", "-std=c++20")
# Without MPI's C++ interface: C programs can then link this object, too.
_LIBRARY_FLAGS = (*_FLAGS, "-fPIC", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
_SOURCES = {".cpp", ".hpp", ".h"}
_WITH_HYPRE = frozenset({"amg"})
# Kinds of libraries with another name in messages.
_NAMES = {"shm": "shm library"}


def applications(with_libraries: bool = False) -> list[str]:
    """Return the names of the bundled applications, with or without those that also need hypre."""
    folders = [path.parent for path in (paths.root() / "apps").glob("*/main.cpp")]
    names = sorted(path.name for path in folders if not (path / "CMakeLists.txt").is_file())
    return [name for name in names if with_libraries or name not in _WITH_HYPRE]


def build_application(name: str, quiet: bool = False) -> Path:
    """Return the executable of a bundled application, from the cache or compiled now.

    Raises `ComponentError` if it needs hypre, and hypre is missing or built for a different MPI.
    """
    folder = paths.source("apps", name)
    sources = sorted(folder.glob("*.cpp"))
    options = hypre_options(toolchain().compiler) if name in _WITH_HYPRE else []
    includes = [paths.source("apps"), paths.include()]
    return build_executable(name, sources, includes, quiet=quiet, options=options, is_joined=True)


def hypre_options(compiler: Path) -> list[str]:
    """Return the options with which a compiler wrapper builds programs that use hypre.

    Raises `ComponentError` if hypre is missing or built for a different MPI.
    """
    hypre, mpi = find_hypre(), find_installed_library(compiler)
    if mpi is not None and hypre.abi is not None and mpi.abi != hypre.abi:
        raise ComponentError(
            f"{hypre.library}: this hypre was built with {hypre.abi}, and {compiler} is {mpi.abi}'s: "
            f"put the compiler of that MPI first on PATH, or set HYPRE_DIR"
        )
    # With -isystem, the compiler's own /usr/include would move in front of directories that must come first.
    include = [] if hypre.include == Path("/usr/include") else ["-isystem", str(hypre.include)]
    return [*include, str(hypre.library), f"-Wl,-rpath,{hypre.library.parent}", "-lm"]


def build_executable(
    name: str,
    sources: Sequence[Path],
    includes: Sequence[Path],
    compiler: Path | None = None,
    quiet: bool = False,
    options: Sequence[str] = (),
    *,
    is_joined: bool = False,
) -> Path:
    """Return an executable built from `sources`, from the cache or compiled now by `compiler`.

    Args:
        name: File name of the executable.
        sources: C++ files.
        includes: Include path. A change in any header below it causes a new build. A header of a package
            of `src` is included by its path from `src`.
        compiler: Compiler wrapper; the default is that of the MPI in use.
        quiet: Print no line while building.
        options: More words for the compiler, such as libraries.
        is_joined: Compile all sources as one file, which takes half of the time. The last one comes last.
    """
    compiler = compiler or toolchain().compiler
    depends = [p for f in includes for p in f.rglob("*") if p.suffix in _SOURCES and p.is_file()]
    key = fingerprint(depends, name, *_FLAGS, *options, str(compiler), wrapper_identity(compiler))
    target = f"{name}-{key}"
    words = [str(compiler), *_FLAGS]
    path = dict.fromkeys(_root_of(folder) for folder in includes)
    words += [word for folder in path for word in ("-I", str(folder))]
    *others, last = map(str, sources)
    words += [word for path in others for word in ("-include", path)] if is_joined else others
    words += [last, *options, "-ldl"]  # a library of its own before glibc 2.34
    what = f"building {name} with {compiler}"
    return build_once(target, lambda to: _compile(words, to / name), what, quiet) / name


def build_object(name: str, folder: Path, quiet: bool = False) -> Path:
    """Return all sources of a folder as one object file, from the cache or compiled now."""
    compiler = toolchain().compiler
    sources = [p for p in folder.iterdir() if p.suffix in _SOURCES]
    places = (paths.include(), paths.source("src", "interpose"))
    headers = [p for place in places for p in place.rglob("*") if p.suffix in _SOURCES]
    key = fingerprint([*sources, *headers], *_LIBRARY_FLAGS, str(compiler), wrapper_identity(compiler))
    target = f"{name}-{key}"
    made = f"haloscope-{name}.o"
    what = f"building the {name} library with {compiler}"
    build = build_once(target, lambda to: _compile_object(compiler, folder, to / made), what, quiet)
    return build / made


def build_preload(
    kind: str, headers: Headers, made: Sequence[str], sources: Sequence[Path], quiet: bool = False
) -> Path:
    """Return the directory of a preloaded library: ready-made, from the cache or built now.

    Args:
        kind: Such as `recorder` or `shm`.
        headers: The MPI to build for.
        made: Files that the build makes.
        sources: The first directory is built; the build depends on the others as well.
        quiet: Print no line while building.

    Raises:
        RecorderError: If it cannot be built.
    """
    name = _compiler_name()
    known = KnownBuild(kind, _list_deciding(headers, sources, name), repr(headers), own_version(), name)
    directory = known.find()
    if directory is None:
        directory, is_fitting = _find_or_build(kind, headers, made, sources, quiet)
        if is_fitting:
            known.keep(directory)
    return directory


def _list_deciding(headers: Headers, sources: Sequence[Path], compiler_name: str) -> list[Path]:
    """Return the files that decide which build fits: those that `_find_or_build` reads."""
    library = [headers.library] if headers.library else []
    declared = [path for folder in headers.directories[:1] for path in sorted(folder.glob("mpi*.h"))]
    compilers = [Path(compiler_name)] if compiler_name else []
    return [*sources, *library, *declared, paths.prebuilt(), *compilers]


def _compiler_name() -> str:
    try:
        return compiler()
    except RecorderError:
        return ""


def _find_or_build(
    kind: str, headers: Headers, made: Sequence[str], sources: Sequence[Path], quiet: bool
) -> tuple[Path, bool]:
    """Return the directory of a build, and whether it knows all functions of the MPI."""
    ready = _ready(kind, headers, sources)
    if ready is not None and not ready.unseen:
        return unpack_prebuilt(kind, ready), True
    called = _NAMES.get(kind, kind)
    what = f"building the {called} for {headers.product}"
    log = cache() / f"{kind}-build.log"
    try:
        name = preload_name(kind, headers, sources)

        def build(directory: Path) -> None:
            _build(headers, sources[0], directory, made, what, log)
            (directory / SOURCES).write_text(source_mark(kind, _files(sources)), encoding="ascii")

        return build_once(name, build, what, quiet), True
    except RecorderError as error:
        if ready is None:
            raise
        if not quiet:
            tell(
                f"the {called} is the one built for {ready.product}: it does not see {len(ready.unseen)} "
                f"functions of this MPI, such as {ready.unseen[0]}; building one for it failed: {error}"
            )
        return unpack_prebuilt(kind, ready), False


def is_ready(kind: str, headers: Headers, sources: Sequence[Path]) -> bool:
    """Return whether nothing has to be built for these headers: the library is ready-made or in the cache."""
    ready = _ready(kind, headers, sources)
    if ready is not None and not ready.unseen:
        return True
    return is_whole(cache() / preload_name(kind, headers, sources))


def _ready(kind: str, headers: Headers, sources: Sequence[Path]) -> Prebuilt | None:
    # Headers that the user named get a build of their own: no library shows which functions they have.
    if headers.library is None:
        return None
    return find_prebuilt(kind, MpiLibrary(headers.abi, headers.library), _files(sources))


def build_with_cmake(
    source: Path, directory: Path, made: Sequence[str], definitions: Sequence[str], what: str, log: Path
) -> None:
    """Build the project in `source`, and move the files `made` to `directory`."""
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
    """Return the name in the cache of a build of these files and directories with these headers."""
    if not headers.directories:
        raise RecorderError(f"{headers.product}: no headers to build a {kind} with, see haloscope doctor")
    declared = [path for path in headers.directories[0].glob("mpi*.h") if path.is_file()]
    try:
        identity = compiler_identity(compiler())
    except RecorderError as error:
        raise RecorderError(f"no {kind} for {headers.product} yet, and it cannot be built: {error}") from None
    key = fingerprint([*_files(places), *declared], headers.abi, own_version(), identity)
    return f"{kind}-{headers.abi}-{key}"


def _files(places: Iterable[Path]) -> list[Path]:
    return [
        path
        for path_or_folder in places
        for path in ([path_or_folder] if path_or_folder.is_file() else path_or_folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]


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
    """Return the include path of a folder: `src` for a package of `src`, else the folder."""
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
