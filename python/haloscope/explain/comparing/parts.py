"""Differences of time by region: computing, waiting and transfer, which add up to the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.units import time_text
from haloscope.explain.comparing.sides import Side, list_times
from haloscope.markov.statistics import means_apart
from haloscope.profile.store import region_text

PARTS = {
    "region": pl.String,
    "part": pl.String,
    **dict.fromkeys(("first_time", "second_time", "change", "change_low", "change_high"), pl.Float64),
}
_NAMED = 0.05  # share of the whole difference: smaller parts are not named
_NOTHING = 1e-3  # share of the whole difference: a smaller rest is not mentioned
_MOST_NAMED = 4
_VERBS = {"compute": "computing", "waiting": "waiting", "transfer": "in MPI without waiting", "mpi": "in MPI"}


def has_waiting(first: Side, second: Side) -> bool:
    """Return whether waiting is known for all runs."""
    return all(run.is_traced for side in (first, second) for run in side.runs)


def compare_parts(first: Side, second: Side) -> pl.DataFrame:
    """Return one row per region and part: means of A and B and their difference, mean seconds per rank.

    Regions exclude nested ones, so all rows except `caused` add up to the difference of the program. Parts
    are `compute` and `mpi`; with traces on both sides `compute`, `waiting`, `transfer` and `caused`, the
    waiting of any rank in any region that this region causes (the same seconds as `waiting`, by cause). The
    interval is Welch's at 95 %, null with a single run on a side.
    """
    columns = (
        ("compute", "waiting", "transfer", "caused") if has_waiting(first, second) else ("compute", "mpi")
    )
    regions = dict.fromkeys(
        name for side in (first, second) for run in side.runs for name in run.times["region"].to_list()
    )
    rows = [_make_row(first, second, region, column) for region in regions for column in columns]
    frame = pl.DataFrame(rows, schema=PARTS).fill_nan(None)
    return frame.filter((pl.col("first_time") != 0) | (pl.col("second_time") != 0))


def _make_row(first: Side, second: Side, region: str, column: str) -> dict[str, Any]:
    # A region that a run did not enter has a time of 0.
    first_times, second_times = (
        np.nan_to_num(_read_values(side, region, column)) for side in (first, second)
    )
    change, low, high = means_apart(second_times, first_times)
    values = (region, column, float(first_times.mean()), float(second_times.mean()), change, low, high)
    return dict(zip(PARTS, values, strict=True))


def _read_values(side: Side, region: str, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    if column == "transfer":
        in_mpi, waiting = (np.array(list_times(side.runs, region, name)) for name in ("mpi", "waiting"))
        transfer: np.ndarray[Any, np.dtype[np.float64]] = in_mpi - np.nan_to_num(waiting)
        return transfer
    return np.array(list_times(side.runs, region, column))


def cause_lines(parts: pl.DataFrame, several: bool) -> list[str]:
    """Return lines about the parts of the difference, and the regions that cause the difference in waiting.

    With several runs only significant parts are named. The named parts and the rest add up to the whole.
    """
    own = parts.filter(pl.col("part") != "caused")
    whole = float(own["change"].sum())
    if not whole:
        return []
    head = f"B takes {_amount_text(whole)} per rank on average"
    named = _find_largest(own, whole, several)
    if not named:
        return [f"{head}; no single region differs significantly"]
    parts_text = [f"{time_text(abs(time))} {_VERBS[part]} in {where}" for where, part, time in named]
    rest = whole - sum(time for _, _, time in named)
    if abs(rest) > _NOTHING * abs(whole):
        parts_text.append(f"the rest {_amount_text(rest)}")
    lines = [f"{head}: {'; '.join(parts_text)}"]
    waiting = float(own.filter(pl.col("part") == "waiting")["change"].sum())
    caused = parts.filter(pl.col("part") == "caused")
    if len(caused) and abs(waiting) > _NAMED * abs(whole):
        causes = [
            f"{where} ({_amount_text(time)})" for where, _, time in _find_largest(caused, waiting, several)
        ]
        if causes:
            lines.append(f"{_amount_text(waiting)} waiting, caused by {' and '.join(causes)}")
    return lines


def _amount_text(seconds: float) -> str:
    return f"{time_text(abs(seconds))} {'more' if seconds >= 0 else 'less'}"


def _find_largest(rows: pl.DataFrame, whole: float, several: bool) -> Sequence[tuple[str, str, float]]:
    """Return region, part and change of the largest parts with the sign of the whole, largest first."""
    share = pl.col("change") / whole
    sure = (pl.col("change_low") > 0) | (pl.col("change_high") < 0) if several else pl.lit(True)
    largest = rows.filter((share > _NAMED) & sure).sort(share, descending=True).head(_MOST_NAMED)
    return [
        (region_text(r), part, t) for r, part, t in largest.select("region", "part", "change").iter_rows()
    ]
