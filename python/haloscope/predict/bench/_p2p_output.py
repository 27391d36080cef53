"""Messages between two cores, as OSU's benchmarks print them, as records, and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.errors import printable
from haloscope.base.units import bytes_text, time_text
from haloscope.explain import page
from haloscope.explain import write_page as write
from haloscope.predict._machine_files import machine_text
from haloscope.predict._model_page import escaped
from haloscope.predict.bench._measured import gaps
from haloscope.predict.bench._sweep import median_interval
from haloscope.predict.bench._system import SMT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from haloscope.predict._machine import Link, Machine
    from haloscope.predict.bench._p2p import Point
    from haloscope.predict.bench._system import System


__all__ = ["header", "record", "row", "write_page"]

_COLUMNS = {
    "latency": ("Latency (us)",),
    "bw": ("Bandwidth (MB/s)",),
    "bibw": ("Bandwidth (MB/s)",),
    "mbw_mr": ("MB/s", "Messages/s"),
    "overhead": ("Send (us)", "Receive (us)"),
    "reduce": ("Add (us)",),
}
_TITLES = {
    "latency": "Latency",
    "bw": "Bandwidth",
    "bibw": "Bi-Directional Bandwidth",
    "mbw_mr": "Multiple Bandwidth / Message Rate",
    "overhead": "Overheads os(m), or(m)",
    "reduce": "Local Reduction",
}


def header(point: Point, library: str, full: bool, tails: Sequence[float]) -> str:
    """Return the lines before the first point of a test and pair; all begin with #."""
    pair = point.pair
    where = f"core {pair.first} and core {pair.second} ({pair.level})"
    if point.pairs > 1:
        where = f"{point.pairs} pairs at once"
    names = [*_COLUMNS[point.test], *_extra(full, tails)]
    names += ["Validation"] if point.valid is not None else []
    title = f"# haloscope bench p2p: MPI {_TITLES[point.test]} Test, {where}, {library}"
    return f"{title}\n{'# Size':<10}" + "".join(f"{name:>18}" for name in names)


def row(point: Point, full: bool, tails: Sequence[float]) -> str:
    """Return bytes and OSU's figure: the mean over all iterations."""
    values = _figures(point)
    if full:
        low, high = point.samples.min(), point.samples.max()
        values += [1e6 * low, 1e6 * high, len(point.samples) * point.batch]
    values += [1e6 * value for value in np.percentile(point.samples, tails)] if tails else []
    text = f"{point.bytes:<10}" + "".join(f"{_number(value):>18}" for value in values)
    return text if point.valid is None else f"{text}{'Pass' if point.valid else 'Fail':>18}"


def record(point: Point) -> dict[str, Any]:
    """Return a point for programs, in seconds, with all its samples."""
    middle, low, high = median_interval(point.samples)
    return {
        "test": point.test,
        "level": point.pair.level,
        "first": point.pair.first,
        "second": point.pair.second,
        "pairs": point.pairs,
        "bytes": point.bytes,
        "iterations": len(point.samples) * point.batch,
        "batch": point.batch,
        "time": point.mean,
        "median": middle,
        "ci_low": low,
        "ci_high": high,
        "valid": point.valid,
        "samples": [float(f"{value:.5g}") for value in point.samples],
        "receive_samples": [float(f"{value:.5g}") for value in point.receive],
    }


def _extra(full: bool, tails: Sequence[float]) -> list[str]:
    names = ["Min (us)", "Max (us)", "Iterations"] if full else []
    return names + [f"P{tail:g} (us)" for tail in tails]


def _figures(point: Point) -> list[float]:
    mean = point.mean or float("nan")
    if point.test in ("bw", "bibw"):
        return [(2 if point.test == "bibw" else 1) * point.bytes / mean * 1e-6]
    if point.test == "mbw_mr":
        return [point.pairs * point.bytes / mean * 1e-6, point.pairs / mean]
    if point.test == "overhead":
        return [1e6 * point.mean, 1e6 * float(point.receive.mean())]
    return [1e6 * point.mean]


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"


# Okabe and Ito's, which the colour-blind tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def write_page(machine: Machine, system: System, points: Sequence[Point], output: Path) -> None:
    """Write the page of a machine and the points that it was fitted to. Raises `OutputError`."""
    links: dict[str, Link] = {SMT: machine.smt} if machine.smt else {}
    links |= {level.name: level for level in machine.levels}
    about = [
        ["Machine", printable(machine.description)],
        ["Measured with", printable(machine.source)],
        *([printable(name), _said(link)] for name, link in links.items()),
    ]
    figures = [_levels(links), _times(links, points), _gaps(links, points), _matrix(machine)]
    data = {
        "machine": printable(machine.name),
        "about": about,
        "figures": [figure for figure in figures if figure],
        "yaml": machine_text(machine),
    }
    title = f"{printable(machine.name)} – Haloscope bench"
    write(page("p2p.html", title, ["p2p.js"], data, "predict"), output)


def _said(link: Link) -> str:
    words = [f"latency {time_text(float(link.latency))}"]
    if link.bandwidth:
        words.append(f"bandwidth {float(link.bandwidth) * 1e-9:.4g} GB/s")
    if link.loggp:
        named = ((name, getattr(link.loggp, name)) for name in ("L", "o", "g", "G"))
        words.append(", ".join(f"{name} {time_text(float(value))}" for name, value in named))
    if link.protocols:
        starts = ", ".join(bytes_text(one.first) for one in link.protocols[1:])
        words.append(f"lines change at {starts}" if starts else "one line for all sizes")
    return "; ".join(words)


