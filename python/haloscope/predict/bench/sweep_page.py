"""The page of a sweep: times of all algorithms of a collective over sizes and numbers of processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haloscope.base.errors import printable
from haloscope.base.palette import INK, SERIES
from haloscope.base.units import bytes_text, noun_text
from haloscope.predict.bench.sweep import Sweep
from haloscope.predict.mpi_library import DEFAULT
from haloscope.profile.page import page
from haloscope.profile.page import write_page as write

if TYPE_CHECKING:
    import polars as pl

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MOST = 4  # figures of a kind for a collective
_NOTE = (
    "Median over iterations of the slowest rank's time, with its 95 % interval. Black: {default}, "
    "the library's own choice."
)


def write_page(sweep: Sweep, output: Path) -> None:
    """Write the page of a sweep.

    Raises:
        OutputError: The page cannot be written.
    """
    about = _describe(sweep.environment)
    name = printable(str(about.get("Library") or about.get("Source") or "Measurements"))
    data = {
        "machine": name,
        "about": [[key, printable(str(value))] for key, value in about.items() if value is not None],
        "figures": list(_make_figures(sweep.points)),
        "errors": [],
    }
    text = page("bench.html", f"{name} – Haloscope bench", ["model.js"], data, "predict")
    write(text, Path(output))


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

    good = points.filter(pl.col("status") == "ok").with_columns(
        value=pl.coalesce("median", "time"),
        ranks=pl.col("ranks").fill_null(0),
        mapping=pl.col("mapping").fill_null(""),
    )
    for (collective, mapping), part in good.group_by("collective", "mapping", maintain_order=True):
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
    groups = part.group_by("algorithm", "number", "segment", "fanout", maintain_order=True)
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


def _make_label(key: tuple[Any, ...]) -> str:
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
