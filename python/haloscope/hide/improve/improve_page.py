"""One self-contained page about what was tried to make a program faster, and what stays."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from haloscope.base.errors import printable
from haloscope.base.palette import METHODS
from haloscope.base.units import time_text
from haloscope.hide.improve.improvement import AS_IT_IS, Improvement
from haloscope.markov.figures import Cell, Figure, Section, Table, axis, margin, plain
from haloscope.profile.page import page, write_page

_SCRIPTS = ("sections.js", "regimes.js")
_GRID = {"gridcolor": "rgba(128, 140, 150, .25)", "tickcolor": "rgba(0, 0, 0, 0)"}


def write_improve_page(found: Improvement, output: Path) -> None:
    """Write the page to `output`, which is replaced when it is whole. Raises `OutputError`."""
    title = "What makes it faster" if found.kept else "Nothing makes it faster for certain"
    data = {
        "verb": "improve",
        "title": title,
        "about": printable(shlex.join(found.command)),
        "notes": [],
        "figures": _key_figures(found),
        "sections": [section.as_json() for section in _sections(found)],
    }
    write_page(page("sections.html", f"{title} – Haloscope", _SCRIPTS, data), output)


def _key_figures(found: Improvement) -> list[tuple[str, str, str]]:
    first = found.runs[0].seconds
    counts = [
        ("as it is", time_text(first), "the first run"),
        ("remedies tried", str(len(found.tried)), f"in {len(found.runs)} runs"),
        ("kept", str(len(found.kept)), ""),
    ]
    if found.proof is None:
        return counts
    interval = f"{found.proof.low:.2f} to {found.proof.high:.2f}"
    return [*counts, ("times as fast", f"{found.proof.gain:.2f}", interval)]


def _sections(found: Improvement) -> Iterator[Section]:
    yield Section("answer", "What came of it", text=[printable(line) for line in found.describe()])
    if found.kept:
        yield Section("script", "For the job script", text=[printable(line) for line in found.script()])
    if found.proofs:
        yield Section("proofs", "Proofs", figures=[_times_drawn(found)], tables=[_proofs_table(found)])
    yield Section("tried", "What was tried", tables=[_tried_table(found)])


def _times_drawn(found: Improvement) -> Figure:
    """Return the time of each run, by what was tried in it."""
    ways = list(dict.fromkeys(run.remedies for run in found.runs))
    traces = []
    for place, way in enumerate(ways):
        runs = [(number, run) for number, run in enumerate(found.runs, 1) if run.remedies == way]
        done = [(number, run.seconds) for number, run in runs if run.seconds is not None]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plain(" and ".join(way) or AS_IT_IS),
                "x": [seconds for _, seconds in done],
                "y": [plain(" and ".join(way) or AS_IT_IS)] * len(done),
                "text": [f"run {number}" for number, _ in done],
                "hovertemplate": "%{text}: %{x:.4s}s<extra></extra>",
                "marker": {"size": 10, "color": METHODS[1 if way else 3], "symbol": place},
                "showlegend": False,
            }
        )
    layout = {
        "height": 110 + 30 * len(ways),
        "margin": {**margin(16), "l": 16},
        "xaxis": axis("time", tickformat="~s", ticksuffix="s", rangemode="tozero") | _GRID,
        "yaxis": axis("", autorange="reversed", type="category") | _GRID,
    }
    return Figure("A point a run: seconds from MPI_Init to the end.", traces, layout)


def _proofs_table(found: Improvement) -> Table:
    columns = [
        ("remedies", ""),
        ("over", "Beside which runs"),
        ("times as fast", "Geometric mean over the rounds"),
        ("from", "Interval: all hold together in 95 % of cases"),
        ("to", ""),
        ("rounds", "Runs of both sides, one beside the other"),
        ("kept", ""),
    ]
    rows: list[list[Cell]] = []
    for one in found.proofs:
        names = [" and ".join(one.remedies), " and ".join(one.over) or AS_IT_IS]
        gains: list[Cell] = [(gain, f"{gain:.2f}") for gain in (one.gain, one.low, one.high) if gain < 1e300]
        gains += [(None, "–")] * (3 - len(gains))
        last: list[Cell] = [(len(one.after), str(len(one.after))), _name("yes" if one.holds else "no")]
        rows.append([*map(_name, names), *gains, *last])
    return Table("Proved in runs that had no part in the choice.", columns, rows)


def _tried_table(found: Improvement) -> Table:
    columns = [
        ("remedy", ""),
        ("why", "What suggested it"),
        ("time", "Of the one run of the choice"),
        ("problem", ""),
    ]
    alone = {run.remedies[0]: run for run in reversed(found.runs) if len(run.remedies) == 1}
    rows: list[list[Cell]] = []
    for one in found.tried:
        run = alone.get(one.name)
        seconds = run.seconds if run else None
        told = run.problem if run else "not run"
        rows.append([_name(one.name), _name(one.why), (seconds, time_text(seconds)), _name(told)])
    return Table("Each was run once, between two runs as it is.", columns, rows)


def _name(text: str) -> Cell:
    return text, printable(text)
