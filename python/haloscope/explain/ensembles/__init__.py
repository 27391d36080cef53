"""Many runs together: their tables, the figures of papers on scaling, and laws of growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.ensembles._beyond import FEWEST_POINTS, Beyond, beyond
    from haloscope.explain.ensembles._dominance import dominance
    from haloscope.explain.ensembles._ensemble import Ensemble, open_all
    from haloscope.explain.ensembles._ensemble_page import write_ensemble_page
    from haloscope.explain.ensembles._growth import laws
    from haloscope.explain.ensembles._levels import families, levels
    from haloscope.explain.ensembles._quantities import QUANTITIES
    from haloscope.explain.ensembles._scaling import efficiency, over, shares, totals
    from haloscope.explain.ensembles._size_classes import Speeds, size_classes, speed_classes
    from haloscope.explain.ensembles._time_maps import time_maps
    from haloscope.explain.ensembles._view import View

__all__ = [
    "FEWEST_POINTS",
    "QUANTITIES",
    "Beyond",
    "Ensemble",
    "Speeds",
    "View",
    "beyond",
    "dominance",
    "efficiency",
    "families",
    "laws",
    "levels",
    "open_all",
    "over",
    "shares",
    "size_classes",
    "speed_classes",
    "time_maps",
    "totals",
    "write_ensemble_page",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Beyond": "_beyond",
            "Ensemble": "_ensemble",
            "FEWEST_POINTS": "_beyond",
            "QUANTITIES": "_quantities",
            "Speeds": "_size_classes",
            "View": "_view",
            "beyond": "_beyond",
            "dominance": "_dominance",
            "efficiency": "_scaling",
            "families": "_levels",
            "laws": "_growth",
            "levels": "_levels",
            "open_all": "_ensemble",
            "over": "_scaling",
            "shares": "_scaling",
            "size_classes": "_size_classes",
            "speed_classes": "_size_classes",
            "time_maps": "_time_maps",
            "totals": "_scaling",
            "write_ensemble_page": "_ensemble_page",
        },
    )
