"""Headers that the recorder's build makes of declarations in Python, for tests that compile parts of it."""

from __future__ import annotations

import runpy
from pathlib import Path

from support.mpi import CHECKOUT


def write_headers(directory: Path) -> Path:
    """Write them below the directory, which is then an include path; return it."""
    headers = runpy.run_path(str(CHECKOUT / "src" / "watch" / "declared.py"))["headers"]
    for name, text in headers().items():
        file = directory / "watch" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return directory
