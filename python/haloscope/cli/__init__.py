"""The command `haloscope`: `main` runs it, `haloscope` is its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.cli.command import haloscope as haloscope
    from haloscope.cli.entry import main as main

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
