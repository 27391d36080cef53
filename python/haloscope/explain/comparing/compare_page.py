"""The page of a comparison: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.files import shorten_paths
from haloscope.base.units import UNKNOWN, count_text, noun_text, time_text
from haloscope.explain.comparing.compare_figures import draw_changes, draw_intervals, draw_runs
from haloscope.explain.comparing.program_structure import FOLDED, fold_structure
from haloscope.explain.comparing.run_comparison import Comparison
from haloscope.explain.comparing.time_differences import longer_text
from haloscope.markov.figures import Cell, Column, Section, Table, fill_table
from haloscope.profile.page import page, write_page
from haloscope.profile.store import region_text

_SCRIPTS = ("sections.js", "regimes.js")
_MOST_ROWS = 2000


def write_compare_page(compared: Comparison, output: Path) -> None:
    """Write the page to `output`, which is replaced atomically. Raises `OutputError`."""
    programs = dict.fromkeys(printable(side.first.program) for side in (compared.first, compared.second))
    title = f"{compared.headline}."
    ranks = noun_text(compared.first.first.ranks, "rank")
    data = {
        "verb": "compare",
        "title": title,
        "about": f"{' and '.join(programs)} on {ranks}",
        "notes": _shorten_notes(compared),
        "figures": _list_key_figures(compared),
        "sections": [section.as_json() for section in _make_sections(compared)],
    }
    name = f"Comparison of {' and '.join(programs)}"
    write_page(page("sections.html", f"{name} – Haloscope", _SCRIPTS, data), output)


def _shorten_notes(compared: Comparison) -> list[str]:
    """Return the remarks, with names of files instead of their paths."""
    sides = (compared.first, compared.second)
    paths = [str(run.path) for side in sides for run in side.runs]
    paths += [line.partition(": ")[0] for side in sides for line in side.skipped]
    names = sorted(zip(paths, shorten_paths(paths), strict=True), key=lambda pair: -len(pair[0]))
    notes = list(compared.remarks)
    for path, name in names:
        notes = [note.replace(path, name) for note in notes]
    return notes


def _list_key_figures(compared: Comparison) -> list[tuple[str, str, str]]:
    claim = compared.claims[0]
    changed = compared.structure.filter(~pl.col("varies"))
    regions = changed["region"].n_unique()
    runs = [len(side.runs) for side in (compared.first, compared.second)]
    return [
        ("time of A", time_text(claim.times[0]), f"median of {noun_text(runs[0], 'run')}"),
        ("time of B", time_text(claim.times[1]), f"median of {noun_text(runs[1], 'run')}"),
        (
            "B takes",
            longer_text(claim.faster[0]),
            _significance_text(claim.faster[1], claim.faster[2], claim.sure),
        ),
        ("counts changed", count_text(len(changed)), f"in {noun_text(regions, 'region')}"),
    ]


def _significance_text(low: float | None, high: float | None, sure: bool) -> str:
    if low is None or high is None:
        return "significance unknown: one run per side"
    return f"{'significant' if sure else 'not significant'} [{longer_text(high)}, {longer_text(low)}]"


def _make_sections(compared: Comparison) -> Iterator[Section]:
    yield _make_answer(compared)
    structure = compared.structure
    if len(structure):
        yield Section("counts", "Counts", tables=[_make_structure_table(structure)])
    figures = [draw_runs(compared.first, compared.second), draw_intervals(compared.claims)]
    drawn = [figure for figure in figures if figure]
    yield Section("times", "Times", figures=drawn, tables=[_make_times_table(compared.times)])
    bars = draw_changes(compared.parts)
    table = _make_parts_table(compared.parts)
    yield Section("where", "Where the time went", figures=[bars] if bars else [], tables=[table])


def _make_answer(compared: Comparison) -> Section:
    """Return the section with the main results as sentences."""
    lines = [line for line in compared.describe()[3:] if not line.startswith("note: ")]
    return Section("answer", "What changed", text=lines)


def _make_structure_table(rows: pl.DataFrame) -> Table:
    folded = fold_structure(rows)
    there = {name: title for name, title in FOLDED.items() if any(row[name] for row in folded)}
    columns: list[Column] = [
        ("region", "Without nested regions", "region", region_text),
        *((title, "First run of A → first run of B", name, None) for name, title in there.items()),
        ("other counts", "", "others", printable),
        *([("runs agree", "no: runs of one side differ", "agree", None)] if rows["varies"].any() else []),
    ]
    nothing: Cell = (None, "")
    shown = [
        row
        | {name: row[name] or nothing for name in there}
        | {"agree": (None, "no" if row["varies"] else "yes")}
        for row in folded[:_MOST_ROWS]
    ]
    more = (
        f" {noun_text(len(folded) - len(shown), 'more row')} not shown." if len(folded) > len(shown) else ""
    )
    return fill_table(f"Counts that are not equal in all runs; sums over all ranks.{more}", columns, shown)


def _make_times_table(rows: pl.DataFrame) -> Table:
    columns: list[Column] = [
        ("region", "", "region", region_text),
        ("what", "time: with nested regions; own time: without; series: per instance", "what", region_text),
        ("A", "Median over runs", "first_time", time_text),
        ("B", "Median over runs", "second_time", time_text),
        ("B takes", "Percent that B takes longer", "faster", None),
        ("from", "Simultaneous 95 % interval of all rows", "faster_high", None),
        ("to", "", "faster_low", None),
        ("significant", "", "significant", region_text),
    ]
    shown = [
        row
        | {key: _make_percent_cell(row[key]) for key in ("faster", "faster_high", "faster_low")}
        | {"significant": "yes" if row["sure"] else "no"}
        for row in rows.to_dicts()
    ]
    return fill_table("Seconds per rank, mean over ranks and median over runs.", columns, shown)


def _make_percent_cell(faster: float | None) -> Cell:
    return (None, UNKNOWN) if faster is None else (-faster, longer_text(faster))


def _make_parts_table(rows: pl.DataFrame) -> Table:
    columns: list[Column] = [
        ("region", "Without nested regions", "region", region_text),
        ("part", "caused: waiting of any rank that this region causes", "part", region_text),
        ("A", "Mean over runs", "first_time", time_text),
        ("B", "Mean over runs", "second_time", time_text),
        ("difference", "B − A", "change", _signed_time_text),
        ("from", "95 % interval", "change_low", _signed_time_text),
        ("to", "", "change_high", _signed_time_text),
    ]
    caption = (
        "Means over ranks and runs, as medians do not add up. All rows except caused add up to the program."
    )
    return fill_table(caption, columns, rows.head(_MOST_ROWS).to_dicts())


def _signed_time_text(seconds: float | None) -> str:
    if seconds is None:
        return time_text(None)
    return f"{'−' if seconds < 0 else '+'}{time_text(abs(seconds))}"
