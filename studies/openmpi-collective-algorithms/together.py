"""Curves of a figure from all sources: measured, simulated, the paper's formula and our model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import draw, lines

from haloscope import predict
from haloscope.base.palette import RED
from haloscope.markov.figures import Figure, Panel, Trace, axis

KEYS = ["collective", "algorithm", "ranks", "bytes"]
MEASURED, MESSAGES, SIMGRID, FORMULA, MODEL = (
    "measured on this machine",
    "Open MPI's messages, simulated on ORFEO",
    "SimGrid's algorithm, simulated on ORFEO",
    "the paper's formula, ORFEO",
    "our model, ORFEO",
)
STYLES: dict[str, Trace] = {
    MEASURED: {"mode": "markers"},
    MESSAGES: {"mode": "markers+lines"},
    SIMGRID: {"mode": "markers+lines"},
    FORMULA: {"mode": "lines"},
    MODEL: {"mode": "lines"},
}
DASHES = {FORMULA: "dot", MODEL: "dash"}
UP = axis("time, µs", type="log")
POWERS = [1 << power for power in range(1, 9)]
_FREE = Decimal(10) ** 18  # bytes a second


def formulas(collective: str, ranks: Sequence[int], sizes: Sequence[int]) -> pl.DataFrame:
    """Return the times of the paper's formulas. They have latencies only, so all sizes take the same time."""
    return predict.model("orfeo", collective, ranks=ranks, sizes=sizes).select(*KEYS, "time")


def latencies_alone() -> predict.Machine:
    """Return ORFEO as in the paper: bytes take no time."""
    machine = predict.load_machine("orfeo")
    levels = tuple(level.model_copy(update={"bandwidth": _FREE}) for level in machine.levels)
    return machine.model_copy(update={"levels": levels, "arithmetic": _FREE})


def picture(
    sources: Mapping[str, pl.DataFrame],
    names: Sequence[str],
    x: str,
    each: str,
    values: Sequence[int],
    *,
    caption: str,
    title: str,
) -> Figure:
    """Return a panel for each algorithm and value, three in a row; `sources` are rows by the names of STYLES.

    Seconds are drawn as microseconds, and the columns `low` and `high` as an interval. A panel without curves
    is left out. Vertical lines are where a further level of ORFEO is used.
    """
    panels = []
    for name in names:
        for value in values:
            own = pl.col("algorithm") == name, pl.col(each) == value
            traces = [
                trace
                for source, rows in sources.items()
                for trace in _curve(rows.filter(*own), x, source, "low" in rows.columns)
            ]
            if traces:
                panels.append(Panel(f"{name}, {quantity(value, each)}", traces))
    figure = draw(panels, across(x), UP, caption, title, height=190)
    return with_transitions(figure, len(panels)) if x == "ranks" else figure


def _curve(rows: pl.DataFrame, x: str, source: str, has_interval: bool) -> list[Trace]:
    rows = rows.with_columns(pl.col("time") * 1e6, source=pl.lit(source)).sort(x)
    traces = lines(rows, x, "time", "source", list(STYLES), {})
    for trace in traces:
        trace.update(STYLES[source], line={**trace["line"], "dash": DASHES.get(source, "solid")})
        if has_interval:
            ends = {
                "array": rows["high"] * 1e6 - rows["time"],
                "arrayminus": rows["time"] - rows["low"] * 1e6,
            }
            widths = {name: column.to_list() for name, column in ends.items()}
            trace["error_y"] = {"type": "data", "symmetric": False, "thickness": 1, "width": 2, **widths}
    return traces


def with_transitions(figure: Figure, panels: int) -> Figure:
    """Return the figure with the paper's red lines: between cores of two levels."""
    levels = predict.load_machine("orfeo").levels[:-1]
    shapes = [
        {
            "type": "line",
            "xref": f"x{at}",
            "yref": f"y{at} domain",
            "x0": level.cores + 0.5,
            "x1": level.cores + 0.5,
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "line": {"color": RED, "width": 1, "dash": "dash"},
        }
        for at in ("", *map(str, range(2, panels + 1)))
        for level in levels
    ]
    return replace(figure, layout={**figure.layout, "shapes": shapes})


def quantity(value: int, each: str) -> str:
    """Return a number with its unit, such as "8 processes" or "16 KiB"."""
    if each == "ranks":
        return f"{value} processes"
    power = (value & -value).bit_length() // 10 if value % 1024 == 0 else 0
    return f"{value >> 10 * power} {('B', 'KiB', 'MiB')[power]}"


def across(x: str) -> Trace:
    """Return the axis of processes or of bytes."""
    if x == "bytes":
        return axis("bytes", type="log")
    return axis("processes", type="log", tickvals=POWERS)
