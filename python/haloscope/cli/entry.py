"""The way into the command. It loads nothing itself, so Ctrl-C while modules are loaded is no traceback."""

from __future__ import annotations

import atexit
import signal
import sys


def main() -> None:
    """Entry point of the command."""
    try:
        from haloscope.cli.command import _run

        status = _run(sys.argv[1:])
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    # All is done: Ctrl-C during the interpreter's own end would print a traceback.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)
