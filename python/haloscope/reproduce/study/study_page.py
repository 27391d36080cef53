"""The page of a study, which compares published and reproduced tables and figures.

Equal results give the same page, byte for byte.
"""

from __future__ import annotations

import base64
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from haloscope.base.errors import OutputError, printable
from haloscope.base.units import UNKNOWN, duration_text, percent_text, time_text
from haloscope.markov.figures import Cell, Section, Table
from haloscope.profile.page import page, write_page
from haloscope.reproduce.study.judging import judge_study
from haloscope.reproduce.study.outcomes import PartOutcome, list_outcomes
from haloscope.reproduce.study.study_figures import read_figures
from haloscope.reproduce.study.study_folder import Study
from haloscope.reproduce.study.verdict_tables import make_verdict_sections, number_text

_SCRIPTS = ("sections.js", "regimes.js")
_STATES = {
    "done": "it has its results",
    "failed": "no result",
    "not run": "parts that take long need --large",
}
_WORDS = {"done": "✓ done", "failed": "✗ failed", "not run": "not run"}
_CLOSE = 0.05  # largest relative difference with a tick
# Names of a paper's column and ours.
_PAIRS = (("{}", "our_{}"), ("{}_printed", "{}_found"))
_UNNAMED = ("published", "ours")


def write_study_page(study: Study, directory: Path, output: Path) -> None:
    """Write the page of the results in `directory` to `output`.

    Raises:
        OutputError: The page cannot be written, or a result cannot be read.
        UsageError: The directory has results of another study.
    """
    ended = list_outcomes(study, directory)
    done = sum(outcome.state == "done" for outcome in ended)
    verdicts = judge_study(study, directory, ended)
    sections = [
        _make_overview(ended, verdicts.summary()),
        *make_verdict_sections(verdicts),
        *(_make_section(outcome, directory) for outcome in ended),
        _make_conditions(ended),
    ]
    failed = [outcome for outcome in ended if outcome.state == "failed"]
    data = {
        "verb": "study",
        "title": study.title,
        "about": study.paper,
        "notes": [_hide_directory(f"{one.part.title}: {one.why}", directory) for one in failed],
        "figures": [("ran", f"{done} of {len(ended)}", "parts of the study"), *verdicts.tiles()],
        "sections": [section.as_json() for section in sections],
    }
    write_page(page("sections.html", f"{study.title} – Haloscope", _SCRIPTS, data), output)


def _hide_directory(text: str, directory: Path) -> str:
    """Return a text without the directory of the results: pages are sent to others."""
    return text.replace(f"{directory}{os.sep}", "")


def _make_overview(ended: list[PartOutcome], summary: str) -> Section:
    rows: list[list[Cell]] = [
        [
            (outcome.part.title, outcome.part.title),
            (outcome.state, _WORDS[outcome.state]),
            (None, _explain_state(outcome)),
        ]
        for outcome in ended
    ]
    columns = [("part of the paper", ""), ("state", ""), ("meaning", "")]
    return Section("answer", "Outcomes", tables=[Table("", columns, rows)], text=[summary] if summary else [])


def _make_conditions(ended: list[PartOutcome]) -> Section:
    """Return the machine and the time of each part."""
    rows: list[list[Cell]] = []
    for outcome in ended:
        found = outcome.conditions
        if found is not None:
            rows.append(
                [
                    _make_cell(outcome.part.title),
                    _make_cell(found.date),
                    (found.seconds, duration_text(found.seconds)),
                    (found.others, UNKNOWN if found.others is None else percent_text(found.others, 1.0)),
                    _make_cell(found.switches),
                    (found.processor, printable(f"{found.cores} × {found.processor}")),
                    _make_cell(found.mpi or UNKNOWN),
                    _make_cell(found.version),
                ]
            )
    columns = [
        ("part", ""),
        ("date", ""),
        ("duration", ""),
        ("used by others", "Share of the processors that other programs used"),
        ("context switches", "Involuntary ones, of the programs of this part"),
        ("cores", "Those that the part could use"),
        ("MPI", ""),
        ("Haloscope", ""),
    ]
    return Section("conditions", "Machine", tables=[Table("", columns, rows)])


