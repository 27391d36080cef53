"""Build of the finite elements and the application `poisson`, cached."""

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
    """The files of one build, and the compiler options of programs that use them."""

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
        return ["-std=c++20", "-march=native", *make_fem_flags(self.p4est, self.petsc)]

    @property
    def link_flags(self) -> list[str]:
        archives = [str(path) for name in _LIBRARIES if (path := self.directory / name).is_file()]
        petsc, prefix = self.petsc.library, self.p4est.prefix
        directories = [] if prefix == Path("/usr") else [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib"]
        return [*archives, *directories, "-lp4est", "-lsc", str(petsc), f"-Wl,-rpath,{petsc.parent}"]


def build_fem(quiet: bool = False) -> Fem:
    """Return the library and the application, from the cache or a new build.

    Raises:
        ComponentError: p4est or PETSc is missing, or was built for a different MPI than the compiler's.
    """
    p4est, petsc = find_p4est(), find_petsc()
    compiler = toolchain().compiler
    _require_same_mpi(compiler, petsc)
    directory = build_once(
        f"fem-{_make_key(compiler, p4est, petsc)}",
        lambda to: _build(compiler, p4est, petsc, to),
        f"{_WHAT} with {compiler}",
        quiet,
    )
    return Fem(directory, compiler, p4est, petsc)


def _require_same_mpi(compiler: Path, petsc: Petsc) -> None:
    library = find_installed_library(compiler)
    if library is not None and petsc.abi is not None and library.abi != petsc.abi:
        raise ComponentError(
            f"{petsc.configured}: this PETSc was built with {petsc.abi}, but {compiler} is of "
            f"{library.abi}: put the compiler of that MPI first on PATH, or set PETSC_DIR"
        )


def _make_key(compiler: Path, p4est: P4est, petsc: Petsc) -> str:
    files = [
        path
        for folder in _list_folders()
        for path in folder.rglob("*")
        if path.suffix in _SOURCES and path.is_file()
    ]
    configured = petsc.includes[1] / "petscconf.h"
    return fingerprint(
        [*files, configured, p4est.include / "p4est_config.h"],
        compiler_identity(str(compiler)),
        str(compiler),
        str(petsc.library),
        _read_processor_features(),
    )


def _list_folders() -> list[Path]:
    parts = (("src", "fem"), ("src", "hide", "overlap"), ("apps", "poisson"), ("apps", "common"))
    return [paths.include(), *(paths.source(*part) for part in parts)]


def _read_processor_features() -> str:
    """Return the features of the processor, for which the build is optimised."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def make_fem_flags(p4est: P4est | None = None, petsc: Petsc | None = None) -> list[str]:
    """Return the compiler's options for the headers of src/fem, p4est and PETSc.

    Components that are not given are searched. Raises `ComponentError` if one is missing.
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
    for name in ("poisson", *_LIBRARIES):
        for path in filter(Path.is_file, build.rglob(name)):
            shutil.move(path, directory / name)
    shutil.rmtree(build)
