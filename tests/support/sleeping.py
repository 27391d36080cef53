"""Ranks of Debian's MPICH 4.0 print whole lines, and sleep while they wait instead of polling."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from functools import cache
from pathlib import Path


def sleeping(compiler: Path) -> dict[str, str]:
    """Return the environment that preloads sleeping.c."""
    return {"LD_PRELOAD": str(_built(compiler))}


@cache
def _built(compiler: Path) -> Path:
    source = Path(__file__).with_suffix(".c")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    library = source.parents[2] / "build" / "tests" / f"libsleeping-{digest}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            made = Path(scratch) / library.name
            subprocess.run([compiler, "-shared", "-fPIC", "-O2", source, "-o", made], check=True)
            made.replace(library)
    return library
