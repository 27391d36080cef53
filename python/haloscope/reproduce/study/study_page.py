"""The page of a study: each table and figure of the paper, what is published beside what came out here.

The same results make the same page, byte for byte.
"""

from __future__ import annotations

import base64
from pathlib import Path

import polars as pl

from haloscope.base.errors import OutputError, printable
from haloscope.markov.figures import Cell, Section, Table
from haloscope.profile.page import page, write_page
from haloscope.reproduce.study.outcomes import PartOutcome, outcomes
from haloscope.reproduce.study.study_figures import read_figures
from haloscope.reproduce.study.study_folder import Study

_SCRIPTS = ("sections.js", "regimes.js")
_STATES = {
    "done": "came out; what the paper has exactly is exact here",
    "differs": "came out, but a value that should be exactly the paper's is another one",
    "failed": "has no result",
    "not run": "was not run; parts that take long need --large",
}


def write_study_page(study: Study, directory: Path, output: Path) -> None:
    """Write the page about the results in `directory` to `output`. Raises `OutputError`, `UsageError`."""
    ended = outcomes(study, directory)
    done = sum(one.state in ("done", "differs") for one in ended)
    sections = [_overview(ended), *(_section(one, directory) for one in ended)]
    data = {
        "verb": "study",
        "title": study.title,
        "about": study.paper,
        "notes": [f"{one.part.title}: {one.why}" for one in ended if one.state == "failed"],
        "figures": [("parts that came out", f"{done} of {len(ended)}", "")],
        "sections": [section.as_json() for section in sections],
    }
    write_page(page("sections.html", f"{study.title} – Haloscope", _SCRIPTS, data), output)


def _overview(ended: list[PartOutcome]) -> Section:
    rows: list[list[Cell]] = [
        [(one.part.title, one.part.title), (one.state, one.state), (None, _meaning(one))] for one in ended
    ]
    columns = [("part of the paper", ""), ("state", ""), ("which means", "")]
    return Section("answer", "What came out", tables=[Table("", columns, rows)])


def _meaning(one: PartOutcome) -> str:
    """Return what a state means: for a part that cannot run here, why."""
    return f"was not run: {one.why}" if one.state == "not run" and one.why else _STATES[one.state]


def _section(one: PartOutcome, directory: Path) -> Section:
    part = one.part
    name = f"part-{part.name}"  # the page has names of its own, such as figures
    if one.state not in ("done", "differs"):
        return Section(name, part.title, text=[_meaning(one)])
    return Section(
        name,
        part.title,
        text=part.text,
        figures=[figure for name in part.figures for figure in read_figures(directory / name)],
        tables=[_table(directory / name) for name in part.tables],
        pictures=[(_picture(directory / name), f"{part.title}: {name}") for name in part.pictures],
    )


def _table(file: Path) -> Table:
    try:
        frame = pl.read_csv(file, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(
            f"{file}: cannot be read: {str(error).splitlines()[0]}; remove it and run again"
        ) from None
    columns = [(name.replace("_", " "), "") for name in frame.columns]
    return Table(file.name, columns, [[_cell(value) for value in row] for row in frame.iter_rows()])


def _cell(value: object) -> Cell:
    if value is None:
        return None, "–"
    if isinstance(value, bool):
        return float(value), "yes" if value else "no"
    if isinstance(value, int):
        return float(value), str(value)
    if isinstance(value, float):
        return value, f"{value:.6g}"
    return str(value), printable(str(value))


def _picture(file: Path) -> str:
    """Return a picture as an address that needs no file."""
    try:
        return f"data:image/png;base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}; remove it and run again") from None
