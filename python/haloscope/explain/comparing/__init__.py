"""Comparison of two sides of runs: changed counts, significant differences of time, and their location."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.comparing.comparer import compare as compare
    from haloscope.explain.comparing.facts import COUNTS as COUNTS
    from haloscope.explain.comparing.run_comparison import COMPARED as COMPARED
    from haloscope.explain.comparing.run_comparison import Comparison as Comparison
    from haloscope.explain.comparing.sides import ComparedRun as ComparedRun
    from haloscope.explain.comparing.sides import Side as Side
    from haloscope.explain.comparing.sides import explain_difference as explain_difference
    from haloscope.explain.comparing.sides import list_times as list_times
    from haloscope.explain.comparing.sides import read_run as read_run

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
