"""The command `haloscope`."""

from __future__ import annotations

from haloscope.cli._main import main

__all__ = ["main"]
