"""The tables of a page about many runs, as people read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import bytes_text, count_text, moment_text, percent_text, time_text
from haloscope.explain.ensembles.view import column_of
from haloscope.markov.figures import Table
from haloscope.profile.store import region_text

Cell = tuple[float | str | None, str]
_MOST_RUNS = 500
# How a run was recorded, such as where its profile goes.
_OURS = "environment.HALOSCOPE_"


def totals_table(frame: pl.DataFrame, against: str) -> Table:
    """Return Table IV of Nansamba et al.: what all ranks sent, a row a point."""
    columns = [
        ("runs of", ""),
        (printable(against), "Column of the runs"),
        ("runs", ""),
        ("bytes sent", "All ranks together, mean over runs"),
        ("sends", "All ranks together, mean over runs"),
        ("largest send", ""),
        ("mean send", "Bytes / sends"),
    ]
    place = column_of(frame, against)
    rows: list[list[Cell]] = [
        [
            _text(row["series"]),
            _value(row[place]),
            _count(row["runs"]),
            _bytes(row["bytes"]),
            _count(row["sends"]),
            _bytes(row["largest_send"]),
            _bytes(row["mean_send"]),
        ]
        for row in frame.to_dicts()
    ]
    return Table("The whole program, point-to-point messages.", columns, rows)


def sizes_table(frame: pl.DataFrame, against: str) -> Table:
    """Return messages by classes of size, and their speed."""
    columns = [
        ("runs of", ""),
        (printable(against), "Column of the runs"),
        ("size", "Of a message"),
        ("messages", "All ranks together, mean over runs"),
        ("bytes", "All ranks together, mean over runs"),
        ("speed", "Bytes over half of the time that both sides spent in their calls"),
        ("machine's", "Speed of the same messages, one by one, by the machine's model"),
    ]
    place = column_of(frame, against)
    rows: list[list[Cell]] = [
        [
            _text(row["series"]),
            _value(row[place]),
            _text(row["size"]),
            _count(row["messages"]),
            _bytes(row["bytes"]),
            _speed(row["speed"]),
            _speed(row["machine_speed"]),
        ]
        for row in frame.to_dicts()
    ]
    return Table("Point-to-point messages by classes of size.", columns, rows)


def speeds_table(frame: pl.DataFrame) -> Table:
    """Return how fast the machine alone carries messages of each class."""
    columns = [("size", ""), ("from", "Smallest message of the class"), ("to", "Largest one"), ("speed", "")]
    rows: list[list[Cell]] = [
        [_text(row["size"]), _bytes(row["smallest"]), _bytes(row["largest"]), _speed(row["machine_speed"])]
        for row in frame.to_dicts()
    ]
    return Table("One message of each power of two in a class, one after the other.", columns, rows)


def laws_table(frame: pl.DataFrame) -> Table:
    """Return the law of each region, and what it says of more ranks."""
    columns = [
        ("region", "With nested regions"),
        ("runs of", ""),
        ("law", "p: the number of ranks, or what else runs are against"),
        ("off by", "Mean error for points that were left out, percent"),
        ("same term", "Share of what the runs could have been that have the same term"),
        ("at 10 ×", ""),
        ("95 %", "Interval from repeated runs"),
        ("at 100 ×", ""),
        ("95 %", "Interval from repeated runs"),
    ]
    cells = []
    for row in frame.to_dicts():
        law = row["law"] or f"{row['points']} points: a law needs five"
        error = (row["error"], percent_text(row["error"], 100.0))
        far = [cell for times in (10, 100) for cell in _far(row, times)]
        agreement = (row["agreement"], percent_text(row["agreement"], 1.0))
        cells.append([_text(row["path"]), _text(row["series"]), _text(law), error, agreement, *far])
    return Table("Time of an average rank.", columns, cells)


def _far(row: dict[str, Any], times: int) -> list[Cell]:
    low, high = row[f"low_{times}"], row[f"high_{times}"]
    bounds = "–" if low is None else f"{time_text(low)} to {time_text(high)}"
    return [(row[f"at_{times}"], time_text(row[f"at_{times}"])), (low, bounds)]


def runs_table(runs: pl.DataFrame) -> Table:
    """Return what runs say of themselves, where they differ."""
    always = ("profile", "program", "run_ranks")
    differ = [name for name in runs.columns if name in always or runs[name].n_unique() > 1]
    shown = [name for name in differ if not name.startswith(_OURS)]
    rows = [
        [_TOLD.get(name, _value)(row[name]) for name in shown] for row in runs.head(_MOST_RUNS).to_dicts()
    ]
    more = f" The first {_MOST_RUNS} of {len(runs)}." if len(runs) > _MOST_RUNS else ""
    caption = f"Columns in which runs differ; each can be what figures are against.{more}"
    return Table(caption, [(printable(name), "") for name in shown], rows)


def _text(text: str) -> Cell:
    return text, region_text(text)


def _value(value: object) -> Cell:
    if isinstance(value, bool) or value is None:
        return None, "–" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return value, f"{value:.12g}"
    return str(value), region_text(str(value))


def _moment(seconds: float | None) -> Cell:
    return seconds, moment_text(seconds)


def _seconds(value: float | None) -> Cell:
    return value, time_text(value)


_TOLD: Mapping[str, Callable[[Any], Cell]] = {"run_start": _moment, "run_duration": _seconds}


def _count(value: float | None) -> Cell:
    return value, count_text(value)


def _bytes(value: float | None) -> Cell:
    return value, bytes_text(value)


def _speed(value: float | None) -> Cell:
    return value, "–" if value is None else f"{bytes_text(float(f'{value:.3g}'))}/s"
