"""Improving: remedies for what a profile shows, tried in real runs, of which those stay that help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.hide.improve.improve_page import write_improve_page
    from haloscope.hide.improve.improvement import Improvement, Plan, improve
    from haloscope.hide.improve.remedy import Remedy, remedies
    from haloscope.hide.improve.trial_runs import Run, Runner

__all__ = ["Improvement", "Plan", "Remedy", "Run", "Runner", "improve", "remedies", "write_improve_page"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Improvement": "_improvement",
            "Plan": "_improvement",
            "Remedy": "_remedies",
            "Run": "_runs",
            "Runner": "_runs",
            "improve": "_improvement",
            "remedies": "_remedies",
            "write_improve_page": "_improve_page",
        },
    )
