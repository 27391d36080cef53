"""Small MPI programs, compiled once a test session for each MPI library."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.mpi import CHECKOUT, Mpi

__all__ = ["Compiler"]

_WRAPPERS = {".c": "mpicc", ".cpp": "mpicxx", ".cc": "mpicxx", ".f90": "mpifort"}


class Compiler:
    """Compiles sources with an MPI's own wrapper; the same source and flags only once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __call__(self, mpi: Mpi, source: Path, flags: Sequence[str] = ()) -> Path:
        """The executable. Flags go after the source, so libraries may stand among them."""
        wrapper = getattr(mpi, _WRAPPERS[source.suffix])
        if wrapper is None:
            raise LookupError(f"{mpi.name} has no wrapper for {source.suffix}")
        identity = "\0".join([mpi.name, str(source), source.read_text(), *flags])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
        # Each in its own directory: gfortran writes modules into the working directory.
        target = self._directory / digest / source.stem
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            include = f"-I{CHECKOUT / 'include'}"
            command = [wrapper, "-g", "-O1", include, str(source), "-o", str(target), *flags]
            _compile(command, target.parent, mpi)
        return target

    def text(self, mpi: Mpi, name: str, text: str, flags: Sequence[str] = ()) -> Path:
        """The same from a text; `name` is a file name whose suffix tells the language."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        source = self._directory / "sources" / digest / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        return self(mpi, source, flags)


def _compile(command: Sequence[str | Path], directory: Path, mpi: Mpi) -> None:
    done = subprocess.run(
        command, cwd=directory, env=mpi.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")
