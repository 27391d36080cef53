"""The figure: time against processes, with lines where the topology changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from haloscope.base.errors import printable
from haloscope.base.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from haloscope.predict._machine import Machine

__all__ = ["COLOURS", "DASHES", "figure", "topology"]

# Okabe and Ito's, which the colour-blind tell apart; the line says the bytes.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_RED = "#c0392b"


def figure(rows: pl.DataFrame, machine: Machine) -> dict[str, Any]:
    """Return what Plotly draws of the table `model` of one collective."""
    sizes = rows["bytes"].unique(maintain_order=True).to_list()
    names = rows["algorithm"].unique(maintain_order=True).to_list()
    traces = [
        _trace(part, names.index(name), sizes.index(size), len(sizes) > 1)
        for (name, size), part in rows.group_by("algorithm", "bytes", maintain_order=True)
    ]
    layout = {
        "xaxis": {"title": {"text": "processes"}, "type": "log", "tickformat": "d"},
        "yaxis": {"title": {"text": "time"}, "type": "log", "tickformat": "~s", "ticksuffix": "s"},
        **topology(machine, rows["ranks"].unique().sort().to_list()),
    }
    return {"data": traces, "layout": layout}


def _trace(part: pl.DataFrame, colour: int, dash: int, many: bool) -> dict[str, Any]:
    name, size = part["algorithm"][0], part["bytes"][0]
    part = part.sort("ranks")
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(part) < 40 else "lines",
        "name": f"{name}, {bytes_text(size)}" if many else name,
        "x": part["ranks"].to_list(),
        "y": part["time"].to_list(),
        "line": {"color": COLOURS[colour], "dash": DASHES[dash % len(DASHES)], "width": 2},
        "hovertemplate": "%{x} ranks: %{y:.4s}s",
    }


def topology(machine: Machine, ranks: Sequence[int]) -> dict[str, Any]:
    """Lines, with labels, where one more of these numbers of ranks needs the next level."""
    # Between the last number of ranks that has room and the first that has not.
    changes = [level for level in machine.changes(ranks[-1]) if level.cores >= ranks[0]]
    lines = [
        {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "layer": "below",
         "line": {"color": _RED, "width": 1, "dash": "dash"}}
        for at in (level.cores + 0.5 for level in changes)
    ]  # fmt: skip
    labels = [{"x": level.cores + 0.5, "text": escaped(level.name)} for level in changes]
    return {"shapes": lines, "labels": labels}


def escaped(name: str) -> str:
    """A name is text: Plotly would take < and & for markup."""
    return printable(name).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