def _levels(links: dict[str, Link]) -> dict[str, Any]:
    times = [float(link.latency) for link in links.values()]
    bounds = [link.latency_interval or (link.latency,) * 2 for link in links.values()]
    trace = {
        "type": "bar",
        "x": [escaped(name) for name in links],
        "y": times,
        "marker": {"color": _COLOURS[0]},
        "text": [time_text(time) for time in times],
        "textposition": "outside",
        "error_y": {
            "type": "data",
            "symmetric": False,
            "color": "#1c2733",
            "array": [float(high) - time for time, (_, high) in zip(times, bounds, strict=True)],
            "arrayminus": [time - float(low) for time, (low, _) in zip(times, bounds, strict=True)],
        },
        "hovertemplate": "%{x}: %{y:.4s}s<extra></extra>",
    }
    return {
        "title": "Latency by level",
        "key": "levels",
        "data": [trace],
        "note": "The median one-way time of the smallest messages between core 0 and the first "
        "core that shares this level with it and nothing smaller, with its 95 % interval.",
        "axes": {"x": "", "y": "time", "logarithmic": []},
    }


def _times(links: dict[str, Link], points: Sequence[Point]) -> dict[str, Any]:
    data: list[dict[str, Any]] = []
    shapes = []
    for index, (name, link) in enumerate(links.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        own = _own(points, name, "latency")
        data.append(_dots(name, own, colour))
        if link.protocols:
            data.append(_fitted(name, link, own[-1].bytes, colour))
            shapes += [_mark(one.first, colour) for one in link.protocols[1:]]
    return {
        "title": "Time against size",
        "key": "times",
        "data": data,
        "shapes": shapes,
        "note": "Points: medians of the measured one-way times with their 95 % intervals. Lines: "
        "latency + bytes / bandwidth, piece by piece; dashed where the line changes: a protocol of "
        "the MPI library, or a cache that is full.",
        "axes": {"x": "bytes", "y": "time", "logarithmic": ["x", "y"]},
    }


def _mark(size: int, colour: str) -> dict[str, Any]:
    return {
        "type": "line",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "x0": size,
        "x1": size,
        "layer": "below",
        "line": {"color": colour, "width": 1, "dash": "dash"},
    }


def _gaps(links: dict[str, Link], points: Sequence[Point]) -> dict[str, Any] | None:
    data = []
    for index, name in enumerate(links):
        apart = gaps(_own(points, name, "bw"))
        if apart:
            speeds = [1e-6 * size / time for size, time in apart.items()]
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": escaped(name),
                    "x": list(apart),
                    "y": speeds,
                    "line": {"color": _COLOURS[index % len(_COLOURS)], "width": 2},
                    "hovertemplate": "%{x} B: %{y:.4g} MB/s",
                }
            )
    if not data:
        return None
    return {
        "title": "Bandwidth",
        "key": "bandwidth",
        "data": data,
        "note": "Messages of a window one way; medians.",
        "axes": {"x": "bytes", "y": "MB/s", "logarithmic": ["x", "y"]},
    }


def _matrix(machine: Machine) -> dict[str, Any] | None:
    if machine.matrix is None:
        return None
    names = [str(core) for core in machine.matrix.cores]
    values = [
        [None if i == j else value for j, value in enumerate(row)]
        for i, row in enumerate(machine.matrix.microseconds)
    ]
    trace = {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": values,
        "colorscale": "Viridis",
        "colorbar": {"title": {"text": "µs"}},
        "hovertemplate": "core %{y} – core %{x}: %{z} µs<extra></extra>",
    }
    return {
        "title": "Latency between all pairs of cores",
        "key": "matrix",
        "data": [trace],
        "note": "Medians of the one-way times of the smallest messages.",
        "square": True,
        "axes": {"x": "core", "y": "core", "logarithmic": []},
    }


def _own(points: Sequence[Point], level: str, test: str) -> list[Point]:
    """Those of the pair that stands for the level."""
    chosen = [one for one in points if one.pair.level == level and one.test == test]
    first = chosen[0].pair if chosen else None
    return sorted((one for one in chosen if one.pair == first), key=lambda one: one.bytes)


def _dots(name: str, points: Sequence[Point], colour: str) -> dict[str, Any]:
    middle, low, high = zip(*(median_interval(one.samples) for one in points), strict=True)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escaped(name),
        "x": [one.bytes for one in points],
        "y": list(middle),
        "marker": {"color": colour, "size": 6},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "thickness": 1,
            "width": 2,
            "array": [b - a for a, b in zip(middle, high, strict=True)],
            "arrayminus": [a - b for a, b in zip(middle, low, strict=True)],
        },
        "hovertemplate": "%{x} B: %{y:.4s}s",
    }


def _fitted(name: str, link: Link, largest: int, colour: str) -> dict[str, Any]:
    """Each piece by itself, so that jumps are gaps and not slopes."""
    x: list[float | None] = []
    ends = [*(one.first for one in link.protocols[1:]), largest + 1]
    for piece, end in zip(link.protocols, ends, strict=True):
        start, last = max(piece.first, 1), max(end - 1, 1)
        x += [start * (last / start) ** (step / 24) for step in range(25)]
        x.append(None)
    # A hair inside, so that a piece's last point is not the next piece's.
    y = [None if size is None else link.message_time(round(size)) for size in x]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{escaped(name)}, fitted",
        "x": x,
        "y": y,
        "line": {"color": colour, "width": 1.5},
        "hoverinfo": "skip",
    }
