"""Figures of regimes, and the parts that they are made of, for pages of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.markov.figures.elements import (
        METHOD_COLOURS,
        Cell,
        Figure,
        Panel,
        Section,
        Table,
        Trace,
        Unit,
        array,
        axis,
        margin,
        panels,
        plain,
    )
    from haloscope.markov.figures.over_time import heat_maps, median_ranks, slowest_ranks
    from haloscope.markov.figures.spread import (
        boxes,
        functional_boxes,
        median_densities,
        sums,
        values,
    )

__all__ = [
    "METHOD_COLOURS",
    "Cell",
    "Figure",
    "Panel",
    "Section",
    "Table",
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
    "plain",
    "slowest_ranks",
    "sums",
    "values",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Cell": "_elements",
            "Figure": "_elements",
            "METHOD_COLOURS": "_elements",
            "Panel": "_elements",
            "Section": "_elements",
            "Table": "_elements",
            "Trace": "_elements",
            "Unit": "_elements",
            "array": "_elements",
            "axis": "_elements",
            "boxes": "_spread",
            "functional_boxes": "_spread",
            "heat_maps": "_over_time",
            "margin": "_elements",
            "median_densities": "_spread",
            "median_ranks": "_over_time",
            "panels": "_elements",
            "plain": "_elements",
            "slowest_ranks": "_over_time",
            "sums": "_spread",
            "values": "_spread",
        },
    )
