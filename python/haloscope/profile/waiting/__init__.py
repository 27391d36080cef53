"""Waiting: what a trace says about who waited for whom, why, and what of it matters."""

from haloscope.profile.waiting.wait_analysis import Analysis
from haloscope.profile.waiting.edges import Unit
from haloscope.profile.waiting.efficiency import Efficiency
from haloscope.profile.waiting.graph import ABSENT, COUNTED, Edges, Question, Tape, tape
from haloscope.profile.waiting.timeline import Timeline
from haloscope.profile.waiting.tolerance import Pieces, pieces, tolerated, without
from haloscope.profile.waiting.wait_tables import wait_table

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
