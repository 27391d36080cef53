"""The four curves of a figure in one picture: measured, simulated, the paper's formula and our model."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import polars as pl
from common import draw, lines

from haloscope import predict
from haloscope.markov.figures import Figure, Panel, Trace, axis

KEYS = ["collective", "algorithm", "ranks", "bytes"]
MEASURED, SIMULATED, FORMULA, MODEL = (
    "measured on this machine",
    "simulated on ORFEO",
    "the paper's formula, ORFEO",
    "our model, ORFEO",
)
STYLES: dict[str, Trace] = {
    MEASURED: {"mode": "markers"},
    SIMULATED: {"mode": "markers+lines"},
    FORMULA: {"mode": "lines"},
    MODEL: {"mode": "lines"},
}
DASHES = {FORMULA: "dot", MODEL: "dash"}
UP = axis("time, µs", type="log")
_FREE = Decimal(10) ** 18  # bytes a second


def formulas(collective: str, ranks: Sequence[int], sizes: Sequence[int]) -> pl.DataFrame:
    """Return the times of the paper's formulas. They have latencies only, so all sizes take the same time."""
    return predict.model("orfeo", collective, ranks=ranks, sizes=sizes).select(*KEYS, "time")


def modelled(
    machine: predict.Machine,
    collective: str,
    names: Sequence[str],
    ranks: Sequence[int],
    sizes: Sequence[int],
) -> pl.DataFrame:
    """Return the times of our model: latency and bytes of each message, one message at a time per port."""
    return predict.model(machine, collective, names, ranks, sizes, formula="hockney").select(*KEYS, "time")


def latencies_alone() -> predict.Machine:
    """Return ORFEO as in the paper: bytes take no time."""
    machine = predict.load_machine("orfeo")
    levels = tuple(level.model_copy(update={"bandwidth": _FREE}) for level in machine.levels)
    return machine.model_copy(update={"levels": levels, "arithmetic": _FREE})


def picture(
    sources: Sequence[pl.DataFrame],
    names: Sequence[str],
    x: str,
    each: str,
    values: Sequence[int],
    *,
    caption: str,
    title: str,
) -> Figure:
    """Return a panel for each algorithm and value, three in a row; `sources` are rows in the order of STYLES.

    Seconds are drawn as microseconds. A panel has only the curves that exist: the library's own choice is
    only measured, and the paper has formulas for three algorithms of a collective.
    """
    rows = pl.concat(
        rows.select(*KEYS, pl.col("time") * 1e6, source=pl.lit(source))
        for rows, source in zip(sources, STYLES, strict=True)
    )
    panels = []
    for name in names:
        for value in values:
            some = rows.filter(pl.col("algorithm") == name, pl.col(each) == value)
            traces = lines(some, x, "time", "source", list(STYLES), {})
            for trace in traces:
                source = trace["name"]
                trace.update(STYLES[source], line={**trace["line"], "dash": DASHES.get(source, "solid")})
            panels.append(Panel(f"{name}, {quantity(value, each)}", traces))
    return draw(panels, across(x), UP, caption, title, height=190)


def quantity(value: int, each: str) -> str:
    """Return a number with its unit, such as "8 processes"."""
    return f"{value} {'bytes' if each == 'bytes' else 'processes'}"


def across(x: str) -> Trace:
    """Return the axis of processes or of bytes."""
    if x == "bytes":
        return axis("bytes", type="log")
    return axis("processes", type="log", tickvals=[1 << power for power in range(1, 9)])
