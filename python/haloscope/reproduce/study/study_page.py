"""The page of a study, which compares published and reproduced tables and figures.

Equal results give the same page, byte for byte.
"""

from __future__ import annotations

import base64
from pathlib import Path

import polars as pl

from haloscope.base.errors import OutputError, printable
from haloscope.markov.figures import Cell, Section, Table
from haloscope.profile.page import page, write_page
from haloscope.reproduce.study.outcomes import PartOutcome, list_outcomes
from haloscope.reproduce.study.study_figures import read_figures
from haloscope.reproduce.study.study_folder import Study

_SCRIPTS = ("sections.js", "regimes.js")
_STATES = {
    "done": "reproduced; values that should be exactly those of the paper are",
    "differs": "a value differs that should be exactly that of the paper",
    "failed": "no result",
    "not run": "not run; parts that take long need --large",
}


def write_study_page(study: Study, directory: Path, output: Path) -> None:
    """Write the page of the results in `directory` to `output`.

    Raises:
        OutputError: The page cannot be written, or a result cannot be read.
        UsageError: The directory has results of another study.
    """
    ended = list_outcomes(study, directory)
    done = sum(outcome.state in ("done", "differs") for outcome in ended)
    sections = [_make_overview(ended), *(_make_section(outcome, directory) for outcome in ended)]
    data = {
        "verb": "study",
        "title": study.title,
        "about": study.paper,
        "notes": [f"{outcome.part.title}: {outcome.why}" for outcome in ended if outcome.state == "failed"],
        "figures": [("parts with results", f"{done} of {len(ended)}", "")],
        "sections": [section.as_json() for section in sections],
    }
    write_page(page("sections.html", f"{study.title} – Haloscope", _SCRIPTS, data), output)


def _make_overview(ended: list[PartOutcome]) -> Section:
    rows: list[list[Cell]] = [
        [
            (outcome.part.title, outcome.part.title),
            (outcome.state, outcome.state),
            (None, _explain_state(outcome)),
        ]
        for outcome in ended
    ]
    columns = [("part of the paper", ""), ("state", ""), ("meaning", "")]
    return Section("answer", "Outcomes", tables=[Table("", columns, rows)])


def _explain_state(outcome: PartOutcome) -> str:
    """Return the meaning of a state, or the reason if a part cannot run on this machine."""
    return f"not run: {outcome.why}" if outcome.state == "not run" and outcome.why else _STATES[outcome.state]


def _make_section(outcome: PartOutcome, directory: Path) -> Section:
    part = outcome.part
    name = f"part-{part.name}"  # the page uses names such as figures
    if outcome.state not in ("done", "differs"):
        return Section(name, part.title, text=[_explain_state(outcome)])
    return Section(
        name,
        part.title,
        text=part.text,
        figures=[figure for name in part.figures for figure in read_figures(directory / name)],
        tables=[_read_table(directory / name) for name in part.tables],
        pictures=[(_embed_picture(directory / name), f"{part.title}: {name}") for name in part.pictures],
    )


def _read_table(file: Path) -> Table:
    try:
        frame = pl.read_csv(file, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(
            f"{file}: cannot be read: {str(error).splitlines()[0]}; remove it and run again"
        ) from None
    columns = [(name.replace("_", " "), "") for name in frame.columns]
    return Table(file.name, columns, [[_make_cell(value) for value in row] for row in frame.iter_rows()])


def _make_cell(value: object) -> Cell:
    if value is None:
        return None, "–"
    if isinstance(value, bool):
        return float(value), "yes" if value else "no"
    if isinstance(value, int):
        return float(value), str(value)
    if isinstance(value, float):
        return value, f"{value:.6g}"
    return str(value), printable(str(value))


def _embed_picture(file: Path) -> str:
    """Return a picture as a data URL."""
    try:
        return f"data:image/png;base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}; remove it and run again") from None
