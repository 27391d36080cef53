"""Figures of regimes, and the parts that they are made of, for pages of one's own."""

from __future__ import annotations

from haloscope.explain.regimes._figures import (
    METHOD_COLOURS,
    Figure,
    Panel,
    Section,
    Trace,
    Unit,
    array,
    axis,
    margin,
    panels,
)
from haloscope.explain.regimes._figures_cdfs import functional_boxes
from haloscope.explain.regimes._figures_spread import boxes, median_densities, sums
from haloscope.explain.regimes._figures_time import heat_maps, median_ranks, slowest_ranks
from haloscope.explain.regimes._figures_values import values

__all__ = [
    "METHOD_COLOURS",
    "Figure",
    "Panel",
    "Section",
    "Trace",
    "Unit",
    "array",
    "axis",
    "boxes",
    "functional_boxes",
    "heat_maps",
    "margin",
    "median_densities",
    "median_ranks",
    "panels",
    "slowest_ranks",
    "sums",
    "values",
]
