"""Explain: profiles as tables, and tables for people."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haloscope.explain._ensemble import Ensemble, open_all
    from haloscope.explain._matrix import Instances
    from haloscope.explain._profile import Profile
    from haloscope.explain._profile import open_profile as open
    from haloscope.explain._render import FORMATS, render
    from haloscope.explain._report import write_report
    from haloscope.explain._summary import summary
    from haloscope.explain._tables import TABLES
    from haloscope.explain.regimes import RegimeModel

__all__ = [
    "FORMATS",
    "TABLES",
    "Ensemble",
    "Instances",
    "Profile",
    "RegimeModel",
    "open",
    "open_all",
    "render",
    "summary",
    "write_report",
]

# Looked up on first use: `import haloscope` must not wait for Polars and Plotly.
_HOMES = {
    "Ensemble": ("_ensemble", "Ensemble"),
    "Instances": ("_matrix", "Instances"),
    "FORMATS": ("_render", "FORMATS"),
    "Profile": ("_profile", "Profile"),
    "RegimeModel": ("regimes", "RegimeModel"),
    "TABLES": ("_tables", "TABLES"),
    "open": ("_profile", "open_profile"),
    "open_all": ("_ensemble", "open_all"),
    "render": ("_render", "render"),
    "summary": ("_summary", "summary"),
    "write_report": ("_report", "write_report"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'haloscope.explain' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(f"haloscope.explain.{module}"), attribute)


def __dir__() -> list[str]:
    return __all__
