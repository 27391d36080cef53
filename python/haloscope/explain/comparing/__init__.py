"""Two sides of runs beside each other: what changed, whether more than noise, and where the time went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.comparing.run_comparison import COMPARED, Comparison, compare
    from haloscope.explain.comparing.facts import COUNTS
    from haloscope.explain.comparing.sides import Run, Side, read_run, times_of_runs, why_apart

__all__ = [
    "COMPARED",
    "COUNTS",
    "Comparison",
    "Run",
    "Side",
    "compare",
    "read_run",
    "times_of_runs",
    "why_apart",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "COMPARED": "_compare",
            "COUNTS": "_facts",
            "Comparison": "_compare",
            "Run": "_sides",
            "Side": "_sides",
            "compare": "_compare",
            "read_run": "_sides",
            "times_of_runs": "_sides",
            "why_apart": "_sides",
        },
    )
