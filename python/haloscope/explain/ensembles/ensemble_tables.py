"""The tables of the page of an ensemble."""

from __future__ import annotations

from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.files import shorten_paths
from haloscope.base.units import (
    UNKNOWN,
    bytes_text,
    count_text,
    duration_text,
    moment_text,
    percent_text,
    time_text,
)
from haloscope.explain.ensembles.growth import FACTORS, MOST_ERROR
from haloscope.explain.ensembles.view import axis_column, column_title
from haloscope.markov.figures import Cell, Column, Table, fill_table
from haloscope.profile.store import region_text

_MOST_RUNS = 500
# Settings of the recorder, which are not shown.
_OURS = "environment.HALOSCOPE_"
_FORMS = {"run_start": moment_text, "run_duration": time_text}


def scaling_table(frame: pl.DataFrame, by: str) -> Table:
    """Return speed-up and efficiency of the program, one row per number of ranks."""
    columns: list[Column] = [
        *([(column_title(by), "", "series", region_text)] if frame["series"].n_unique() > 1 else []),
        ("ranks", "", "run_ranks", count_text),
        ("runs", "", "runs", count_text),
        ("time", "Mean over ranks and runs", "time", time_text),
        ("speed-up", "Time on the fewest ranks over this time", "speedup", lambda x: f"{x:.2f}"),
        ("efficiency, strong", "If all runs do the same work", "strong", _share_text),
        ("efficiency, weak", "If the work grows with the ranks", "weak", _share_text),
    ]
    return fill_table("The whole program.", columns, frame.to_dicts())


def totals_table(frame: pl.DataFrame, against: str, by: str) -> Table:
    """Return Table IV of Nansamba et al.: messages sent by all ranks, one row per point."""
    columns: list[Column] = [
        (column_title(by), "", "series", region_text),
        (column_title(against), "Column of the runs", "at", None),
        ("runs", "", "runs", count_text),
        ("bytes sent", "All ranks together, mean over runs", "bytes", bytes_text),
        ("sends", "All ranks together, mean over runs", "sends", count_text),
        ("largest send", "", "largest_send", bytes_text),
        ("mean send", "Bytes / sends", "mean_send", bytes_text),
    ]
    return fill_table("The whole program, point-to-point messages.", columns, _list_rows(frame, against))


def sizes_table(frame: pl.DataFrame, against: str, by: str) -> Table:
    """Return messages by classes of size, and their speed."""
    slower = "Bytes over half of the time that both sides spent in their calls"
    columns: list[Column] = [
        (column_title(by), "", "series", region_text),
        (column_title(against), "Column of the runs", "at", None),
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


def laws_table(frame: pl.DataFrame, by: str) -> Table:
    """Return the scaling models, and the predictions of those with a small error."""
    columns: list[Column] = [
        ("region", "With nested regions", "path", region_text),
        (column_title(by), "", "series", region_text),
        ("model", "p: the number of ranks, or the column on the x axis", "law", region_text),
        ("error", "Mean cross-validation error (SMAPE), percent", "error", lambda x: percent_text(x, 100.0)),
        ("same term", "Share of bootstrap samples with the same term", "agreement", _share_text),
        ("at 10 ×", "", "at_10", duration_text),
        ("95 %", "Interval from repeated runs", "interval_10", None),
        ("at 100 ×", "", "at_100", duration_text),
        ("95 %", "Interval from repeated runs", "interval_100", None),
    ]
    rows = []
    for row in frame.drop_nulls("law").to_dicts():
        for times in FACTORS:
            names = [f"{name}_{times}" for name in ("at", "low", "high")]
            if row["error"] > MOST_ERROR:
                row.update(dict.fromkeys(names))
            _, low, high = (row[name] for name in names)
            bounds = UNKNOWN if low is None else f"{duration_text(low)} to {duration_text(high)}"
            row[f"interval_{times}"] = (low, bounds)
        rows.append(row)
    caption = f"Mean time per rank. Models with an error above {MOST_ERROR} % are not extrapolated."
    return fill_table(caption, columns, rows)


def runs_table(runs: pl.DataFrame) -> Table:
    """Return the columns in which runs differ."""
    always = ("profile", "run_ranks")
    runs = runs.with_columns(profile=pl.Series(shorten_paths(runs["profile"]), dtype=pl.String))
    differ = [name for name in runs.columns if name in always or runs[name].n_unique() > 1]
    shown = [name for name in differ if not name.startswith(_OURS)]
    rows = [
        [(row[name], _FORMS[name](row[name])) if name in _FORMS else _make_cell(row[name]) for name in shown]
        for row in runs.head(_MOST_RUNS).to_dicts()
    ]
    more = f" The first {_MOST_RUNS} of {len(runs)}." if len(runs) > _MOST_RUNS else ""
    caption = (
        f"Columns in which runs differ; each can be the x axis of figures (haloscope report --against).{more}"
    )
    columns = [(column_title(name), f"--against {printable(name)}") for name in shown]
    return Table(caption, columns, rows)


def _make_cell(value: object) -> Cell:
    if isinstance(value, bool) or value is None:
        return None, UNKNOWN if value is None else str(value).lower()
    if isinstance(value, int | float):
        return value, f"{value:.12g}"
    return str(value), region_text(str(value))


def _share_text(value: float | None) -> str:
    return percent_text(value, 1.0)


def _speed_text(value: float | None) -> str:
    return UNKNOWN if value is None else f"{bytes_text(float(f'{value:.3g}'))}/s"
