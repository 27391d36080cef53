"""Functional boxplots: Figures 9 and 10 of Heldman, Rudi and Bessac (2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.units import ranks_text
from haloscope.explain.regimes._cdfs import Cdfs, common_times, rank_cdfs
from haloscope.explain.regimes._depth import FunctionalBoxplot, functional_boxplot
from haloscope.explain.regimes._figures import (
    Figure,
    Panel,
    Section,
    Trace,
    Unit,
    array,
    axis,
    panels,
    regime_name,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haloscope.explain.regimes._view import View

__all__ = ["functional_boxes"]

_MOST_OUTLIERS = 20
_POINTS = 512


def functional_boxes(views: Sequence[View], unit: Unit) -> list[Section]:
    """Functional boxplots of the ranks' distributions, whole and within each regime."""
    several = [view for view in views if len(view.whole.timings.ranks) > 1]
    if not several:
        return []
    whole, told = _boxplots(several, None, unit)
    drawn = (
        "Each rank's cumulative distribution of times: black the most central rank, the band its"
        " central half, lines the envelope, dashed the outliers."
    )
    sections = [
        Section("cdfs", "How the ranks' times are distributed",
                [_grid(whole, len(several), unit, f"{drawn} Paper: Figure 9.")], text=told)
    ]  # fmt: skip
    regimes = max(view.regimes for view in several)
    by_regime = []
    for state in range(regimes):
        part, _ = _boxplots(several, state, unit)
        by_regime += part
    if regimes > 1 and by_regime:
        caption = f"{drawn} Within each regime. Paper: Figure 10."
        figure = _grid(by_regime, len(several) if len(several) > 1 else regimes, unit, caption)
        sections.append(Section("regime-cdfs", "The same within each regime", [figure]))
    return sections


def _grid(drawn: Sequence[Panel], columns: int, unit: Unit, caption: str) -> Figure:
    traces, layout = panels(
        drawn, axis(f"time, {unit.name}", type="log"), axis("share of instances", range=[0, 1.01]),
        min(columns, 3), 260, showlegend=False,
    )  # fmt: skip
    return Figure(caption, traces, layout)


def _boxplots(
    views: Sequence[View], regime: int | None, unit: Unit
) -> tuple[list[Panel], list[str]]:
    samples = [view.whole.sample for view in views]
    times = common_times(samples, regime, _POINTS)
    drawn, told = [], []
    # The common times are quantiles: nearly all of the distribution, and no long tail of few.
    ends = unit.of(times[[len(times) // 200, -1 - len(times) // 100]]) if len(times) else None
    span = np.log10(np.maximum(ends, 1e-12)).tolist() if ends is not None else None
    for view, sample in zip(views, samples, strict=True):
        cdfs = rank_cdfs(sample, regime, times)
        found = functional_boxplot(cdfs.curves)
        names = [view.name] if len(views) > 1 else []
        names += [regime_name(regime, view.regimes)] if regime is not None else []
        title = ", ".join(names)
        drawn.append(Panel(title, _functional(found, cdfs, unit) if found else [], span))
        if found is not None and len(found.outliers):
            ranks = view.whole.timings.ranks[cdfs.rows[found.outliers]]
            told.append(f"{view.name}: outliers are {ranks_text(ranks.tolist())}")
    return drawn, told


def _functional(found: FunctionalBoxplot, cdfs: Cdfs, unit: Unit) -> list[Trace]:
    times = unit.of(cdfs.times)
    plain_line = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "x": array(times)}
    thin = {"color": "#7b6fa8", "width": 1}
    traces: list[Trace] = [
        plain_line | {"y": array(found.low), "line": thin},
        plain_line | {"y": array(found.high), "line": thin},
        plain_line | {"y": array(found.central_low), "line": {"width": 0}},
        plain_line | {"y": array(found.central_high), "line": {"width": 0}, "fill": "tonexty",
                      "fillcolor": "rgba(123, 111, 168, 0.45)"},
    ]  # fmt: skip
    worst = found.outliers[np.argsort(found.depth[found.outliers])][:_MOST_OUTLIERS]
    traces += [
        plain_line | {"y": array(cdfs.curves[row]),
                      "line": {"color": "#c23b22", "width": 1, "dash": "dash"}}
        for row in worst.tolist()
    ]  # fmt: skip
    median = {"y": array(cdfs.curves[found.median]), "line": {"color": "#000", "width": 2},
              "hoverinfo": "x+y"}  # fmt: skip
    return [*traces, plain_line | median]
