"""Export: profiles and traces in formats that other programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.export.aliases import Aliases, AnonymousProfile, anonymous_trace
    from haloscope.explain.export.exporter import export, exported
    from haloscope.explain.export.exports import EXPORTS, Format
    from haloscope.explain.export.traced import Profiles, Traced

__all__ = [
    "EXPORTS",
    "Aliases",
    "AnonymousProfile",
    "Format",
    "Profiles",
    "Traced",
    "anonymous_trace",
    "export",
    "exported",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Aliases": "_aliases",
            "AnonymousProfile": "_aliases",
            "EXPORTS": "_exports",
            "Format": "_exports",
            "Profiles": "_traced",
            "Traced": "_traced",
            "anonymous_trace": "_aliases",
            "export": "_export",
            "exported": "_export",
        },
    )
