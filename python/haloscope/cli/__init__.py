"""The command `haloscope`: `main` runs it, `haloscope` is its declaration."""

from __future__ import annotations

from haloscope.cli._main import haloscope, main

__all__ = ["haloscope", "main"]
