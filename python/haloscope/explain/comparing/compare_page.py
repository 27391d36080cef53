"""The page of a comparison: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import UNKNOWN, count_text, noun_text, time_text
from haloscope.explain.comparing.compare_figures import draw_changes, draw_intervals
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
    columns: list[Column] = [
        ("region", "Without nested regions", "region", region_text),
        ("table", "Table that has the count", "table", region_text),
        ("quantity", "Counted quantity", "quantity", region_text),
        ("A", "In the first run of A", "first", None),
        ("B", "In the first run of B", "second", None),
        ("all runs agree", "no: runs of one side differ from each other", "agree", region_text),
    ]
    shown = [row | _list_counts(row) for row in rows.head(_MOST_ROWS).to_dicts()]
    more = f" {noun_text(len(rows) - len(shown), 'more row')} not shown." if len(rows) > len(shown) else ""
    return fill_table(f"Counts that are not equal in all runs; sums over all ranks.{more}", columns, shown)


def _list_counts(row: dict[str, Any]) -> dict[str, Any]:
    spread = row["table"] == "spread"
    counts: list[Cell] = [
        (None, "other") if spread else (x, count_text(x)) for x in (row["first_count"], row["second_count"])
    ]
    return {"first": counts[0], "second": counts[1], "agree": "no" if row["varies"] else "yes"}


def _make_times_table(rows: pl.DataFrame) -> Table:
    columns: list[Column] = [
        ("region", "", "region", region_text),
        ("what", "time: with nested regions; own time: without; series: per instance", "what", region_text),
        ("A", "Mean over runs", "first_time", time_text),
        ("B", "Mean over runs", "second_time", time_text),
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
    return fill_table("Mean seconds per rank.", columns, shown)


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
    caption = "Mean time per rank. All rows except caused add up to the time of the program."
    return fill_table(caption, columns, rows.head(_MOST_ROWS).to_dicts())


def _signed_time_text(seconds: float | None) -> str:
    if seconds is None:
        return time_text(None)
    return f"{'−' if seconds < 0 else '+'}{time_text(abs(seconds))}"
