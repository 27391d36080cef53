"""Times and regimes over the instances: Figures 1, 6 and 12 of Heldman, Rudi and Bessac (2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haloscope.base.arrays import Bytes, Flags, Floats, Integers
from haloscope.base.palette import TIMES
from haloscope.base.units import time_text
from haloscope.markov.analysis import Decoded, RunTimings
from haloscope.markov.figures.elements import (
    Figure,
    Panel,
    Section,
    TimeUnit,
    Trace,
    array,
    axis,
    margin,
    panels,
    regime_colours,
    regime_name,
)

_MOST_POINTS = 4096
# Faint colours for usual times, warm ones for slow times, as in Figure 1 of Heldman et al.
# Three times the number of cells that a screen shows; about two megabytes of page.
MOST_ROWS, MOST_COLUMNS = 256, 1024


def heat_maps(
    views: Sequence[RunTimings], most_rows: int = MOST_ROWS, most_columns: int = MOST_COLUMNS
) -> Section | None:
    """Return maps of times and regimes, ranks × instances; None if no run has several ranks.

    All together have at most `most_rows` rows of cells.
    """
    wide = [view for view in views if not view.is_reduced]
    if not wide:
        return None
    figures = []
    for view in wide:
        whole = view.whole
        rows = max(1, most_rows // len(wide))
        small = cells(whole.timings.durations, whole.states, view.regimes, rows, most_columns)
        note = f" Each cell is {small.description}." if small.description else ""
        axes = rank_axes(whole.timings.ranks, small)
        means = "mean of a cell" if small.description else "each instance"
        commonest = "commonest of a cell" if small.description else "of each instance"
        title = f"{view.name}: " if len(views) > 1 else ""
        figures += [
            Figure(
                f"Time, {means}. Warm colours: slow.{note}",
                [_times(small)],
                axes,
                f"{title}times",
                "Figure 1, top",
            ),
            Figure(
                f"Regime, {commonest}. Columns: all ranks were slow; rows: one rank was.{note}",
                [regime_map(small, view.regimes)],
                axes,
                f"{title}regimes",
                "Figure 1, bottom",
            ),
        ]
    return Section("heat", "Slow ranks over time", figures, columns=2)


def rank_axes(ranks: Integers, small: Cells) -> dict[str, Any]:
    """Return the layout of a map whose rows are these ranks."""
    places = np.linspace(0, len(ranks) - 1, min(len(ranks), 9)).astype(np.int64)
    labels = [str(ranks[index]) for index in places]
    rows = len(small.mean) * small.rows
    return {
        "height": 350,
        "margin": margin(12),
        "xaxis": axis("instance", showgrid=False),
        "yaxis": axis(
            "rank", tickvals=places.tolist(), ticktext=labels, showgrid=False, range=[rows - 0.5, -0.5]
        ),
    }


def _make_map(small: Cells) -> Trace:
    """Return an empty heat map; the position of a cell is its middle instance and row."""
    return {
        "type": "heatmap",
        "x0": (small.columns - 1) / 2,
        "dx": small.columns,
        "y0": (small.rows - 1) / 2,
        "dy": small.rows,
        "hoverongaps": False,
    }


def _times(small: Cells) -> Trace:
    known = small.mean[small.mean > 0]
    low, high = np.percentile(np.log10(known), [1, 99.5]) if known.size else (0.0, 1.0)
    high = max(high, low + 0.01)
    steps = np.linspace(low, high, 5)
    with np.errstate(divide="ignore"):
        colour = np.log10(small.mean)
    return _make_map(small) | {
        "z": array(np.maximum(colour, low)),
        "zmin": low,
        "zmax": high,
        "colorscale": TIMES,
        "customdata": array(small.mean),
        "hovertemplate": "instance %{x}, row %{y}<br>%{customdata:.4s}s<extra></extra>",
        "colorbar": {
            "title": {"text": "time", "side": "right"},
            "thickness": 14,
            "outlinewidth": 0,
            "tickvals": steps.tolist(),
            "ticktext": [time_text(10**step) for step in steps.tolist()],
        },
    }


def regime_map(small: Cells, regimes: int) -> Trace:
    """Return the commonest regime of each cell, a colour each."""
    colours = regime_colours(regimes)
    scale = [[edge / regimes, colour] for state, colour in enumerate(colours) for edge in (state, state + 1)]
    return _make_map(small) | {
        "z": array(small.state, "f4" if np.isnan(small.state).any() else "u1"),
        "zmin": -0.5,
        "zmax": regimes - 0.5,
        "colorscale": scale,
        "hovertemplate": "instance %{x}, row %{y}<br>state %{z}<extra></extra>",
        "colorbar": {
            "title": {"text": "regime", "side": "right"},
            "thickness": 14,
            "outlinewidth": 0,
            "tickvals": list(range(regimes)),
            "ticktext": [str(state + 1) for state in range(regimes)],
        },
    }


def median_ranks(views: Sequence[RunTimings], unit: TimeUnit) -> Section | None:
    """Return times of the median training rank, coloured by regime; None if there is one series only."""
    drawn = []
    for view in views:
        if not view.is_reduced:
            row = view.median_row
            name = f"rank {view.whole.timings.ranks[row]}"
            title = f"{view.name}, {name}" if len(views) > 1 else name
            drawn.append((title, view.whole, row))
    if not drawn:
        return None
    caption = "Each dot is an instance on the median rank of the fitted ranks"
    figure = _draw_scatter(drawn, unit, caption, "Figure 6")
    return Section("median-rank", "One rank over the instances", [figure])


def slowest_ranks(views: Sequence[RunTimings], unit: TimeUnit) -> Section:
    """Return T^max over the instances, coloured by its own regimes."""
    if all(view.is_reduced for view in views):
        caption, title = "Each dot is an instance", "The series over the instances"
    else:
        caption = "Each dot is the time of the slowest rank of an instance, T^max"
        title = "The slowest rank over the instances"
    drawn = [(view.name if len(views) > 1 else "", view.slowest, 0) for view in views]
    figure = _draw_scatter(drawn, unit, caption, "Figure 12")
    return Section("slowest", title, [figure])


def _draw_scatter(
    drawn: Sequence[tuple[str, Decoded, int]], unit: TimeUnit, caption: str, paper: str
) -> Figure:
    most = max(2048, _MOST_POINTS // len(drawn))
    step = max(-(-decoded.timings.durations.shape[1] // most) for _, decoded, _ in drawn)
    regimes = max(decoded.regimes for _, decoded, _ in drawn)
    length = max(decoded.timings.durations.shape[1] for _, decoded, _ in drawn)
    shown = [
        Panel(title, _dots(decoded, row, step, unit, number == 0))
        for number, (title, decoded, row) in enumerate(drawn)
    ]
    traces, layout = panels(
        shown,
        axis("instance", range=[-0.01 * length, 1.01 * length]),
        # Plotly's default range of logarithmic axes that match each other is too wide.
        axis(f"time, {unit.name}", type="log", **_log_range(drawn, unit)),
        1,
        230 if len(drawn) > 1 else 300,
        showlegend=True,
        margin=margin(64),
    )
    thinned = f", one of {step} shown" if step > 1 else ""
    kinds = f"coloured by its regime, of {regimes}"
    return Figure(f"{caption}{thinned}, {kinds}.", traces, layout, paper=paper)


def _log_range(drawn: Sequence[tuple[str, Decoded, int]], unit: TimeUnit) -> dict[str, list[float]]:
    """Return the range of a logarithmic axis for these rows; empty if no time is positive."""
    times = unit.convert(np.concatenate([decoded.timings.durations[row] for _, decoded, row in drawn]))
    positive = times[times > 0]
    if not positive.size:
        return {}
    low, high = float(np.log10(positive.min())), float(np.log10(positive.max()))
    margin = max(0.05 * (high - low), 0.02)
    return {"range": [low - margin, high + margin]}


def _dots(decoded: Decoded, row: int, step: int, unit: TimeUnit, legend: bool) -> list[Trace]:
    times = unit.convert(decoded.timings.durations[row, ::step])
    states = decoded.states[row, ::step]
    traces = []
    for state, colour in enumerate(regime_colours(decoded.regimes)):
        chosen: Integers = np.flatnonzero(states == state)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": regime_name(state, decoded.regimes),
                "x": array(chosen * step, "i4"),
                "y": array(times[chosen]),
                "marker": {"color": colour, "size": 3.5, "opacity": 0.75},
                "legendgroup": str(state),
                "showlegend": legend,
                "hovertemplate": f"instance %{{x}}: %{{y:.4g}} {unit.name}",
            }
        )
    return traces


@dataclass(frozen=True)
class Cells:
    """Means of times and commonest states of `rows` neighbouring ranks × `columns` instances.

    `mean` is in seconds, NaN in empty cells; `state` is float, NaN in empty cells. `edges` are the first
    instance of each column of cells, and `ranks` the first row of each row of cells.
    """

    mean: Floats
    state: Floats
    rows: int
    columns: int

    @property
    def description(self) -> str:
        """A description of a cell for captions; empty if it is one instance of one rank."""
        if self.rows == self.columns == 1:
            return ""
        ranks = f"{self.rows} neighbouring ranks × " if self.rows > 1 else ""
        instances = f"{self.columns} instances" if self.columns > 1 else "1 instance"
        return ranks + instances


def cells(
    durations: Floats,
    states: Bytes,
    regimes: int,
    most_rows: int = MOST_ROWS,
    most_columns: int = MOST_COLUMNS,
) -> Cells:
    """Return ranks × instances in at most `most_rows` × `most_columns` cells of equal size.

    If several states are equally common in a cell, the slowest one is used.
    """
    rows = -(-len(durations) // most_rows)
    columns = -(-durations.shape[1] // most_columns)
    starts = np.arange(0, durations.shape[1], columns)
    means, commonest = [], []
    for first in range(0, len(durations), rows):
        times, decoded = durations[first : first + rows], states[first : first + rows]
        counts = np.stack([_sum_cells(decoded == state, starts) for state in range(regimes)])
        total = counts.sum(axis=0)
        sums = _sum_cells(np.where(decoded < regimes, times, 0), starts)
        with np.errstate(invalid="ignore", divide="ignore"):
            means.append(np.where(total > 0, sums / total, np.nan))
        slowest = regimes - 1 - counts[::-1].argmax(axis=0)
        commonest.append(np.where(total > 0, slowest, np.nan))
    return Cells(np.array(means), np.array(commonest), rows, columns)


def _sum_cells(rows: Flags | Floats, starts: Integers) -> Floats:
    return np.add.reduceat(rows.sum(axis=0, dtype=np.float64), starts)
