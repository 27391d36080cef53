"""The page: every algorithm of a collective, against size and against processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haloscope.base.errors import printable
from haloscope.base.palette import INK, SERIES
from haloscope.base.units import bytes_text
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
    """Write the page about a sweep. Raises `OutputError` if it cannot be written."""
    said = _about(sweep.environment)
    name = printable(str(said.get("Library") or said.get("Source") or "Measurements"))
    data = {
        "machine": name,
        "about": [[key, printable(str(value))] for key, value in said.items() if value is not None],
        "figures": list(_figures(sweep.points)),
        "errors": [],
    }
    text = page("bench.html", f"{name} – Haloscope bench", ["model.js"], data, "predict")
    write(text, Path(output))


def _about(environment: Mapping[str, Any]) -> dict[str, Any]:
    method = environment.get("method") or {}
    cores = environment.get("usable_cores")
    said = {
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
    return {key: value for key, value in said.items() if value}


def _figures(points: pl.DataFrame) -> Iterator[dict[str, Any]]:
    import polars as pl

    good = points.filter(pl.col("status") == "ok").with_columns(
        value=pl.coalesce("median", "time"),
        ranks=pl.col("ranks").fill_null(0),
        mapping=pl.col("mapping").fill_null(""),
    )
    for (collective, mapping), part in good.group_by("collective", "mapping", maintain_order=True):
        where = f", --map-by {mapping}" if mapping else ""
        for axis, other in (("bytes", "ranks"), ("ranks", "bytes")):
            for value in _spread(part[other].unique().sort().to_list()):
                chosen = part.filter(pl.col(other) == value)
                if axis == "bytes" and collective == "barrier":
                    continue
                if axis == "ranks" and chosen[axis].n_unique() < 2 and collective != "barrier":
                    continue
                yield _figure(chosen, str(collective), axis, value, where)


def _spread(values: list[int]) -> list[int]:
    """Return some of the values, the first and the last among them."""
    if len(values) <= _MOST:
        return values
    steps = range(_MOST)
    return [values[round(step * (len(values) - 1) / (_MOST - 1))] for step in steps]


def _figure(part: pl.DataFrame, collective: str, axis: str, value: int, where: str) -> dict[str, Any]:
    said = "" if collective == "barrier" else f" of {bytes_text(value)}"
    said = said if axis == "ranks" else f" on {value} processes" if value else ""
    groups = part.group_by("algorithm", "number", "segment", "fanout", maintain_order=True)
    named = {_label(key): rows for key, rows in groups}
    names = sorted(named, key=lambda name: (name != DEFAULT, name))
    return {
        "collective": f"{collective}-{axis}-{value}{where}",
        "title": f"{collective}{said}{where}",
        "sizes": axis == "bytes",
        "note": _NOTE.format(default=DEFAULT),
        "data": [_trace(named[name], axis, name, index) for index, name in enumerate(names)],
        "layout": {
            "xaxis": {"title": {"text": "bytes" if axis == "bytes" else "processes"}},
            "yaxis": {"title": {"text": "time"}},
            "shapes": [],
            "labels": [],
        },
    }


def _label(key: tuple[Any, ...]) -> str:
    algorithm, number, segment, fanout = key
    words = printable(str(algorithm)) + (f" ({number})" if number is not None else "")
    words += f", segments {bytes_text(segment)}" if segment else ""
    return words + (f", fan-out {fanout}" if fanout else "")


def _trace(part: pl.DataFrame, axis: str, name: str, index: int) -> dict[str, Any]:
    part = part.sort(axis)
    own = name == DEFAULT
    colour = INK if own else SERIES[index % len(SERIES)]
    times = part["value"].to_list()
    # Where there is no interval, as in OSU's output, there is no bar.
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
