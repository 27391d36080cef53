"""The page of `haloscope improve`: one self-contained HTML file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haloscope.base.errors import printable
from haloscope.base.palette import METHODS
from haloscope.base.units import UNKNOWN, noun_text, time_text
from haloscope.hide.improve.improvement import AS_IT_IS, Improvement
from haloscope.markov.figures import Cell, Column, Figure, Section, Table, axis, fill_table, margin, plain
from haloscope.profile.page import page, write_page

_SCRIPTS = ("sections.js", "regimes.js")
_GRID = {"gridcolor": "rgba(128, 140, 150, .25)", "tickcolor": "rgba(0, 0, 0, 0)"}


def write_improve_page(found: Improvement, output: Path) -> None:
    """Write the page to `output`, which is replaced atomically. Raises `OutputError`."""
    title = "Remedies that make it faster" if found.kept else "No remedy is significantly faster"
    data = {
        "verb": "improve",
        "title": title,
        "about": printable(shlex.join(found.command)),
        "notes": [],
        "figures": _list_key_figures(found),
        "sections": [section.as_json() for section in _make_sections(found)],
    }
    write_page(page("sections.html", f"{title} – Haloscope", _SCRIPTS, data), output)


def _list_key_figures(found: Improvement) -> list[tuple[str, str, str]]:
    first = found.runs[0].seconds
    counts = [
        ("as it is", time_text(first), "the first run"),
        ("remedies tried", str(len(found.tried)), f"in {noun_text(len(found.runs), 'run')}"),
        ("kept", str(len(found.kept)), ""),
    ]
    if found.proof is None:
        return counts
    interval = f"{found.proof.low:.2f} to {found.proof.high:.2f}"
    return [*counts, ("times as fast", f"{found.proof.gain:.2f}", interval)]


def _make_sections(found: Improvement) -> Iterator[Section]:
    causes = [f"cause: {sentence}" for sentence in found.causes]
    lines = [printable(line) for line in found.describe() if line not in causes]
    yield Section("answer", "Result", text=lines)
    if causes:
        text = [printable(sentence) for sentence in found.causes]
        yield Section("causes", "What findings names as the cause", text=text)
    if found.kept:
        yield Section("script", "For the job script", code=[printable(line) for line in found.script()])
    if found.proofs:
        yield Section("proofs", "Proofs", figures=[_draw_times(found)], tables=[_make_proofs_table(found)])
    yield Section("tried", "Tried remedies", tables=[_make_tried_table(found)])


def _draw_times(found: Improvement) -> Figure:
    """Return the figure of the time of each run, by its remedies."""
    ways = list(dict.fromkeys(run.remedies for run in found.runs))
    traces = []
    for symbol, way in enumerate(ways):
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
                "marker": {"size": 10, "color": METHODS[1 if way else 3], "symbol": symbol},
                "showlegend": False,
            }
        )
    layout = {
        "height": 110 + 30 * len(ways),
        "margin": {**margin(16), "l": 16},
        "xaxis": axis("time", tickformat="~s", ticksuffix="s", rangemode="tozero") | _GRID,
        "yaxis": axis("", autorange="reversed", type="category") | _GRID,
    }
    return Figure("One point per run: seconds from MPI_Init to the end.", traces, layout)


def _make_proofs_table(found: Improvement) -> Table:
    columns: list[Column] = [
        ("remedies", "", "remedies", printable),
        ("over", "Compared with these runs", "over", printable),
        ("times as fast", "Median over all pairs of a round", "gain", None),
        ("from", "95 % interval", "low", None),
        ("to", "", "high", None),
        ("runs", "Of both sides, in random order", "runs", str),
        ("kept", "", "kept", printable),
    ]
    rows = []
    for proof in found.proofs:
        gains: list[Cell] = [
            (gain, f"{gain:.2f}") for gain in (proof.gain, proof.low, proof.high) if gain < 1e300
        ]
        gains += [(None, UNKNOWN)] * (3 - len(gains))
        row: dict[str, Any] = {
            "remedies": " and ".join(proof.remedies),
            "over": " and ".join(proof.over) or AS_IT_IS,
        }
        row |= {"runs": 2 * len(proof.after), "kept": "yes" if proof.holds else "no"}
        rows.append(row | dict(zip(("gain", "low", "high"), gains, strict=True)))
    return fill_table("Tested in separate runs, which were not used for the selection.", columns, rows)


def _make_tried_table(found: Improvement) -> Table:
    columns: list[Column] = [
        ("remedy", "", "name", printable),
        ("why", "Reason", "why", printable),
        ("time", "Of the first run with it", "seconds", time_text),
        ("problem", "", "problem", printable),
    ]
    first = {run.remedies[-1]: run for run in reversed(found.runs) if run.remedies}
    rows = []
    for remedy in found.tried:
        run = first.get(remedy.name)
        result = (
            {"seconds": run.seconds, "problem": run.problem}
            if run
            else {"seconds": None, "problem": "not run"}
        )
        rows.append({"name": remedy.name, "why": remedy.why} | result)
    return fill_table("In random order with unchanged runs; the better half again.", columns, rows)
