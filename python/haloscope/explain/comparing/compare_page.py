"""One self-contained page about what changed between two sides of runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import count_text, time_text
from haloscope.explain.comparing.compare_figures import changes_drawn, intervals_drawn
from haloscope.explain.comparing.run_comparison import Comparison
from haloscope.explain.comparing.time_differences import longer_text
from haloscope.markov.figures import Cell, Section, Table
from haloscope.profile.page import page, write_page
from haloscope.profile.store import region_text

_SCRIPTS = ("sections.js", "regimes.js")
_MOST_ROWS = 2000


def write_compare_page(compared: Comparison, output: Path) -> None:
    """Write the page to `output`, which is replaced when it is whole. Raises `OutputError`."""
    programs = dict.fromkeys(printable(side.first.program) for side in (compared.first, compared.second))
    title = f"What changed in {' and '.join(programs)}"
    told = [line for line in compared.describe() if line.startswith(("A: ", "B: "))]
    data = {
        "verb": "compare",
        "title": title,
        "about": "; ".join(told),
        "notes": list(compared.remarks),
        "figures": _key_figures(compared),
        "sections": [section.as_json() for section in _sections(compared)],
    }
    write_page(page("sections.html", f"{title} – Haloscope", _SCRIPTS, data), output)


def _key_figures(compared: Comparison) -> list[tuple[str, str, str]]:
    claim = compared.claims[0]
    changed = compared.structure.filter(~pl.col("varies"))
    regions = changed["region"].n_unique()
    runs = [len(side.runs) for side in (compared.first, compared.second)]
    return [
        ("time of A", time_text(claim.times[0]), f"mean of {runs[0]} run{'' if runs[0] == 1 else 's'}"),
        ("time of B", time_text(claim.times[1]), f"mean of {runs[1]} run{'' if runs[1] == 1 else 's'}"),
        ("B takes", longer_text(claim.faster[0]), _surely(claim.faster[1], claim.faster[2], claim.sure)),
        ("counts changed", count_text(len(changed)), f"in {regions} region{'' if regions == 1 else 's'}"),
    ]


def _surely(low: float | None, high: float | None, sure: bool) -> str:
    if low is None or high is None:
        return "one run cannot tell that from noise"
    return f"{'surely' if sure else 'not surely'} [{longer_text(high)}, {longer_text(low)}]"


def _sections(compared: Comparison) -> Iterator[Section]:
    yield _answer(compared)
    structure = compared.structure
    if len(structure):
        yield Section("counts", "Counts", tables=[_structure_table(structure)])
    intervals, bars = intervals_drawn(compared.claims), changes_drawn(compared.parts)
    drawn = [[figure] if figure else [] for figure in (intervals, bars)]
    yield Section("times", "Times", figures=drawn[0], tables=[_times_table(compared.times)])
    yield Section("where", "Where the time went", figures=drawn[1], tables=[_parts_table(compared.parts)])


def _answer(compared: Comparison) -> Section:
    """Return what a person has to know first, in sentences."""
    lines = [line for line in compared.describe() if not line.startswith(("A: ", "B: ", "note: "))]
    return Section("answer", "What changed", text=lines)


def _structure_table(rows: pl.DataFrame) -> Table:
    columns = [
        ("region", "Without nested regions"),
        ("table", "Where the count stands"),
        ("quantity", "What is counted"),
        ("A", "In the first run of A"),
        ("B", "In the first run of B"),
        ("all runs agree", "no: runs of one side differ among themselves"),
    ]
    shown = rows.head(_MOST_ROWS)
    cells = [_structure_row(row) for row in shown.to_dicts()]
    more = f" {len(rows) - len(shown)} more are left out here." if len(rows) > len(shown) else ""
    return Table(f"Counts that are not the same in all runs, all ranks together.{more}", columns, cells)


def _structure_row(row: dict[str, Any]) -> list[Cell]:
    spread = row["table"] == "spread"
    numbers = (row["first_count"], row["second_count"])
    counts: list[Cell] = [(None, "other") if spread else (x, count_text(x)) for x in numbers]
    names: list[Cell] = [_name(row["region"]), _name(row["table"]), _name(row["quantity"])]
    return [*names, *counts, _name("no" if row["varies"] else "yes")]


def _name(text: str) -> Cell:
    return text, region_text(text)


def _times_table(rows: pl.DataFrame) -> Table:
    columns = [
        ("region", ""),
        ("what", "time: with nested regions; own time: without; series: of its instances"),
        ("A", "Mean over runs"),
        ("B", "Mean over runs"),
        ("B takes", "Percent that B takes longer"),
        ("from", "Interval: all hold together in 95 % of comparisons"),
        ("to", ""),
        ("sure", ""),
    ]
    cells = []
    for row in rows.to_dicts():
        bounds = [_percent(row[key]) for key in ("faster", "faster_high", "faster_low")]
        times = [(row[key], time_text(row[key])) for key in ("first_time", "second_time")]
        cells.append(
            [_name(row["region"]), _name(row["what"]), *times, *bounds, _name("yes" if row["sure"] else "no")]
        )
    return Table("Seconds of an average rank.", columns, cells)


def _percent(faster: float | None) -> Cell:
    return (None, "–") if faster is None else (-faster, longer_text(faster))


def _parts_table(rows: pl.DataFrame) -> Table:
    columns = [
        ("region", "Without nested regions"),
        ("part", "caused: waiting of anybody that this region is the cause of"),
        ("A", "Mean over runs"),
        ("B", "Mean over runs"),
        ("difference", "B − A"),
        ("from", "95 % interval"),
        ("to", ""),
    ]
    cells = [
        [_name(row["region"]), _name(row["part"]), *_amounts(row)] for row in rows.head(_MOST_ROWS).to_dicts()
    ]
    caption = "Time of an average rank; all rows but caused add up to the time of the program."
    return Table(caption, columns, cells)


def _amounts(row: dict[str, Any]) -> list[Cell]:
    times = [(row[key], time_text(row[key])) for key in ("first_time", "second_time")]
    return [*times, *((row[key], _signed(row[key])) for key in ("change", "change_low", "change_high"))]


def _signed(seconds: float | None) -> str:
    if seconds is None:
        return time_text(None)
    return f"{'−' if seconds < 0 else '+'}{time_text(abs(seconds))}"
