"""The page of a comparison: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import count_text, noun_text, time_text
from haloscope.explain.comparing.compare_figures import draw_changes, draw_intervals
from haloscope.explain.comparing.run_comparison import Comparison
from haloscope.explain.comparing.time_differences import longer_text
from haloscope.markov.figures import Cell, Section, Table
from haloscope.profile.page import page, write_page
from haloscope.profile.store import region_text

_SCRIPTS = ("sections.js", "regimes.js")
_MOST_ROWS = 2000


def write_compare_page(compared: Comparison, output: Path) -> None:
    """Write the page to `output`, which is replaced atomically. Raises `OutputError`."""
    programs = dict.fromkeys(printable(side.first.program) for side in (compared.first, compared.second))
    title = f"Comparison of {' and '.join(programs)}"
    sides = [line for line in compared.describe() if line.startswith(("A: ", "B: "))]
    data = {
        "verb": "compare",
        "title": title,
        "about": "; ".join(sides),
        "notes": list(compared.remarks),
        "figures": _list_key_figures(compared),
        "sections": [section.as_json() for section in _make_sections(compared)],
    }
    write_page(page("sections.html", f"{title} – Haloscope", _SCRIPTS, data), output)


def _list_key_figures(compared: Comparison) -> list[tuple[str, str, str]]:
    claim = compared.claims[0]
    changed = compared.structure.filter(~pl.col("varies"))
    regions = changed["region"].n_unique()
    runs = [len(side.runs) for side in (compared.first, compared.second)]
    return [
        ("time of A", time_text(claim.times[0]), f"mean of {noun_text(runs[0], 'run')}"),
        ("time of B", time_text(claim.times[1]), f"mean of {noun_text(runs[1], 'run')}"),
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
    intervals, bars = draw_intervals(compared.claims), draw_changes(compared.parts)
    drawn = [[figure] if figure else [] for figure in (intervals, bars)]
    yield Section("times", "Times", figures=drawn[0], tables=[_make_times_table(compared.times)])
    yield Section(
        "where", "Where the time went", figures=drawn[1], tables=[_make_parts_table(compared.parts)]
    )


def _make_answer(compared: Comparison) -> Section:
    """Return the section with the main results as sentences."""
    lines = [line for line in compared.describe() if not line.startswith(("A: ", "B: ", "note: "))]
    return Section("answer", "What changed", text=lines)


def _make_structure_table(rows: pl.DataFrame) -> Table:
    columns = [
        ("region", "Without nested regions"),
        ("table", "Table that has the count"),
        ("quantity", "Counted quantity"),
        ("A", "In the first run of A"),
        ("B", "In the first run of B"),
        ("all runs agree", "no: runs of one side differ from each other"),
    ]
    shown = rows.head(_MOST_ROWS)
    cells = [_make_structure_row(row) for row in shown.to_dicts()]
    more = f" {noun_text(len(rows) - len(shown), 'more row')} not shown." if len(rows) > len(shown) else ""
    return Table(f"Counts that are not equal in all runs; sums over all ranks.{more}", columns, cells)


def _make_structure_row(row: dict[str, Any]) -> list[Cell]:
    spread = row["table"] == "spread"
    numbers = (row["first_count"], row["second_count"])
    counts: list[Cell] = [(None, "other") if spread else (x, count_text(x)) for x in numbers]
    names: list[Cell] = [
        _make_name_cell(row["region"]),
        _make_name_cell(row["table"]),
        _make_name_cell(row["quantity"]),
    ]
    return [*names, *counts, _make_name_cell("no" if row["varies"] else "yes")]


def _make_name_cell(text: str) -> Cell:
    return text, region_text(text)


def _make_times_table(rows: pl.DataFrame) -> Table:
    columns = [
        ("region", ""),
        ("what", "time: with nested regions; own time: without; series: per instance"),
        ("A", "Mean over runs"),
        ("B", "Mean over runs"),
        ("B takes", "Percent that B takes longer"),
        ("from", "Simultaneous 95 % interval of all rows"),
        ("to", ""),
        ("significant", ""),
    ]
    cells = []
    for row in rows.to_dicts():
        bounds = [_make_percent_cell(row[key]) for key in ("faster", "faster_high", "faster_low")]
        times = [(row[key], time_text(row[key])) for key in ("first_time", "second_time")]
        cells.append(
            [
                _make_name_cell(row["region"]),
                _make_name_cell(row["what"]),
                *times,
                *bounds,
                _make_name_cell("yes" if row["sure"] else "no"),
            ]
        )
    return Table("Mean seconds per rank.", columns, cells)


def _make_percent_cell(faster: float | None) -> Cell:
    return (None, "–") if faster is None else (-faster, longer_text(faster))


def _make_parts_table(rows: pl.DataFrame) -> Table:
    columns = [
        ("region", "Without nested regions"),
        ("part", "caused: waiting of any rank that this region causes"),
        ("A", "Mean over runs"),
        ("B", "Mean over runs"),
        ("difference", "B − A"),
        ("from", "95 % interval"),
        ("to", ""),
    ]
    cells = [
        [_make_name_cell(row["region"]), _make_name_cell(row["part"]), *_make_amount_cells(row)]
        for row in rows.head(_MOST_ROWS).to_dicts()
    ]
    caption = "Mean time per rank. All rows except caused add up to the time of the program."
    return Table(caption, columns, cells)


def _make_amount_cells(row: dict[str, Any]) -> list[Cell]:
    times = [(row[key], time_text(row[key])) for key in ("first_time", "second_time")]
    return [
        *times,
        *((row[key], _signed_time_text(row[key])) for key in ("change", "change_low", "change_high")),
    ]


def _signed_time_text(seconds: float | None) -> str:
    if seconds is None:
        return time_text(None)
    return f"{'−' if seconds < 0 else '+'}{time_text(abs(seconds))}"
