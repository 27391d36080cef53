"""Build the recorders before the tests: one takes a minute, only one is built at a time, and tests that wait
for several of them would run out of time. `python tests/support/ready.py`, with `tests` on Python's path.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from support.mpi import NAMES, find
from support.recorder import library


def main() -> None:
    """Entry point: what is ready already is left as it is."""
    for name in NAMES:
        mpi = find(name)
        if mpi is not None:
            print(f"the recorder for {name}", file=sys.stderr, flush=True)
            with suppress(subprocess.SubprocessError):  # a test will say what is wrong
                library(mpi, Path("/bin/true"))


if __name__ == "__main__":
    main()
