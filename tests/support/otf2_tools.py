"""What tests of OTF2 need of this machine."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

from haloscope.base.errors import ComponentError
from haloscope.explain.export._otf2_library import find_otf2
from support.missing import missing

__all__ = ["SYSTEM_PYTHON", "need_otf2"]

# Debian's, which has the reader.
SYSTEM_PYTHON = "/usr/bin/python3"
_INSTALL = "apt-get install libopen-trace-format2-dev otf2-tools python3-otf2"


@cache
def _is_there() -> bool:
    try:
        find_otf2()
        reader = subprocess.run([SYSTEM_PYTHON, "-c", "import otf2"], capture_output=True, check=False)
    except (ComponentError, OSError):
        return False
    return reader.returncode == 0 and shutil.which("otf2-print") is not None


def need_otf2() -> None:
    """Skip the test unless OTF2's library, its printer and its reader are there."""
    if not _is_there():
        missing(f"no OTF2: {_INSTALL}")
