"""The page and the summary of a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.reporting.flame import make_flame_boxes as make_flame_boxes

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
