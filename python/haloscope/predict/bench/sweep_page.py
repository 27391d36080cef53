"""The page of a sweep: times of all algorithms of a collective over sizes and numbers of processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haloscope.base.errors import printable
from haloscope.base.palette import INK, SERIES
from haloscope.base.units import bytes_text, noun_text
from haloscope.markov.figures import Cell, Section, Table
from haloscope.predict.bench.sweep import Sweep
from haloscope.predict.model_page import CURVES
from haloscope.predict.mpi_library import DEFAULT
from haloscope.profile.page import page
from haloscope.profile.page import write_page as write

if TYPE_CHECKING:
    import polars as pl

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MOST = 4  # figures of a kind for a collective
_NOTE = (
    "Median over iterations of the slowest rank's time, with its 95 % interval. Thick: {default}, "
    "the library's own choice."
)
_FASTEST = (
    "Median times. Default: the library's own choice is the fastest, or the 95 % intervals overlap. Else: the"
    " fastest algorithm, and how much longer the default takes."
)
_SETTINGS = ("algorithm", "number", "segment", "fanout")


def write_page(sweep: Sweep, output: Path) -> None:
    """Write the page of a sweep.

    Raises:
        OutputError: The page cannot be written.
    """
    about = _describe(sweep.environment)
    name = printable(str(about.get("Library") or about.get("Source") or "Measurements"))
    host = printable(str(about["Host"])) if "Host" in about else ""
    points = _select_points(sweep.points)
    data = {
        "verb": "bench collective",
        "title": f"{name} on {host}" if host else name,
        "about": "",
        "notes": [],
        "figures": [],
        "sections": [section.as_json() for section in _make_sections(points)],
        "facts": [[key, printable(str(value))] for key, value in about.items() if value is not None],
        "curves": list(_make_figures(points)),
    }
    write(page("model.html", f"{name} – Haloscope bench", CURVES, data, "predict"), Path(output))


def _select_points(points: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return points.filter(pl.col("status") == "ok").with_columns(
        value=pl.coalesce("median", "time"),
        ranks=pl.col("ranks").fill_null(0),
        mapping=pl.col("mapping").fill_null(""),
    )


def _make_sections(points: pl.DataFrame) -> Iterator[Section]:
    """Yield one section per collective: the fastest algorithm by size and ranks."""
    for (collective, mapping), part in points.group_by("collective", "mapping", maintain_order=True):
        found = [_find_fastest(point) for _, point in part.group_by("ranks", "bytes", maintain_order=True)]
        if part["algorithm"].n_unique() < 2:
            continue
        ranks, sizes = (sorted({row[name] for row in found}) for name in ("ranks", "bytes"))
        cells = {(row["bytes"], row["ranks"]): _fastest_cell(row) for row in found}
        rows = [
            [(size, bytes_text(size)), *(cells.get((size, n), (None, "")) for n in ranks)] for size in sizes
        ]
        columns = [("size", ""), *((noun_text(n, "process", "processes"), "") for n in ranks)]
        title = f"{collective}{f', --map-by {mapping}' if mapping else ''}: fastest algorithm"
        yield Section(
            f"fastest-{collective}-{mapping}",
            printable(title),
            tables=[Table(_FASTEST, columns, rows)],
            text=[printable(_summarise(str(collective), found))],
        )


def _find_fastest(point: pl.DataFrame) -> dict[str, Any]:
    """Return the fastest algorithm of a point, and what the default loses compared with it.

    `loss` is a share of the fastest time: 0 if the default is the fastest or the intervals overlap, None if
    the default was not measured.
    """
    rows = point.sort("value").to_dicts()
    best = rows[0]
    default = next((row for row in rows if row["algorithm"] == DEFAULT), None)
    loss = None
    if default is not None:
        is_slower = (default["ci_low"] or default["value"]) > (best["ci_high"] or best["value"])
        loss = default["value"] / best["value"] - 1 if is_slower and best["value"] else 0.0
    name = DEFAULT if loss == 0 else _make_label([best[key] for key in _SETTINGS])
    return {"ranks": best["ranks"], "bytes": best["bytes"], "name": name, "loss": loss}


def _fastest_cell(row: Mapping[str, Any]) -> Cell:
    loss = row["loss"]
    return loss, f"{row['name']}, default +{100 * loss:.0f} %" if loss else row["name"]


def _summarise(collective: str, found: Sequence[Mapping[str, Any]]) -> str:
    known = [row for row in found if row["loss"] is not None]
    if not known:
        return "The library's own choice was not measured."
    count = noun_text(len(known), "point")
    slower = [row for row in known if row["loss"] > 0]
    if not slower:
        return f"{collective}: no algorithm is significantly faster than the default at {count}."
    worst = max(slower, key=lambda row: float(row["loss"]))
    where = f"{bytes_text(worst['bytes'])} on {noun_text(worst['ranks'], 'process', 'processes')}"
    return (
        f"{collective}: the default is slower than the fastest algorithm at {len(slower)} of {count}, at most"
        f" by {100 * worst['loss']:.0f} % ({worst['name']}, {where}). haloscope tune tests whether it helps."
    )


def _describe(environment: Mapping[str, Any]) -> dict[str, Any]:
    method = environment.get("method") or {}
    cores = environment.get("usable_cores")
    values = {
        "Library": environment.get("library"),
        "Source": environment.get("source"),
        "Host": environment.get("host"),
        "Processor": environment.get("processor"),
        "Cores": cores and f"{cores} of {environment.get('cores')} usable",
        "Kernel": environment.get("kernel"),
        "Governor": environment.get("governor"),
        "Date": environment.get("date"),
        "Command": environment.get("command"),
        "Method": ", ".join(f"{key} {value}" for key, value in method.items() if value is not None),
    }
    return {key: value for key, value in values.items() if value}


def _make_figures(points: pl.DataFrame) -> Iterator[dict[str, Any]]:
    import polars as pl

    for (collective, mapping), part in points.group_by("collective", "mapping", maintain_order=True):
        mapping_text = f", --map-by {mapping}" if mapping else ""
        for axis, other in (("bytes", "ranks"), ("ranks", "bytes")):
            for value in _select_values(part[other].unique().sort().to_list()):
                chosen = part.filter(pl.col(other) == value)
                if axis == "bytes" and collective == "barrier":
                    continue
                if axis == "ranks" and chosen[axis].n_unique() < 2 and collective != "barrier":
                    continue
                yield _make_figure(chosen, str(collective), axis, value, mapping_text)


def _select_values(values: list[int]) -> list[int]:
    """Return at most `_MOST` of the values, including the first and the last."""
    if len(values) <= _MOST:
        return values
    steps = range(_MOST)
    return [values[round(step * (len(values) - 1) / (_MOST - 1))] for step in steps]


def _make_figure(
    part: pl.DataFrame, collective: str, axis: str, value: int, mapping_text: str
) -> dict[str, Any]:
    fixed = "" if collective == "barrier" else f" of {bytes_text(value)}"
    fixed = fixed if axis == "ranks" else f" on {noun_text(value, 'process', 'processes')}" if value else ""
    groups = part.group_by(_SETTINGS, maintain_order=True)
    named = {_make_label(key): rows for key, rows in groups}
    names = sorted(named, key=lambda name: (name != DEFAULT, name))
    return {
        "collective": f"{collective}-{axis}-{value}{mapping_text}",
        "title": f"{collective}{fixed}{mapping_text}",
        "sizes": axis == "bytes",
        "note": _NOTE.format(default=DEFAULT),
        "data": [_make_trace(named[name], axis, name, index) for index, name in enumerate(names)],
        "layout": {
            "xaxis": {"title": {"text": "bytes" if axis == "bytes" else "processes"}},
            "yaxis": {"title": {"text": "time"}},
            "shapes": [],
            "labels": [],
        },
    }


def _make_label(key: Sequence[Any]) -> str:
    algorithm, number, segment, fanout = key
    words = printable(str(algorithm)) + (f" ({number})" if number is not None else "")
    words += f", segments {bytes_text(segment)}" if segment else ""
    return words + (f", fan-out {fanout}" if fanout else "")


def _make_trace(part: pl.DataFrame, axis: str, name: str, index: int) -> dict[str, Any]:
    part = part.sort(axis)
    own = name == DEFAULT
    colour = INK if own else SERIES[index % len(SERIES)]
    times = part["value"].to_list()
    # No bar without an interval, as in output of OSU.
    above = (part["ci_high"] - part["value"]).fill_null(0).to_list()
    below = (part["value"] - part["ci_low"]).fill_null(0).to_list()
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": part[axis].to_list(),
        "y": times,
        "error_y": {
            "type": "data",
            "array": above,
            "arrayminus": below,
            "symmetric": False,
            "thickness": 1,
            "width": 2,
            "color": colour,
        },
        "line": {
            "color": colour,
            "width": 3 if own else 1.5,
            "dash": "solid" if own else _DASHES[index // len(SERIES) % len(_DASHES)],
        },
        "hovertemplate": "%{x}: %{y:.4s}s",
    }
