"""Many runs together: their tables, the figures of papers on scaling, and laws of growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.ensembles.extrapolation import FEWEST_POINTS, Beyond, beyond
    from haloscope.explain.ensembles.dominant_regions import dominance
    from haloscope.explain.ensembles.ensemble import Ensemble, open_all
    from haloscope.explain.ensembles.ensemble_page import write_ensemble_page
    from haloscope.explain.ensembles.growth import laws
    from haloscope.explain.ensembles.region_families import families, levels
    from haloscope.explain.ensembles.quantities import QUANTITIES
    from haloscope.explain.ensembles.scaling import efficiency, over, shares, totals
    from haloscope.explain.ensembles.message_sizes import Speeds, size_classes, speed_classes
    from haloscope.explain.ensembles.message_maps import time_maps
    from haloscope.explain.ensembles.view import View

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
