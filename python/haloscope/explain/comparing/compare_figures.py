"""What the page of a comparison draws: intervals of times, and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from haloscope.base.palette import GREY, METHODS
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
# Seen on light and dark ground alike.
_GRID = {"gridcolor": "rgba(128, 140, 150, .25)", "tickcolor": "rgba(0, 0, 0, 0)"}
_ZERO = _GRID | {"zeroline": True, "zerolinecolor": GREY}


def intervals_drawn(claims: Sequence[TimeClaim]) -> Figure | None:
    """Return how much longer B takes, a line a claim that has an interval; None if none has."""
    shown = [claim for claim in claims if claim.faster[1] is not None][:_MOST_BARS]
    if not shown:
        return None
    labels = _unique([_label(claim) for claim in shown])
    points = [_longer(claim) for claim in shown]
    # An interval of two runs may span thousands of percent.
    widest = max(max(abs(low), abs(high)) for _, low, high in points)
    reach = max(min(1.1 * widest, max(3 * max(abs(x) for x, _, _ in points), 10.0)), 1.0)
    traces = [_point(*one, 4 * reach) for one in zip(shown, labels, points, strict=True)]
    layout = {
        "height": 110 + 26 * len(shown),
        "margin": {**margin(16), "l": 16},
        "xaxis": axis("percent that B takes longer", range=[-reach, reach]) | _ZERO,
        "yaxis": axis("", autorange="reversed", type="category", **_GRID),
    }
    caption = "Point: means; line: interval, cut off at the edges of the figure; filled: surely not 0."
    return Figure(caption, traces, layout)


def _label(claim: TimeClaim) -> str:
    name = "the program" if claim.region == PROGRAM else region_text(claim.region)
    return f"{name}, {claim.what}" if claim.what.startswith("series") else name


def _longer(claim: TimeClaim) -> tuple[float, float, float]:
    """Return by how many percent B takes longer, with the interval."""
    amount, low, high = (-(value or 0.0) for value in claim.faster)
    return amount, high, low


def _point(claim: TimeClaim, label: str, place: tuple[float, float, float], most: float) -> Trace:
    """Return a point with its interval, no arm of which is longer than `most`: browsers draw no 1e30."""
    amount, low, high = place
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


def _unique(labels: Sequence[str]) -> list[str]:
    """Return labels as Plotly shows them, each another one: rows of one name would be drawn into one."""
    seen: dict[str, int] = {}
    made = []
    for label in map(plain, labels):
        seen[label] = seen.get(label, 0) + 1
        made.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return made


def changes_drawn(parts: pl.DataFrame) -> Figure | None:
    """Return where B takes more or less, a bar a region; None if nothing is different."""
    own = parts.filter(pl.col("part") != "caused")
    sums = own.group_by("region", maintain_order=True).agg(pl.col("change").abs().sum().alias("size"))
    largest = sums.filter(pl.col("size") > 0).sort("size", descending=True, maintain_order=True)
    if not len(largest):
        return None
    regions = largest["region"].head(_MOST_BARS).to_list()
    labels = dict(zip(regions, _unique([region_text(region) for region in regions]), strict=True))
    unit = unit_of(float(largest["size"][0]))
    traces = [_bar(own, part, labels, unit) for part in _PARTS if part in own["part"]]
    layout = {
        "barmode": "relative",
        "height": 130 + 26 * len(regions),
        "margin": {**margin(40), "l": 16},
        "xaxis": axis(f"{unit.name} that an average rank of B takes more") | _ZERO,
        "yaxis": axis("", autorange="reversed", type="category", **_GRID),
    }
    caption = "Difference of the means, B − A, of regions without those nested in them; the largest ones."
    return Figure(caption, traces, layout)


def _bar(own: pl.DataFrame, part: str, labels: dict[str, str], unit: TimeUnit) -> Trace:
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
