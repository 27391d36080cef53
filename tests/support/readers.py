"""Other people's programs that read what we export: they have an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from support.missing import missing
from support.mpi import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = CHECKOUT / "tests" / "explain" / "readers"


def read_by(script: str, *arguments: Path | str, environment: str = "readers") -> Any:
    """Return what a script of `tests/explain/readers` says of some files, from its JSON."""
    python = CHECKOUT / f".venv-{environment}" / "bin" / "python"
    if not python.is_file():
        missing(f"other people's programs ({environment}) are not here: make setup-development")
    done = subprocess.run(
        [python, SCRIPTS / f"{script}.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
