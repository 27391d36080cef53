"""A table on a stream: for people, as csv, or as json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TextIO

import polars as pl
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from haloscope.base.errors import UsageError, shorten_text
from haloscope.base.units import noun_text
from haloscope.profile.shown.cells import PROGRAM, TEXT_KEYS, Row
from haloscope.profile.shown.shown_table import ColumnView, ShownTable

_LEAST_OF_A_NAME = 24  # names that are longer may be shortened to this width
_MOST_ROWS = 1000
_ROWS_AT_A_TIME = 50_000


def render(frame: pl.DataFrame, fmt: str, table: ShownTable, stream: TextIO) -> None:
    """Print `frame`, which has columns of `table`, on `stream` as `table`, `csv` or `json`.

    csv and json have every column under its name in the reference, times in seconds; json is a list of
    records, one per line, with null for unknown values. Raises `UsageError` for another format.
    """
    if fmt not in _WRITERS:
        raise UsageError(f"there is no format {fmt!r}; there is {', '.join(FORMATS)}")
    _WRITERS[fmt](frame, table, stream)


def _write_csv(frame: pl.DataFrame, _table: ShownTable, stream: TextIO) -> None:
    for first in range(0, max(len(frame), 1), _ROWS_AT_A_TIME):
        part = frame.slice(first, _ROWS_AT_A_TIME)
        stream.write(part.write_csv(include_header=first == 0))


def _write_json(frame: pl.DataFrame, table: ShownTable, stream: TextIO) -> None:
    if table.name == "info":
        records = [json.dumps(_parse_value(row), ensure_ascii=False) for row in frame.to_dicts()]
        stream.write("[\n" + ",\n".join(records) + "\n]\n")
        return
    separator = "[\n"
    for first in range(0, len(frame), _ROWS_AT_A_TIME):
        lines = frame.slice(first, _ROWS_AT_A_TIME).write_ndjson().rstrip("\n")
        stream.write(separator + lines.replace("\n", ",\n"))
        separator = ",\n"
    stream.write("\n]\n" if len(frame) else "[]\n")


def _parse_value(row: Row) -> dict[str, object]:
    """Return a row of `info` with a typed value: a number, a list, a Boolean."""
    value = row["value"]
    if value is not None and row["key"] not in TEXT_KEYS:
        value = json.loads(value)
    return {**row, "value": value}


def _write_table(frame: pl.DataFrame, table: ShownTable, stream: TextIO) -> None:
    if "memory" in frame.columns and frame["memory"].drop_nulls().is_in(["host"]).all():
        frame = frame.drop("memory")  # as it is without a GPU
    if table.name == "ranks" and frame["program"].n_unique() < 2:
        frame = frame.drop("program")  # all ranks run the same one
    shown = table.views(frame.columns)
    if table.name == "sites":
        frame = by_site(frame)
    rows = frame.head(_MOST_ROWS).to_dicts()
    cells = _texts(rows, shown, table.name)
    widths = _widths(cells, shown)
    console = _console(stream, None if stream.isatty() else sum(widths) + 2 * len(widths))
    least = [
        min(width, _LEAST_OF_A_NAME) if _is_name(view) else width
        for view, width in zip(shown, widths, strict=True)
    ]
    ends = [end + 2 * number for number, end in enumerate(accumulate(least))]
    fitting = max(sum(end <= console.width for end in ends), 2)
    shown, absent = shown[:fitting], shown[fitting:]
    if table.name != "info":  # whose values are no names
        spare = console.width - ends[len(shown) - 1]
        _shorten_names(cells, [wide - few for wide, few in zip(widths, least, strict=True)], least, spare)
    console.print(_rich_table(cells, shown))
    notes = _notes(frame, shown, table)
    if absent:
        notes.append(f"no space in {console.width} columns for: {', '.join(view.title for view in absent)}")
    for note in notes:
        console.print(Text(note, style="dim"), soft_wrap=not stream.isatty())


def _console(stream: TextIO, width: int | None) -> Console:
    # Region names may look like markup or emoji codes, and must not be interpreted.
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def _is_name(view: ColumnView) -> bool:
    """Return whether cells of a column may be shortened."""
    return view.form.left and not view.form.is_whole


def _shorten_names(
    cells: Sequence[list[str]], wanted: Sequence[int], least: Sequence[int], spare: int
) -> None:
    """Shorten cells to the least width of their column and what the first columns leave of `spare`."""
    for number, more in enumerate(wanted):
        if more > 0:
            given = min(more, max(spare, 0))
            spare -= given
            for row in cells:
                row[number] = _shorten(row[number], least[number] + given)


def _shorten(name: str, width: int) -> str:
    """Return a name in at most `width` columns of a terminal: its two ends, if it has more."""
    most = width
    while cell_len(shortened := shorten_text(name, most)) > width:
        most -= 1
    return shortened


def _texts(rows: Sequence[Row], shown: Sequence[ColumnView], table_name: str) -> list[list[str]]:
    """Return the cells of each row."""
    indents = region_indents(rows) if table_name == "regions" else [""] * len(rows)
    texts = [[view.get_text(row) for view in shown] for row in rows]
    return [[indent + row[0], *row[1:]] for indent, row in zip(indents, texts, strict=True)]


def _widths(cells: Sequence[Sequence[str]], shown: Sequence[ColumnView]) -> list[int]:
    """Return the width of each column with all that is in it."""
    return [
        max(cell_len(text) for text in (view.title, *(row[number] for row in cells)))
        for number, view in enumerate(shown)
    ]


def by_site(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table `sites` with one row per region, site and function, summed over stacks."""
    keys = ["region", "site", "file", "line", "function", "call"]
    sums = pl.col("calls", "bytes", "time_total", "share").sum()
    variation = pl.when(pl.len() == 1).then(pl.col("time_cv").first()).alias("time_cv")
    regions = frame["region"].unique(maintain_order=True).to_list()
    summed = frame.group_by(keys, maintain_order=True).agg(sums, variation, pl.lit("").alias("stack"))
    order = summed["region"].replace_strict(regions, range(len(regions)), return_dtype=pl.Int64)
    return summed.sort(order, -pl.col("time_total"), maintain_order=True).select(frame.columns)


