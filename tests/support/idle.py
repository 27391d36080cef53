"""What ranks do that wait for each other: sleep, but where their time is measured."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

__all__ = ["polling", "sleeping"]

_POLLS = "HALOSCOPE_TEST_POLLS"


@contextmanager
def polling(wanted: bool) -> Iterator[None]:
    """Within it, ranks poll as those of users do, if that is wanted."""
    if wanted:
        os.environ[_POLLS] = "1"
    try:
        yield
    finally:
        os.environ.pop(_POLLS, None)


def sleeping(compiler: Path) -> dict[str, str]:
    """The environment in which ranks of an MPICH that cannot yield sleep, as idle.c says."""
    return {} if _POLLS in os.environ else {"LD_PRELOAD": str(_built(compiler))}


@cache
def _built(compiler: Path) -> Path:
    source = Path(__file__).with_suffix(".c")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    library = source.parents[2] / "build" / "tests" / f"libidle-{digest}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            made = Path(scratch) / library.name
            subprocess.run([compiler, "-shared", "-fPIC", "-O2", source, "-o", made], check=True)
            made.replace(library)
    return library
