"""Builds the finite elements and the application `poisson`, once."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from haloscope.base import paths
from haloscope.base.cache import build_once, cache, fingerprint
from haloscope.base.errors import ComponentError
from haloscope.base.mpi import find_installed_library
from haloscope.base.toolchain import (
    P4est,
    Petsc,
    build_environment,
    build_tool,
    compiler_identity,
    find_p4est,
    find_petsc,
    run_logged,
    toolchain,
)

_LIBRARIES = ("libhaloscope-fem-solve.a", "libhaloscope-fem.a", "libhaloscope-overlap.a")
_SOURCES = {".cpp", ".hpp", ".h", ".txt"}
_WHAT = "building the finite elements"


@dataclass(frozen=True)
class Fem:
    """The files of one build, and what a program that uses them is compiled with."""

    directory: Path
    compiler: Path
    p4est: P4est
    petsc: Petsc

    @property
    def poisson(self) -> Path:
        return self.directory / "poisson"

    @property
    def library(self) -> Path:
        return self.directory / "libhaloscope-fem.a"

    @property
    def compile_flags(self) -> list[str]:
        return ["-std=c++20", "-march=native", *fem_flags(self.p4est, self.petsc)]

    @property
    def link_flags(self) -> list[str]:
        made = [str(path) for name in _LIBRARIES if (path := self.directory / name).is_file()]
        petsc, prefix = self.petsc.library, self.p4est.prefix
        places = [] if prefix == Path("/usr") else [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"]
        return [*made, *places, "-lp4est", "-lsc", str(petsc), f"-Wl,-rpath,{petsc.parent}"]


def build_fem(quiet: bool = False) -> Fem:
    """Return the library and the application, from the cache or built now.

    Raises `ComponentError` if p4est or PETSc is missing, or is made for another MPI than the compiler.
    """
    p4est, petsc = find_p4est(), find_petsc()
    compiler = toolchain().compiler
    _require_same_mpi(compiler, petsc)
    directory = build_once(
        f"fem-{_key(compiler, p4est, petsc)}",
        lambda to: _build(compiler, p4est, petsc, to),
        f"{_WHAT} with {compiler}",
        quiet,
    )
    return Fem(directory, compiler, p4est, petsc)


def _require_same_mpi(compiler: Path, petsc: Petsc) -> None:
    library = find_installed_library(compiler)
    if library is not None and petsc.abi is not None and library.abi != petsc.abi:
        raise ComponentError(
            f"{petsc.configured}: this PETSc was built with {petsc.abi}, and {compiler} is "
            f"{library.abi}'s: put the compiler of that MPI first on PATH, or set PETSC_DIR"
        )


def _key(compiler: Path, p4est: P4est, petsc: Petsc) -> str:
    files = [
        path
        for folder in _folders()
        for path in folder.rglob("*")
        if path.suffix in _SOURCES and path.is_file()
    ]
    configured = petsc.includes[1] / "petscconf.h"
    return fingerprint(
        [*files, configured, p4est.include / "p4est_config.h"],
        compiler_identity(str(compiler)),
        str(compiler),
        str(petsc.library),
        _processor(),
    )


def _folders() -> list[Path]:
    parts = (("src", "fem"), ("src", "hide", "overlap"), ("apps", "poisson"), ("apps", "common"))
    return [paths.include(), *(paths.source(*part) for part in parts)]


def _processor() -> str:
    """Return what the processor can do, as the build is for this one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def fem_flags(p4est: P4est | None = None, petsc: Petsc | None = None) -> list[str]:
    """Return a compiler's options for the headers of src/fem, and of p4est and PETSc.

    Components that are not given are looked for. Raises `ComponentError` if one is missing.
    """
    own = [paths.include(), paths.source("src")]
    others = [*(petsc or find_petsc()).includes, (p4est or find_p4est()).include]
    system = [path for path in dict.fromkeys(others) if path != Path("/usr/include")]
    words = [("-I", path) for path in own] + [("-isystem", path) for path in system]
    return [str(word) for pair in words for word in pair]


def _build(compiler: Path, p4est: P4est, petsc: Petsc, directory: Path) -> None:
    build, log = directory / "build", cache() / "fem-build.log"
    configure = [
        build_tool("cmake"),
        "-S",
        str(paths.source("apps", "poisson")),
        "-B",
        str(build),
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={build_tool('ninja')}",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DPETSC_INCLUDE={petsc.includes[0]}",
        f"-DPETSC_CONFIGURED={petsc.includes[1]}",
        f"-DPETSC_LIBRARY={petsc.library}",
    ]
    environment = build_environment() | {"P4EST_DIR": str(p4est.prefix)}
    run_logged(configure, _WHAT, log, environment)
    run_logged([build_tool("cmake"), "--build", str(build)], _WHAT, log, environment)
    for made in ("poisson", *_LIBRARIES):
        for path in filter(Path.is_file, build.rglob(made)):
            shutil.move(path, directory / made)
    shutil.rmtree(build)
