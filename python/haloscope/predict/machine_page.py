"""The page of a machine model: latency by level, time by size with fitted lines, and the latency matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haloscope.base.errors import printable
from haloscope.base.palette import INK, SERIES
from haloscope.base.units import bytes_text, time_text
from haloscope.predict.machine import Link, Machine
from haloscope.predict.machine_files import machine_text
from haloscope.predict.model_page import escape_markup
from haloscope.profile.page import page
from haloscope.profile.page import write_page as write

_SMT = "SMT"
_LARGEST = 1 << 22  # bytes, for models without measured sizes
# Okabe and Ito's colours for colour-blind readers.
_COLOURS = (*SERIES, INK)


def write_machine_page(machine: Machine, output: str | Path) -> None:
    """Write the page of a machine model, with its measured times.

    Raises `OutputError` if the page cannot be written.
    """
    links: dict[str, Link] = {_SMT: machine.smt} if machine.smt else {}
    links |= {level.name: level for level in machine.levels}
    about = [
        ["Machine", printable(machine.description)],
        ["Measured with", printable(machine.source)],
        *([printable(name), _describe_link(link)] for name, link in links.items()),
    ]
    figures = [_draw_levels(links), _draw_times(links), _draw_bandwidth(links), _draw_matrix(machine)]
    data = {
        "machine": printable(machine.name),
        "about": about,
        "figures": [figure for figure in figures if figure],
        "yaml": machine_text(machine),
    }
    title = f"{printable(machine.name)} – Haloscope bench"
    write(page("p2p.html", title, ["p2p.js"], data, "predict"), Path(output))


def _describe_link(link: Link) -> str:
    words = [f"latency {time_text(float(link.latency))}"]
    if link.bandwidth:
        words.append(f"bandwidth {float(link.bandwidth) * 1e-9:.4g} GB/s")
    if link.loggp:
        named = ((name, getattr(link.loggp, name)) for name in ("L", "o", "g", "G"))
        words.append(", ".join(f"{name} {time_text(float(value))}" for name, value in named))
    if link.protocols:
        starts = ", ".join(bytes_text(protocol.first) for protocol in link.protocols[1:])
        words.append(f"lines change at {starts}" if starts else "one line for all sizes")
    return "; ".join(words)


def _draw_levels(links: dict[str, Link]) -> dict[str, Any]:
    times = [float(link.latency) for link in links.values()]
    bounds = [link.latency_interval or (link.latency,) * 2 for link in links.values()]
    trace = {
        "type": "bar",
        "x": [escape_markup(name) for name in links],
        "y": times,
        "marker": {"color": _COLOURS[0]},
        "text": [time_text(time) for time in times],
        "textposition": "outside",
        "error_y": {
            "type": "data",
            "symmetric": False,
            "color": INK,
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
        "core that shares this level as the smallest one, with its 95 % interval.",
        "axes": {"x": "", "y": "time", "logarithmic": []},
    }


def _draw_times(links: dict[str, Link]) -> dict[str, Any]:
    data: list[dict[str, Any]] = []
    shapes = []
    for index, (name, link) in enumerate(links.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        if link.measured:
            data.append(_draw_points(name, link, colour))
        if link.protocols:
            data.append(_draw_lines(name, link, colour))
            shapes += [_draw_mark(protocol.first, colour) for protocol in link.protocols[1:]]
    return {
        "title": "Time against size",
        "key": "times",
        "data": data,
        "shapes": shapes,
        "note": "Points: medians of the measured one-way times with their 95 % intervals. Lines: "
        "latency + bytes / bandwidth, piecewise. Dashed: changes of the line, by a protocol of "
        "the MPI library or a full cache.",
        "axes": {"x": "bytes", "y": "time", "logarithmic": ["x", "y"]},
    }


def _draw_mark(size: int, colour: str) -> dict[str, Any]:
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


def _draw_bandwidth(links: dict[str, Link]) -> dict[str, Any] | None:
    data = []
    for index, (name, link) in enumerate(links.items()):
        gaps = {point.bytes: float(point.gap) for point in link.measured if point.gap}
        if gaps:
            speeds = [1e-6 * size / time for size, time in gaps.items()]
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": escape_markup(name),
                    "x": list(gaps),
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
        "note": "Medians of one-way messages in a window.",
        "axes": {"x": "bytes", "y": "MB/s", "logarithmic": ["x", "y"]},
    }


def _draw_matrix(machine: Machine) -> dict[str, Any] | None:
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


def _draw_points(name: str, link: Link, colour: str) -> dict[str, Any]:
    points = link.measured
    middle = [float(point.time) for point in points]
    bounds = [point.interval or (point.time, point.time) for point in points]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escape_markup(name),
        "x": [point.bytes for point in points],
        "y": middle,
        "marker": {"color": colour, "size": 6},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "thickness": 1,
            "width": 2,
            "array": [float(high) - time for time, (_, high) in zip(middle, bounds, strict=True)],
            "arrayminus": [time - float(low) for time, (low, _) in zip(middle, bounds, strict=True)],
        },
        "hovertemplate": "%{x} B: %{y:.4s}s",
    }


def _draw_lines(name: str, link: Link, colour: str) -> dict[str, Any]:
    """Return the pieces separately, so that jumps are drawn as gaps."""
    largest = link.measured[-1].bytes if link.measured else _LARGEST
    x: list[float | None] = []
    ends = [*(piece_.first for piece_ in link.protocols[1:]), largest + 1]
    for piece, end in zip(link.protocols, ends, strict=True):
        start, last = max(piece.first, 1), max(end - 1, 1)
        x += [start * (last / start) ** (step / 24) for step in range(25)]
        x.append(None)
    # Slightly below the first size of the next piece, so that the last point belongs to this piece.
    y = [None if size is None else link.message_time(round(size)) for size in x]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{escape_markup(name)}, fitted",
        "x": x,
        "y": y,
        "line": {"color": colour, "width": 1.5},
        "hoverinfo": "skip",
    }
