"""Many runs: their history, suspect hosts, and symbols in profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.runs.kept_symbols import keep_symbols as keep_symbols

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
