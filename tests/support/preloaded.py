"""What tests preload, as faults of MPI libraries would fail them by chance on a loaded machine."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from functools import cache
from pathlib import Path

_SOURCES = {
    "openmpi-system": "launching.c",  # the launcher is not killed by SIGPIPE as it ends
    "mpich-system": "sleeping.c",  # ranks print whole lines, and sleep while they wait instead of polling
}


def preloaded(mpi: str, compiler: Path) -> dict[str, str]:
    """Return the environment that preloads what this MPI needs."""
    return {"LD_PRELOAD": str(_built(_SOURCES[mpi], compiler))} if mpi in _SOURCES else {}


@cache
def _built(name: str, compiler: Path) -> Path:
    source = Path(__file__).with_name(name)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    library = source.parents[2] / "build" / "tests" / f"lib{source.stem}-{digest}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            made = Path(scratch) / library.name
            subprocess.run([compiler, "-shared", "-fPIC", "-O2", source, "-o", made], check=True)
            made.replace(library)
    return library
