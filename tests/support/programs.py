"""Small MPI programs, compiled once per MPI library. They are kept in `build` until their contents change."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from support.missing import impossible, missing
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program

_WRAPPERS = {".c": "mpicc", ".cpp": "mpicxx", ".cc": "mpicxx"}


def mpifort(mpi: Mpi) -> Path:
    """Return an MPI's wrapper for Fortran, which wheels do not have."""
    if mpi.mpifort is None and mpi.name.endswith("-wheel"):
        impossible(f"{mpi.name} has no Fortran")
    if mpi.mpifort is None or not shutil.which("gfortran"):
        missing(f"{mpi.name} has no Fortran compiler: apt-get install gfortran")
    return mpi.mpifort


class Compiler:
    """Compiles sources with an MPI's own wrapper; the same source and flags only once.

    Workers share compiled programs. Each runs it by a name of its own, as tests look for processes.
    """

    def __init__(self, directory: Path) -> None:
        self._directory, self._shared = directory, CHECKOUT / "build" / "tests" / "programs"

    def __call__(self, mpi: Mpi, source: Path, flags: Sequence[str] = ()) -> Path:
        """The executable. Flags go after the source, so libraries may stand among them."""
        wrapper = mpifort(mpi) if source.suffix == ".f90" else getattr(mpi, _WRAPPERS[source.suffix])
        linked = [_contents(Path(flag)) for flag in flags if flag.startswith("/") and Path(flag).is_file()]
        identity = [_compiler(wrapper, mpi), _includes(), str(source), source.read_text(), *flags, *linked]
        digest = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:12]
        target = self._directory / digest / source.stem
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            include = f"-I{CHECKOUT / 'include'}"
            command = [wrapper, "-g", "-O1", include, str(source), "-o", source.stem, *flags]
            shutil.copy(self._compiled(digest, source.stem, command, mpi), target)
        return target

    def _compiled(self, digest: str, name: str, command: Sequence[str | Path], mpi: Mpi) -> Path:
        # Each in its own directory: gfortran writes modules into the working directory.
        directory = self._shared / digest
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = directory / "made"
            if not made.exists():
                scratch = directory / "scratch"
                shutil.rmtree(scratch, ignore_errors=True)
                scratch.mkdir()
                run_program(command, env=mpi.environment(), cwd=scratch)
                scratch.rename(made)
        return made / name

    def text(self, mpi: Mpi, name: str, text: str, flags: Sequence[str] = ()) -> Path:
        """The same from a text; `name` is a file name whose suffix gives the language."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        source = self._shared / "sources" / digest / name
        source.parent.mkdir(parents=True, exist_ok=True)
        if not source.exists():
            new = source.with_name(f".{os.getpid()}")
            new.write_text(text)
            new.replace(source)
        return self(mpi, source, flags)


@cache
def _includes() -> str:
    """Return a digest of all files that a program may include."""
    found = hashlib.sha256()
    for path in sorted(_included()):
        found.update(f"{path}\0{_contents(path)}".encode())
    return found.hexdigest()


def _included() -> Iterator[Path]:
    for folder in ("include", "src", "apps", "tests"):
        for suffix in ("h", "hpp", "cpp") if folder == "src" else ("h", "hpp"):
            yield from (CHECKOUT / folder).rglob(f"*.{suffix}")


def _contents(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _compiler(wrapper: Path, mpi: Mpi) -> str:
    """Return what changes when an MPI or its compiler is replaced."""
    shown = run_program([wrapper, "-v"], env=mpi.environment(), status=None)
    return f"{wrapper}\0{_contents(mpi.library)}\0{shown.stderr.splitlines()[-1:]}"


def without_builds(stderr: str) -> str:
    """Return the output of a command without lines on builds, which the first command prints."""
    lines = stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("haloscope: building "))