def _explain_state(outcome: PartOutcome) -> str:
    """Return the meaning of a state, or the reason if a part cannot run on this machine."""
    return outcome.why if outcome.state == "not run" and outcome.why else _STATES[outcome.state]


def _make_section(outcome: PartOutcome, directory: Path) -> Section:
    part = outcome.part
    name = f"part-{part.name}"  # the page uses names such as figures
    if outcome.state != "done":
        return Section(name, part.title, text=[f"{_WORDS[outcome.state]}: {_explain_state(outcome)}"])
    return Section(
        name,
        part.title,
        text=part.text,
        figures=[figure for name in part.figures for figure in read_figures(directory / name)],
        tables=[_read_table(directory / name, part.units) for name in part.tables],
        pictures=[(_embed_picture(directory / name), f"{part.title}: {name}") for name in part.pictures],
    )


def _read_table(file: Path, units: Mapping[str, str]) -> Table:
    """Return a table with each of our columns next to the paper's, and their difference."""
    try:
        frame = pl.read_csv(file, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(
            f"{file}: cannot be read: {str(error).splitlines()[0]}; remove it and run again"
        ) from None
    pairs = _find_pairs(frame.columns)
    ours = {our for our, _ in pairs.values()}
    columns: list[tuple[str, str]] = []
    cells: list[list[Cell]] = []
    for name in frame.columns:
        if name in ours:
            continue
        our, base = pairs.get(name, ("", name))
        title, unit = base.replace("_", " "), units.get(base, "")
        values = frame[name].to_list()
        columns.append((title, ""))
        cells.append([_make_cell(value, unit) for value in values])
        if not our:
            continue
        here = frame[our].to_list()
        label = f"{title}, " if title else ""
        columns[-1:] = [(f"{label}paper", ""), (f"{label}here", ""), ("difference", "Here over the paper")]
        cells.append([_make_cell(value, unit) for value in here])
        cells.append([_compare_values(*both) for both in zip(values, here, strict=True)])
    caption = file.name + (f". ✓: at most {100 * _CLOSE:.0f} % apart." if pairs else "")
    return Table(caption, columns, [list(row) for row in zip(*cells, strict=True)])


def _find_pairs(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return our column for each column of the paper, with their common name (empty: no name)."""
    pairs = {_UNNAMED[0]: (_UNNAMED[1], "")} if set(_UNNAMED) <= set(names) else {}
    for paper, our in _PAIRS:
        begin, _, end = our.partition("{}")
        for name in names:
            base = name.removeprefix(begin).removesuffix(end)
            if our.format(base) == name and paper.format(base) in names:
                pairs[paper.format(base)] = (name, base)
    return pairs


def _compare_values(paper: object, here: object) -> Cell:
    if not isinstance(paper, int | float) or not isinstance(here, int | float) or not paper:
        return (0.0, "✓") if paper == here and paper is not None else (None, "")
    apart = here / paper - 1
    if not math.isfinite(apart):
        return None, ""
    return apart, f"{100 * apart:+.1f} % {'✓' if abs(apart) <= _CLOSE else '✗'}"


def _make_cell(value: object, unit: str = "") -> Cell:
    if isinstance(value, bool):
        return float(value), "✓" if value else "✗"
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None, UNKNOWN
    if isinstance(value, int | float) and unit:
        return float(value), time_text(value) if unit == "s" else percent_text(value, 1.0)
    if isinstance(value, int | float):
        return float(value), number_text(value)
    return str(value), printable(str(value))


def _embed_picture(file: Path) -> str:
    """Return a picture as a data URL."""
    try:
        return f"data:image/png;base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"
    except OSError as error:
        raise OutputError(f"{file}: {error.strerror}; remove it and run again") from None
