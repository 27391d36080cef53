"""The page of a machine model: latency by level, time by size with fitted lines, and the latency matrix."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from haloscope.base.errors import printable
from haloscope.base.palette import INK, SERIES
from haloscope.base.units import UNKNOWN, bytes_text, time_text
from haloscope.markov.figures import Figure, Section, axis, margin, unit_of
from haloscope.predict.machine import Level, Link, Machine
from haloscope.predict.machine_files import machine_text
from haloscope.predict.model_page import escape_markup
from haloscope.profile.page import page
from haloscope.profile.page import write_page as write

_SMT = "SMT"
# The source that bench p2p writes: its version, the MPI library, the date.
_MEASURED = re.compile(r"haloscope \S+ bench p2p, (.+), \d{4}-\d\d-\d\d")
_MOST_LABELLED = 3  # decades of an axis with a text at each tick
_LARGEST = 1 << 22  # bytes, for models without measured sizes
# Okabe and Ito's colours for colour-blind readers.
_COLOURS = (*SERIES, INK)


def write_machine_page(machine: Machine, output: str | Path) -> None:
    """Write the page of a machine model, with its measured times.

    Raises `OutputError` if the page cannot be written.
    """
    links: dict[str, Link] = {_SMT: machine.smt} if machine.smt else {}
    links |= {level.name: level for level in machine.levels}
    title = printable(_make_title(machine))
    figures = [_draw_levels(links), _draw_times(links), _draw_bandwidth(links), _draw_matrix(machine)]
    about = [machine.description, f"Measured with {machine.source}" if machine.source else ""]
    about += [f"{name}: {_describe_link(link)}" for name, link in links.items()]
    text = machine_text(machine).splitlines()
    sections = [
        *(section for section in figures if section),
        Section("description", "About this machine", text=[printable(line) for line in about if line]),
        Section("yaml", "The machine model", text=["As -o writes it, for haloscope bench model."], code=text),
    ]
    data = {
        "verb": "bench p2p",
        "title": title,
        "about": "" if title == printable(machine.name) else f"model {printable(machine.name)}",
        "notes": [],
        "figures": _list_key_figures(machine.levels),
        "sections": [section.as_json() for section in sections],
    }
    scripts = ("sections.js", "regimes.js")
    write(page("sections.html", f"{title} – Haloscope bench", scripts, data), Path(output))


def _make_title(machine: Machine) -> str:
    """Return the host and the MPI library of a model of bench p2p, else the name."""
    host, is_described, _ = machine.description.partition(": ")
    measured = _MEASURED.fullmatch(machine.source)
    return f"{host}, {measured[1]}" if is_described and measured else machine.name


def _list_key_figures(levels: Sequence[Level]) -> list[tuple[str, str, str]]:
    """Return latency, bandwidth and eager limit of the nearest and of the farthest cores."""
    figures = []
    for level in dict.fromkeys((levels[0], levels[-1])):
        where = printable(level.name)
        speed = f"{float(level.bandwidth) * 1e-9:.3g} GB/s" if level.bandwidth else UNKNOWN
        limit = bytes_text(level.protocols[1].first) if len(level.protocols) > 1 else UNKNOWN
        figures += [
            ("latency", time_text(float(level.latency)), where),
            ("bandwidth", speed, where),
            ("eager limit", limit, "first change of the protocol" if limit != UNKNOWN else "no change seen"),
        ]
    return figures


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


def _draw_levels(links: dict[str, Link]) -> Section | None:
    if len(links) < 2:
        return None
    times = [float(link.latency) for link in links.values()]
    bounds = [link.latency_interval or (link.latency,) * 2 for link in links.values()]
    trace = {
        "type": "bar",
        "x": [escape_markup(name) for name in links],
        "y": times,
        "marker": {"color": _COLOURS[0]},
        "text": [time_text(time) for time in times],
        "textposition": "inside",
        "insidetextanchor": "start",
        "width": 0.5,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "color": INK,
            "array": [float(high) - time for time, (_, high) in zip(times, bounds, strict=True)],
            "arrayminus": [time - float(low) for time, (low, _) in zip(times, bounds, strict=True)],
        },
        "hovertemplate": "%{x}: %{y:.4s}s<extra></extra>",
    }
    caption = (
        "The median one-way time of the smallest messages between core 0 and the first core that shares this"
        " level as the smallest one, with its 95 % interval."
    )
    layout = _make_layout(axis("", type="category"), axis("time", tickformat="~s", ticksuffix="s"))
    return Section("levels", "Latency by level", [Figure(caption, [trace], layout)])


def _draw_times(links: dict[str, Link]) -> Section | None:
    data: list[dict[str, Any]] = []
    shapes = []
    for index, (name, link) in enumerate(links.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        if link.measured:
            data.append(_draw_points(name, link, colour))
        if link.protocols:
            data.append(_draw_lines(name, link, colour))
            shapes += [_draw_mark(protocol.first, colour) for protocol in link.protocols[1:]]
    if not data:
        return None
    caption = (
        "Points: medians of the measured one-way times with their 95 % intervals. Lines: latency + bytes /"
        " bandwidth, piecewise. Dashed: changes of the line, by a protocol of MPI or a full cache."
    )
    layout = _make_layout(_size_axis(data), _decade_axis("time", data, _tick_text), shapes=shapes)
    return Section("times", "Time against size", [Figure(caption, data, layout)])


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


def _draw_bandwidth(links: dict[str, Link]) -> Section | None:
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
    layout = _make_layout(_size_axis(data), _decade_axis("MB/s", data, "{:g}".format))
    return Section(
        "bandwidth", "Bandwidth", [Figure("Medians of one-way messages in a window.", data, layout)]
    )


def _draw_matrix(machine: Machine) -> Section | None:
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
    yaxis = axis("core", type="category", autorange="reversed", scaleanchor="x")
    layout = _make_layout(axis("core", type="category"), yaxis, height=560)
    caption = "Medians of the one-way times of the smallest messages."
    return Section("matrix", "Latency between all pairs of cores", [Figure(caption, [trace], layout)])


def _make_layout(xaxis: dict[str, Any], yaxis: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "height": 440,
        "hovermode": "closest",
        "margin": margin(40),
        "xaxis": xaxis,
        "yaxis": yaxis,
        **more,
    }


def _size_axis(data: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a logarithmic axis with ticks at powers of four."""
    largest = max(size for trace in data for size in trace["x"] if size)
    steps = [4**power for power in range(math.ceil(math.log(max(largest, 1), 4)) + 1)]
    return axis("bytes", type="log", tickvals=steps, ticktext=[_size_text(size) for size in steps])


def _size_text(size: int) -> str:
    power = min((size.bit_length() - 1) // 10, 3)
    return f"{size >> 10 * power} {('', 'Ki', 'Mi', 'Gi')[power]}".strip()


def _decade_axis(
    title: str, data: Sequence[Mapping[str, Any]], text: Callable[[float], str]
) -> dict[str, Any]:
    """Return a logarithmic axis with ticks at 1, 2 and 5; over many decades only 1 has a text."""
    values = [value for trace in data for value in trace["y"] if value and value > 0]
    low, high = (math.floor(math.log10(value)) for value in (min(values), max(values)))
    is_short = high - low < _MOST_LABELLED
    ticks = [(digit * 10.0**power, digit) for power in range(low, high + 1) for digit in (1, 2, 5)]
    texts = [text(value) if digit == 1 or is_short else "" for value, digit in ticks]
    return axis(title, type="log", tickvals=[value for value, _ in ticks], ticktext=texts)


def _tick_text(seconds: float) -> str:
    unit = unit_of(1.001 * seconds)
    return f"{seconds / unit.scale:.3g} {unit.name}"


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
