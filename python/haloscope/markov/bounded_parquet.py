"""Parquet files, read in a process of bounded memory: their pages may unpack to any size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from haloscope.base.errors import ProfileError

_OWN = 256 << 20  # bytes that the process needs without any file
# Words: the file, the file to write, the most bytes of that file and of memory, and where modules are.
_CHILD = """
import resource, sys
path, made, size, memory, *sys.path = sys.argv[1:]
import polars
limits = {resource.RLIMIT_FSIZE: int(size), resource.RLIMIT_DATA: int(memory), resource.RLIMIT_CORE: 0}
for limit, most in limits.items():
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
try:
    polars.read_parquet(path).write_ipc(made)
except Exception as error:
    sys.exit(" ".join(str(error).split()))
"""


def read_bounded_parquet(path: Path, most: int) -> pl.DataFrame:
    """Return the content of a Parquet file, of `most` bytes at most. Raises `ProfileError`."""
    with TemporaryDirectory(prefix="haloscope-parquet-") as folder:
        made = Path(folder) / "frame"
        words = [sys.executable, "-c", _CHILD, str(path), str(made), str(most), str(most + _OWN), *sys.path]
        done = subprocess.run(
            words,
            # Each thread and each arena reserves memory.
            env={**os.environ, "POLARS_MAX_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            return pl.read_ipc(made)
        # A process that was ended, or a panic, left more than the one line.
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = lines[0][:200] if len(lines) == 1 else "it is damaged, or unpacks to too much for its size"
        raise ProfileError(f"{path}: cannot be read: {reason}; write the file again")
