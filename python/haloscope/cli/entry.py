"""The way into the command. It loads nothing itself, so Ctrl-C while modules are loaded is no traceback."""

from __future__ import annotations

import atexit
import io
import signal
import sys


def main() -> None:
    """Entry point of the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not closed, nor replaced
            stream.reconfigure(errors="backslashreplace")  # what a terminal of ASCII cannot print
    try:
        from haloscope.cli.command import _run

        status = _run(sys.argv[1:])
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    # All is done: Ctrl-C during the interpreter's own end would print a traceback.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)