def _rich_table(cells: Sequence[Sequence[str]], shown: Sequence[ColumnView]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    for view in shown:
        table.add_column(
            view.title,
            justify="left" if view.form.left else "right",
            no_wrap=not _is_name(view),
            overflow="fold",
        )
    for row in cells:
        table.add_row(*(Text(cell) for cell in row[: len(shown)]))
    return table


def region_indents(rows: Sequence[Row]) -> list[str]:
    """Return the indentation of each region: two spaces per enclosing region in the rows above."""
    above: list[str] = []
    indents = []
    for row in rows:
        path = row["path"]
        while above and not _holds(above[-1], path):
            above.pop()
        indents.append("  " * len(above))
        above.append(path)
    return indents


def _holds(outer: str, path: str) -> bool:
    return outer == PROGRAM or path.startswith(outer + "/")


def _notes(frame: pl.DataFrame, shown: Sequence[ColumnView], table: ShownTable) -> list[str]:
    notes = []
    hidden = len(frame.columns) - len({source for view in shown for source in view.sources})
    if not len(frame):
        notes.append(f"no {table.name} recorded")
    if table.note:
        notes.append(table.note)
    if len(frame) > _MOST_ROWS:
        notes.append(f"the first {_MOST_ROWS} of {len(frame)} rows; all: --format csv or json")
    if hidden > 0:
        notes.append(f"{noun_text(hidden, 'more column')}, and exact numbers: --format csv or json")
    return notes


_WRITERS: Mapping[str, Callable[[pl.DataFrame, ShownTable, TextIO], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
}

FORMATS = tuple(_WRITERS)
