"""Waiting: what a trace says about who waited for whom, why, and what of it matters."""

from haloscope.explain.waiting._analysis import Analysis
from haloscope.explain.waiting._efficiency import Efficiency
from haloscope.explain.waiting._tolerance import Pieces
from haloscope.explain.waiting._wait_tables import wait_table

__all__ = ["Analysis", "Efficiency", "Pieces", "wait_table"]
