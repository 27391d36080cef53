"""The tables of the page of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import bytes_text, count_text, moment_text, noun_text, percent_text, time_text
from haloscope.explain.ensembles.view import axis_column
from haloscope.markov.figures import Table
from haloscope.profile.store import region_text

Cell = tuple[float | str | None, str]
_MOST_RUNS = 500
# Settings of the recorder, which are not shown.
_OURS = "environment.HALOSCOPE_"


def totals_table(frame: pl.DataFrame, against: str) -> Table:
    """Return Table IV of Nansamba et al.: messages sent by all ranks, one row per point."""
    columns = [
        ("runs of", ""),
        (printable(against), "Column of the runs"),
        ("runs", ""),
        ("bytes sent", "All ranks together, mean over runs"),
        ("sends", "All ranks together, mean over runs"),
        ("largest send", ""),
        ("mean send", "Bytes / sends"),
    ]
    column = axis_column(frame, against)
    rows: list[list[Cell]] = [
        [
            _make_text_cell(row["series"]),
            _make_value_cell(row[column]),
            _make_count_cell(row["runs"]),
            _make_bytes_cell(row["bytes"]),
            _make_count_cell(row["sends"]),
            _make_bytes_cell(row["largest_send"]),
            _make_bytes_cell(row["mean_send"]),
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
        ("machine's", "Speed of the same messages, one by one, from the machine model"),
    ]
    column = axis_column(frame, against)
    rows: list[list[Cell]] = [
        [
            _make_text_cell(row["series"]),
            _make_value_cell(row[column]),
            _make_text_cell(row["size"]),
            _make_count_cell(row["messages"]),
            _make_bytes_cell(row["bytes"]),
            _make_speed_cell(row["speed"]),
            _make_speed_cell(row["machine_speed"]),
        ]
        for row in frame.to_dicts()
    ]
    return Table("Point-to-point messages by classes of size.", columns, rows)


def speeds_table(frame: pl.DataFrame) -> Table:
    """Return the machine's speed for messages of each class."""
    columns = [("size", ""), ("from", "Smallest message of the class"), ("to", "Largest one"), ("speed", "")]
    rows: list[list[Cell]] = [
        [
            _make_text_cell(row["size"]),
            _make_bytes_cell(row["smallest"]),
            _make_bytes_cell(row["largest"]),
            _make_speed_cell(row["machine_speed"]),
        ]
        for row in frame.to_dicts()
    ]
    return Table("One message of each power of two in a class, one after the other.", columns, rows)


def laws_table(frame: pl.DataFrame) -> Table:
    """Return the scaling model of each region, and its predictions for more ranks."""
    columns = [
        ("region", "With nested regions"),
        ("runs of", ""),
        ("model", "p: the number of ranks, or the column on the x axis"),
        ("error", "Mean cross-validation error (SMAPE), percent"),
        ("same term", "Share of bootstrap samples with the same term"),
        ("at 10 ×", ""),
        ("95 %", "Interval from repeated runs"),
        ("at 100 ×", ""),
        ("95 %", "Interval from repeated runs"),
    ]
    cells = []
    for row in frame.to_dicts():
        law = row["law"] or f"{noun_text(row['points'], 'point')}: a model needs five"
        error = (row["error"], percent_text(row["error"], 100.0))
        far = [cell for times in (10, 100) for cell in _make_prediction_cells(row, times)]
        agreement = (row["agreement"], percent_text(row["agreement"], 1.0))
        cells.append(
            [
                _make_text_cell(row["path"]),
                _make_text_cell(row["series"]),
                _make_text_cell(law),
                error,
                agreement,
                *far,
            ]
        )
    return Table("Mean time per rank.", columns, cells)


def _make_prediction_cells(row: dict[str, Any], times: int) -> list[Cell]:
    low, high = row[f"low_{times}"], row[f"high_{times}"]
    bounds = "–" if low is None else f"{time_text(low)} to {time_text(high)}"
    return [(row[f"at_{times}"], time_text(row[f"at_{times}"])), (low, bounds)]


def runs_table(runs: pl.DataFrame) -> Table:
    """Return the columns in which runs differ."""
    always = ("profile", "program", "run_ranks")
    differ = [name for name in runs.columns if name in always or runs[name].n_unique() > 1]
    shown = [name for name in differ if not name.startswith(_OURS)]
    rows = [
        [_FORMATTERS.get(name, _make_value_cell)(row[name]) for name in shown]
        for row in runs.head(_MOST_RUNS).to_dicts()
    ]
    more = f" The first {_MOST_RUNS} of {len(runs)}." if len(runs) > _MOST_RUNS else ""
    caption = f"Columns in which runs differ; each can be the x axis of figures.{more}"
    return Table(caption, [(printable(name), "") for name in shown], rows)


def _make_text_cell(text: str) -> Cell:
    return text, region_text(text)


def _make_value_cell(value: object) -> Cell:
    if isinstance(value, bool) or value is None:
        return None, "–" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return value, f"{value:.12g}"
    return str(value), region_text(str(value))


def _make_moment_cell(seconds: float | None) -> Cell:
    return seconds, moment_text(seconds)


def _make_seconds_cell(value: float | None) -> Cell:
    return value, time_text(value)


_FORMATTERS: Mapping[str, Callable[[Any], Cell]] = {
    "run_start": _make_moment_cell,
    "run_duration": _make_seconds_cell,
}


def _make_count_cell(value: float | None) -> Cell:
    return value, count_text(value)


def _make_bytes_cell(value: float | None) -> Cell:
    return value, bytes_text(value)


def _make_speed_cell(value: float | None) -> Cell:
    return value, "–" if value is None else f"{bytes_text(float(f'{value:.3g}'))}/s"
