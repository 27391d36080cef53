"""Waiting: what a trace says about who waited for whom, why, and what of it matters."""

from haloscope.explain.waiting._analysis import Analysis
from haloscope.explain.waiting._edges import Unit
from haloscope.explain.waiting._efficiency import Efficiency
from haloscope.explain.waiting._graph import ABSENT, COUNTED, Edges, Question, Tape, tape
from haloscope.explain.waiting._timeline import Timeline
from haloscope.explain.waiting._tolerance import Pieces, pieces, tolerated, without
from haloscope.explain.waiting._wait_tables import wait_table

__all__ = [
    "ABSENT",
    "COUNTED",
    "Analysis",
    "Edges",
    "Efficiency",
    "Pieces",
    "Question",
    "Tape",
    "Timeline",
    "Unit",
    "pieces",
    "tape",
    "tolerated",
    "wait_table",
    "without",
]
