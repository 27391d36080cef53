"""Figures of regimes, and the parts that they are made of, for pages of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.markov.figures.elements import Cell as Cell
    from haloscope.markov.figures.elements import Column as Column
    from haloscope.markov.figures.elements import Figure as Figure
    from haloscope.markov.figures.elements import Panel as Panel
    from haloscope.markov.figures.elements import Section as Section
    from haloscope.markov.figures.elements import Table as Table
    from haloscope.markov.figures.elements import TimeUnit as TimeUnit
    from haloscope.markov.figures.elements import Trace as Trace
    from haloscope.markov.figures.elements import array as array
    from haloscope.markov.figures.elements import axis as axis
    from haloscope.markov.figures.elements import fill_table as fill_table
    from haloscope.markov.figures.elements import margin as margin
    from haloscope.markov.figures.elements import panels as panels
    from haloscope.markov.figures.elements import plain as plain
    from haloscope.markov.figures.elements import regime_colours as regime_colours
    from haloscope.markov.figures.elements import unit_of as unit_of
    from haloscope.markov.figures.over_time import heat_maps as heat_maps
    from haloscope.markov.figures.over_time import median_ranks as median_ranks
    from haloscope.markov.figures.over_time import slowest_ranks as slowest_ranks
    from haloscope.markov.figures.regimes_page import report_sections as report_sections
    from haloscope.markov.figures.spread import boxes as boxes
    from haloscope.markov.figures.spread import functional_boxes as functional_boxes
    from haloscope.markov.figures.spread import median_densities as median_densities
    from haloscope.markov.figures.spread import sums as sums
    from haloscope.markov.figures.spread import values as values

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
