"""The command `haloscope`: `main` runs it, `haloscope` is its declaration."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.cli._main import haloscope

__all__ = ["haloscope", "main"]


def main() -> None:
    """Entry point of the command."""
    try:
        from haloscope.cli._main import _run
    except KeyboardInterrupt:  # Ctrl-C while modules are loaded: no traceback either
        sys.exit(128 + signal.SIGINT)
    sys.exit(_run(sys.argv[1:]))


if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, {"haloscope": "_main"})
