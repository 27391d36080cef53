"""The tables of the page of an ensemble."""

from __future__ import annotations

from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import (
    UNKNOWN,
    bytes_text,
    count_text,
    moment_text,
    noun_text,
    percent_text,
    time_text,
)
from haloscope.explain.ensembles.view import axis_column
from haloscope.markov.figures import Cell, Column, Table, fill_table
from haloscope.profile.store import region_text

_MOST_RUNS = 500
# Settings of the recorder, which are not shown.
_OURS = "environment.HALOSCOPE_"
_FORMS = {"run_start": moment_text, "run_duration": time_text}


def totals_table(frame: pl.DataFrame, against: str) -> Table:
    """Return Table IV of Nansamba et al.: messages sent by all ranks, one row per point."""
    columns: list[Column] = [
        ("runs of", "", "series", region_text),
        (printable(against), "Column of the runs", "at", None),
        ("runs", "", "runs", count_text),
        ("bytes sent", "All ranks together, mean over runs", "bytes", bytes_text),
        ("sends", "All ranks together, mean over runs", "sends", count_text),
        ("largest send", "", "largest_send", bytes_text),
        ("mean send", "Bytes / sends", "mean_send", bytes_text),
    ]
    return fill_table("The whole program, point-to-point messages.", columns, _list_rows(frame, against))


def sizes_table(frame: pl.DataFrame, against: str) -> Table:
    """Return messages by classes of size, and their speed."""
    slower = "Bytes over half of the time that both sides spent in their calls"
    columns: list[Column] = [
        ("runs of", "", "series", region_text),
        (printable(against), "Column of the runs", "at", None),
        ("size", "Of a message", "size", region_text),
        ("messages", "All ranks together, mean over runs", "messages", count_text),
        ("bytes", "All ranks together, mean over runs", "bytes", bytes_text),
        ("speed", slower, "speed", _speed_text),
        (
            "machine's",
            "Speed of the same messages, one by one, from the machine model",
            "machine_speed",
            _speed_text,
        ),
    ]
    return fill_table("Point-to-point messages by classes of size.", columns, _list_rows(frame, against))


def _list_rows(frame: pl.DataFrame, against: str) -> list[dict[str, Any]]:
    """Return rows with the cell of the horizontal axis as `at`."""
    column = axis_column(frame, against)
    return [row | {"at": _make_cell(row[column])} for row in frame.to_dicts()]


def speeds_table(frame: pl.DataFrame) -> Table:
    """Return the machine's speed for messages of each class."""
    columns: list[Column] = [
        ("size", "", "size", region_text),
        ("from", "Smallest message of the class", "smallest", bytes_text),
        ("to", "Largest one", "largest", bytes_text),
        ("speed", "", "machine_speed", _speed_text),
    ]
    caption = "One message of each power of two in a class, one after the other."
    return fill_table(caption, columns, frame.to_dicts())


def laws_table(frame: pl.DataFrame) -> Table:
    """Return the scaling model of each region, and its predictions for more ranks."""
    columns: list[Column] = [
        ("region", "With nested regions", "path", region_text),
        ("runs of", "", "series", region_text),
        ("model", "p: the number of ranks, or the column on the x axis", "law", region_text),
        ("error", "Mean cross-validation error (SMAPE), percent", "error", lambda x: percent_text(x, 100.0)),
        (
            "same term",
            "Share of bootstrap samples with the same term",
            "agreement",
            lambda x: percent_text(x, 1.0),
        ),
        ("at 10 ×", "", "at_10", time_text),
        ("95 %", "Interval from repeated runs", "interval_10", None),
        ("at 100 ×", "", "at_100", time_text),
        ("95 %", "Interval from repeated runs", "interval_100", None),
    ]
    rows = []
    for row in frame.to_dicts():
        for times in (10, 100):
            low, high = row[f"low_{times}"], row[f"high_{times}"]
            bounds = UNKNOWN if low is None else f"{time_text(low)} to {time_text(high)}"
            row[f"interval_{times}"] = (low, bounds)
        row["law"] = row["law"] or f"{noun_text(row['points'], 'point')}: a model needs five"
        rows.append(row)
    return fill_table("Mean time per rank.", columns, rows)


def runs_table(runs: pl.DataFrame) -> Table:
    """Return the columns in which runs differ."""
    always = ("profile", "program", "run_ranks")
    differ = [name for name in runs.columns if name in always or runs[name].n_unique() > 1]
    shown = [name for name in differ if not name.startswith(_OURS)]
    rows = [
        [(row[name], _FORMS[name](row[name])) if name in _FORMS else _make_cell(row[name]) for name in shown]
        for row in runs.head(_MOST_RUNS).to_dicts()
    ]
    more = f" The first {_MOST_RUNS} of {len(runs)}." if len(runs) > _MOST_RUNS else ""
    caption = f"Columns in which runs differ; each can be the x axis of figures.{more}"
    return Table(caption, [(printable(name), "") for name in shown], rows)


def _make_cell(value: object) -> Cell:
    if isinstance(value, bool) or value is None:
        return None, UNKNOWN if value is None else str(value).lower()
    if isinstance(value, int | float):
        return value, f"{value:.12g}"
    return str(value), region_text(str(value))


def _speed_text(value: float | None) -> str:
    return UNKNOWN if value is None else f"{bytes_text(float(f'{value:.3g}'))}/s"
