"""The page of a machine model: modelled and measured time by processes and by size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.palette import INK, RED, SERIES
from haloscope.base.units import bytes_text, count_text, percent_text, time_text
from haloscope.markov.figures import Column, Section, fill_table
from haloscope.predict.machine import Machine
from haloscope.predict.mpi_library import DEFAULT
from haloscope.predict.prediction import error_summary
from haloscope.profile.page import page
from haloscope.profile.page import write_page as write

# The dashes of a line encode its bytes.
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up")
_MOST_FIGURES = 3
# The scripts of a page with curves.
CURVES = ("sections.js", "model.js")


def make_figure(rows: pl.DataFrame, machine: Machine) -> dict[str, Any]:
    """Return the Plotly figure of the table `model` of one collective."""
    sizes = rows["bytes"].unique(maintain_order=True).to_list()
    names = rows["algorithm"].unique(maintain_order=True).to_list()
    traces = [
        _make_trace(part, names.index(name), sizes.index(size), len(sizes) > 1)
        for (name, size), part in rows.group_by("algorithm", "bytes", maintain_order=True)
    ]
    layout = {
        "xaxis": {"title": {"text": "processes"}, "type": "log", "tickformat": "d"},
        "yaxis": {"title": {"text": "time"}, "type": "log", "tickformat": "~s", "ticksuffix": "s"},
        **mark_levels(machine, rows["ranks"].unique().sort().to_list()),
    }
    return {"data": traces, "layout": layout}


def _make_trace(part: pl.DataFrame, colour: int, dash: int, many: bool) -> dict[str, Any]:
    name, size = part["algorithm"][0], part["bytes"][0]
    part = part.sort("ranks")
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(part) < 40 else "lines",
        "name": f"{name}, {bytes_text(size)}" if many else name,
        "x": part["ranks"].to_list(),
        "y": part["time"].to_list(),
        "line": {"color": SERIES[colour], "dash": DASHES[dash % len(DASHES)], "width": 2},
        "hovertemplate": "%{x} ranks: %{y:.4s}s",
    }


def mark_levels(machine: Machine, ranks: Sequence[int]) -> dict[str, Any]:
    """Return lines and labels at the numbers of ranks from which on a further level is used."""
    # A line is between the last number of ranks that fits into a level and the next number.
    changes = [level for level in machine.exceeded_levels(ranks[-1]) if level.cores >= ranks[0]]
    lines = [
        {
            "type": "line",
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "x0": at,
            "x1": at,
            "layer": "below",
            "line": {"color": RED, "width": 1, "dash": "dash"},
        }
        for at in (level.cores + 0.5 for level in changes)
    ]
    labels = [{"x": level.cores + 0.5, "text": escape_markup(level.name)} for level in changes]
    return {"shapes": lines, "labels": labels}


def escape_markup(name: str) -> str:
    """Return a name for Plotly, with < and & escaped."""
    return printable(name).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def make_measured_figures(rows: pl.DataFrame, machine: Machine) -> list[dict[str, Any]]:
    """Return the figures of a table of `errors`, for the default settings of each algorithm."""
    figures: list[dict[str, Any]] = []
    # Without a measurement with the default settings, the first settings are used.
    defaults = rows.sort("segment", "fanout").unique(
        ["collective", "algorithm", "ranks", "bytes"], keep="first", maintain_order=True
    )
    for (collective,), part in defaults.group_by("collective", maintain_order=True):
        figures += _plot_against(part, machine, str(collective), "ranks", "bytes")
        figures += _plot_against(part, machine, str(collective), "bytes", "ranks")
    return figures


def _plot_against(
    part: pl.DataFrame, machine: Machine, collective: str, axis: str, other: str
) -> Iterable[dict[str, Any]]:
    """Yield up to three figures, for the smallest, middle and largest value of the other quantity."""
    if part[axis].n_unique() < 2:
        return
    values = part[other].unique().sort().to_list()
    # The library's own choice has its own colour, and is last so that it takes none of the others'.
    names = sorted(part["algorithm"].unique(maintain_order=True).to_list(), key=DEFAULT.__eq__)
    for value in sorted({values[0], values[len(values) // 2], values[-1]})[:_MOST_FIGURES]:
        chosen = part.filter(pl.col(other) == value).sort(axis)
        if chosen[axis].n_unique() < 2:
            continue
        label = bytes_text(value) if other == "bytes" else f"{value} processes"
        ranks = part["ranks"].unique().sort().to_list()
        marks = mark_levels(machine, ranks) if axis == "ranks" else {"shapes": [], "labels": []}
        yield {
            "collective": f"{collective}-{axis}-{value}",
            "title": f"{collective}, {label}",
            "sizes": axis == "bytes",
            "data": [
                trace
                for number, name in enumerate(names)
                for trace in _make_traces(chosen.filter(pl.col("algorithm") == name), axis, name, number)
            ],
            "layout": {
                "xaxis": {"title": {"text": "processes" if axis == "ranks" else "bytes"}},
                "yaxis": {"title": {"text": "time, mean over ranks"}},
                **marks,
            },
        }


def _make_traces(part: pl.DataFrame, axis: str, name: str, number: int) -> Iterable[dict[str, Any]]:
    if part.is_empty():
        return
    own = name == DEFAULT
    colour = INK if own else SERIES[number % len(SERIES)]
    label = f"{printable(name)} (the library's choice)" if own else printable(name)
    shared = {"type": "scatter", "x": part[axis].to_list(), "legendgroup": label}
    yield {
        **shared,
        "mode": "markers",
        "name": label,
        "y": part["time"].to_list(),
        "marker": {"color": colour, "size": 10 if own else 7, "symbol": _SYMBOLS[number // len(SERIES) % 6]},
        "hovertemplate": "%{x}: %{y:.4s}s measured",
    }
    yield {
        **shared,
        "mode": "lines",
        "name": f"{label}, modelled",
        "showlegend": False,
        "y": part["modelled"].to_list(),
        "line": {"color": colour, "width": 3 if own else 1.5, "dash": DASHES[number // len(SERIES) % 6]},
        "hovertemplate": "%{x}: %{y:.4s}s modelled",
    }


def write_page(
    rows: pl.DataFrame, machine: Machine, output: Path, *, about: dict[str, str] | None = None
) -> None:
    """Write the page of a table of `model` for a machine; `about` has the parameters.

    Raises `OutputError` if the page cannot be written.
    """
    properties = _describe_machine(machine) | (about or {})
    figures = [
        {"collective": collective, **make_figure(part, machine)}
        for (collective,), part in rows.group_by("collective", maintain_order=True)
    ]
    _write_data(machine, properties, figures, output)


def write_measured_page(rows: pl.DataFrame, machine: Machine, output: Path) -> None:
    """Write the page of a table of `errors`: measured and modelled times, and their differences.

    Raises `OutputError` if the page cannot be written.
    """
    properties = _describe_machine(machine) | {
        "Time": "mean over ranks and iterations, as in OSU's; points are measured, lines modelled",
        "Error": "relative, of the modelled time",
    }
    columns: list[Column] = [
        ("collective", "", "collective", printable),
        ("algorithm", "", "algorithm", printable),
        ("points", "That were measured", "points", count_text),
        ("median error", "", "error_median", _share_text),
        ("90 % below", "", "error_p90", _share_text),
        ("largest error", "", "error_max", _share_text),
    ]
    table = fill_table("Relative errors of the modelled times.", columns, error_summary(rows).to_dicts())
    errors = Section("errors", "Errors of the models", tables=[table])
    _write_data(machine, properties, make_measured_figures(rows, machine), output, [errors])


def _share_text(value: float | None) -> str:
    return percent_text(value, 1.0)


def _describe_machine(machine: Machine) -> dict[str, str]:
    levels = (
        f"{level.name} ({level.cores} cores) {time_text(float(level.latency))}" for level in machine.levels
    )
    return {
        "Machine": machine.description,
        "Source": machine.source,
        "Latency within": "; ".join(levels),
        "Placement": "rank r on core r, one node after the other",
    }


def _write_data(
    machine: Machine,
    properties: Mapping[str, str],
    figures: Sequence[Mapping[str, Any]],
    output: Path,
    sections: Sequence[Section] = (),
) -> None:
    title = printable(machine.name)
    data = {
        "verb": "bench model",
        "title": title,
        "about": "",
        "notes": [],
        "figures": [],
        "sections": [section.as_json() for section in sections],
        "facts": [[key, printable(value)] for key, value in properties.items() if value],
        "curves": figures,
    }
    write(page("model.html", f"{title} – Haloscope model", CURVES, data, "predict"), Path(output))
