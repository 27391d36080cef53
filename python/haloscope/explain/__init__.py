"""Explain: profiles as tables, and tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain._instances import Instances
    from haloscope.explain._kernels import library as native_library
    from haloscope.explain._page import page, report, write_page
    from haloscope.explain._profile import Ensemble, Profile, open_all
    from haloscope.explain._profile import open_profile as open
    from haloscope.explain._render import FORMATS, render
    from haloscope.explain._summary import summary
    from haloscope.explain._tables import TABLES
    from haloscope.explain.regimes import RegimeModel
    from haloscope.explain.sites import keep_symbols

__all__ = [
    "FORMATS",
    "TABLES",
    "Ensemble",
    "Instances",
    "Profile",
    "RegimeModel",
    "keep_symbols",
    "native_library",
    "open",
    "open_all",
    "page",
    "render",
    "report",
    "summary",
    "write_page",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Ensemble": "_profile",
            "FORMATS": "_render",
            "Instances": "_instances",
            "Profile": "_profile",
            "RegimeModel": "regimes",
            "TABLES": "_tables",
            "keep_symbols": "sites",
            "native_library": "_kernels:library",
            "open": "_profile:open_profile",
            "open_all": "_profile",
            "page": "_page",
            "render": "_render",
            "report": "_page",
            "summary": "_summary",
            "write_page": "_page",
        },
    )
