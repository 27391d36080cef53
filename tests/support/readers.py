"""Other people's programs that read what we export: they have an environment of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from support.missing import missing
from support.mpi import CHECKOUT
from support.processes import run_program

SCRIPTS = CHECKOUT / "tests" / "explain" / "readers"


def read_by(script: str, *arguments: Path | str) -> Any:
    """Return what a script of `tests/explain/readers` prints of some files as JSON."""
    directory = CHECKOUT / ".venv-others"
    if not (directory / ".ready").is_file():
        missing("no programs of others: make setup-long")
    done = run_program(
        [directory / "bin" / "python", SCRIPTS / f"{script}.py", *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return json.loads(done.stdout.splitlines()[-1])
