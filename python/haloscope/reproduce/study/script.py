"""Runs the script of a part: `python script.py SCRIPT [ARGUMENT]...`.

A missing component ends every script in the same way, whether the script or a verb that it runs needs it: the
exit status means "not run", and the last line is the remedy.

Processes that lose their parent, such as the daemons of a launcher, become children of this one. Therefore
their time is that of the part, and not of other programs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from haloscope.base.errors import ComponentError, HaloscopeError

NOT_HERE = 4
_SET_CHILD_SUBREAPER = 36  # of prctl
_PATIENCE = 5.0  # seconds for daemons to end


def _run(script: Path) -> None:
    """Run a script as Python does, with its directory first in the search path of modules."""
    sys.path[0] = str(script.parent)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except ComponentError as error:
        _leave(str(error), NOT_HERE)
    except HaloscopeError as error:
        _leave(str(error), 1)
    except subprocess.CalledProcessError as error:
        if error.returncode != ComponentError.exit_status:
            raise
        # Output that the script did not capture is already in the log.
        _leave(_text(error.stderr), NOT_HERE)


def _leave(text: str, status: int) -> None:
    if text:
        print(text, file=sys.stderr)
    sys.exit(status)


def _text(captured: str | bytes | None) -> str:
    text = captured.decode("utf-8", "replace") if isinstance(captured, bytes) else captured or ""
    return text.strip().rpartition("\n")[2].removeprefix("haloscope: ")


@contextlib.contextmanager
def _adopt_orphans() -> Iterator[None]:
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        limit = time.monotonic() + _PATIENCE
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0] or time.monotonic() < limit:
                time.sleep(0.001)


if __name__ == "__main__":
    del sys.argv[0]
    with _adopt_orphans():
        _run(Path(sys.argv[0]))
