"""The recorder without `haloscope run`: preloaded and joined by hand."""

from __future__ import annotations

import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

from support.mpi import Mpi
from support.processes import run_program


@cache
def library(mpi: Mpi) -> Path:
    """Return the library to preload, which is built if need be."""
    done = run_program(
        [Path(sys.executable).with_name("haloscope"), "env", "--", *mpi.launch(1), "/bin/true"],
        env=mpi.environment(),
    )
    words = [word for word in shlex.split(done.stdout) if word.startswith("LD_PRELOAD=")]
    return Path(words[0].partition("=")[2].split(":")[0])


def join(recorder: Path, records: Path, profile: Path) -> subprocess.CompletedProcess[str]:
    """Make a profile of live records with the joiner that belongs to a recorder."""
    return run_program([recorder.with_name("haloscope-join"), records, profile])
