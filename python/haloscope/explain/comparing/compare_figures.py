"""Figures of the page of a comparison: intervals of times, and differences by region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from haloscope.base.files import shorten_paths
from haloscope.base.palette import GREY, METHODS
from haloscope.explain.comparing.sides import Side, list_times
from haloscope.markov.figures import Figure, TimeUnit, Trace, axis, margin, plain, unit_of
from haloscope.profile.store import PROGRAM, region_text

if TYPE_CHECKING:
    from haloscope.explain.comparing.time_differences import TimeClaim

_MOST_BARS = 30
_PARTS = {
    "compute": ("computing", METHODS[3]),
    "waiting": ("waiting", METHODS[1]),
    "transfer": ("in MPI without waiting", METHODS[2]),
    "mpi": ("in MPI", METHODS[1]),
}
# Visible on light and dark backgrounds.
_GRID = {"gridcolor": "rgba(128, 140, 150, .25)", "tickcolor": "rgba(0, 0, 0, 0)"}
_ZERO = _GRID | {"zeroline": True, "zerolinecolor": GREY}


def draw_runs(first: Side, second: Side) -> Figure | None:
    """Return the figure of the program's time in each run, with the median of each side."""
    traces: list[Trace] = []
    for side, colour, symbol in ((first, METHODS[3], "circle"), (second, METHODS[1], "diamond")):
        times = list_times(side.runs, PROGRAM, "inclusive")
        if np.isnan(times).any():
            return None
        shared = {"type": "scatter", "mode": "markers", "showlegend": False}
        names = shorten_paths(str(run.path) for run in side.runs)
        traces.append(
            {
                **shared,
                "x": times,
                "y": [side.name] * len(times),
                "text": [plain(name) for name in names],
                "marker": {"color": colour, "size": 10, "symbol": f"{symbol}-open"},
                "hovertemplate": "%{text}: %{x:.4s}s<extra></extra>",
            }
        )
        median = float(np.median(times))
        traces.append(
            {
                **shared,
                "x": [median],
                "y": [side.name],
                "marker": {"color": colour, "size": 26, "symbol": "line-ns-open", "line": {"width": 3}},
                "hovertemplate": "median of %{y}: %{x:.4s}s<extra></extra>",
            }
        )
    layout = {
        "height": 190,
        "margin": {**margin(16), "l": 16},
        "xaxis": axis("time per rank", tickformat="~s", ticksuffix="s") | _GRID,
        "yaxis": axis("", autorange="reversed", type="category", **_GRID),
    }
    return Figure("One point per run of the program; line: median.", traces, layout, "Time of each run")


def draw_intervals(claims: Sequence[TimeClaim]) -> Figure | None:
    """Return the figure of how much longer B takes, one line per claim with an interval.

    None if there is none.
    """
    shown = [claim for claim in claims if claim.faster[1] is not None][:_MOST_BARS]
    if not shown:
        return None
    labels = _make_unique([_label_claim(claim) for claim in shown])
    points = [_negate_claim(claim) for claim in shown]
    # An interval of two runs may span thousands of percent.
    widest = max(max(abs(low), abs(high)) for _, low, high in points)
    reach = max(min(1.1 * widest, max(3 * max(abs(x) for x, _, _ in points), 10.0)), 1.0)
    traces = [_draw_point(*item, 4 * reach) for item in zip(shown, labels, points, strict=True)]
    layout = {
        "height": 110 + 26 * len(shown),
        "margin": {**margin(16), "l": 16},
        "xaxis": axis("percent that B takes longer", range=[-reach, reach]) | _ZERO,
        "yaxis": axis("", autorange="reversed", type="category", **_GRID),
    }
    caption = (
        "Point: difference of medians. Line: interval, cut at the edges of the figure. Filled: significant."
    )
    return Figure(caption, traces, layout, "Differences of time")


def _label_claim(claim: TimeClaim) -> str:
    whole = "the program" if claim.what == "time" else "outside of regions"
    name = whole if claim.region == PROGRAM else region_text(claim.region)
    return f"{name}, {claim.what}" if claim.what.startswith("series") else name


def _negate_claim(claim: TimeClaim) -> tuple[float, float, float]:
    """Return the percentage by which B takes longer, with its interval."""
    amount, low, high = (-(value or 0.0) for value in claim.faster)
    return amount, high, low


def _draw_point(claim: TimeClaim, label: str, values: tuple[float, float, float], most: float) -> Trace:
    """Return a point with its interval. Both arms are at most `most` long, as browsers cannot draw 1e30."""
    amount, low, high = values
    colour = GREY
    if claim.sure:
        colour = METHODS[1] if amount > 0 else METHODS[3]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [amount],
        "y": [label],
        "marker": {"color": colour, "size": 10, "symbol": "circle" if claim.sure else "circle-open"},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [min(high - amount, most)],
            "arrayminus": [min(amount - low, most)],
            "color": colour,
            "width": 4,
        },
        "hovertemplate": "%{y}: %{x:+.1f} %<extra></extra>",
        "showlegend": False,
    }


def _make_unique(labels: Sequence[str]) -> list[str]:
    """Return distinct labels for Plotly, which would merge rows with equal labels."""
    seen: dict[str, int] = {}
    unique = []
    for label in map(plain, labels):
        seen[label] = seen.get(label, 0) + 1
        unique.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return unique


def draw_changes(parts: pl.DataFrame) -> Figure | None:
    """Return the figure of differences, one bar per region; None if there is no difference."""
    own = parts.filter(pl.col("part") != "caused")
    sums = own.group_by("region", maintain_order=True).agg(pl.col("change").abs().sum().alias("size"))
    largest = sums.filter(pl.col("size") > 0).sort("size", descending=True, maintain_order=True)
    if not len(largest):
        return None
    regions = largest["region"].head(_MOST_BARS).to_list()
    labels = dict(zip(regions, _make_unique([region_text(region) for region in regions]), strict=True))
    unit = unit_of(float(largest["size"][0]))
    traces = [_draw_bars(own, part, labels, unit) for part in _PARTS if part in own["part"]]
    layout = {
        "barmode": "relative",
        "height": 130 + 26 * len(regions),
        "margin": {**margin(40), "l": 16},
        "xaxis": axis(f"{unit.name} that B takes longer per rank (mean)") | _ZERO,
        "yaxis": axis("", autorange="reversed", type="category", **_GRID),
    }
    caption = "Difference of the means, B − A, without nested regions; the largest ones."
    return Figure(caption, traces, layout)


def _draw_bars(own: pl.DataFrame, part: str, labels: dict[str, str], unit: TimeUnit) -> Trace:
    name, colour = _PARTS[part]
    changes = {row["region"]: row["change"] for row in own.filter(pl.col("part") == part).to_dicts()}
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "marker": {"color": colour},
        "y": list(labels.values()),
        "x": unit.convert([changes.get(region, 0.0) for region in labels]).tolist(),
        "hovertemplate": f"%{{y}}: %{{x:+.3g}} {unit.name} {name}<extra></extra>",
    }
