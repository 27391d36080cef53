"""Measured against modelled: points and lines of one colour, against processes and against size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import bytes_text
from haloscope.predict._figure import COLOURS, DASHES, topology

if TYPE_CHECKING:
    from collections.abc import Iterable

    from haloscope.predict._machine import Machine

__all__ = ["measured_figures"]

_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up")
_MOST_FIGURES = 3


def measured_figures(rows: pl.DataFrame, machine: Machine) -> list[dict[str, Any]]:
    """Return the figures of a table of `errors`; of settings, each algorithm's own default."""
    figures: list[dict[str, Any]] = []
    # Where there is no measurement with the algorithm's own settings, the first ones stand for it.
    kept = rows.sort("segment", "fanout").unique(
        ["collective", "algorithm", "ranks", "bytes"], keep="first", maintain_order=True
    )
    for (collective,), part in kept.group_by("collective", maintain_order=True):
        figures += _against(part, machine, str(collective), "ranks", "bytes")
        figures += _against(part, machine, str(collective), "bytes", "ranks")
    return figures


def _against(
    part: pl.DataFrame, machine: Machine, collective: str, axis: str, other: str
) -> Iterable[dict[str, Any]]:
    """Up to three figures, for the smallest, the middle and the largest of the other quantity."""
    if part[axis].n_unique() < 2:
        return
    values = part[other].unique().sort().to_list()
    names = part["algorithm"].unique(maintain_order=True).to_list()
    for value in sorted({values[0], values[len(values) // 2], values[-1]})[:_MOST_FIGURES]:
        chosen = part.filter(pl.col(other) == value).sort(axis)
        if chosen[axis].n_unique() < 2:
            continue
        said = bytes_text(value) if other == "bytes" else f"{value} processes"
        ranks = part["ranks"].unique().sort().to_list()
        marks = topology(machine, ranks) if axis == "ranks" else {"shapes": [], "labels": []}
        yield {
            "collective": f"{collective}-{axis}-{value}",
            "title": f"{collective}, {said}",
            "sizes": axis == "bytes",
            "data": [
                trace
                for number, name in enumerate(names)
                for trace in _traces(chosen.filter(pl.col("algorithm") == name), axis, name, number)
            ],
            "layout": {
                "xaxis": {"title": {"text": "processes" if axis == "ranks" else "bytes"}},
                "yaxis": {"title": {"text": "time, mean over ranks"}},
                **marks,
            },
        }


def _traces(part: pl.DataFrame, axis: str, name: str, number: int) -> Iterable[dict[str, Any]]:
    if part.is_empty():
        return
    colour, label = COLOURS[number % len(COLOURS)], printable(name)
    shared = {"type": "scatter", "x": part[axis].to_list(), "legendgroup": label}
    yield {
        **shared, "mode": "markers", "name": label, "y": part["time"].to_list(),
        "marker": {"color": colour, "size": 7, "symbol": _SYMBOLS[number // len(COLOURS) % 6]},
        "hovertemplate": "%{x}: %{y:.4s}s measured",
    }  # fmt: skip
    yield {
        **shared, "mode": "lines", "name": f"{label}, modelled", "showlegend": False,
        "y": part["modelled"].to_list(),
        "line": {"color": colour, "width": 1.5, "dash": DASHES[number // len(COLOURS) % 6]},
        "hovertemplate": "%{x}: %{y:.4s}s modelled",
    }  # fmt: skip
