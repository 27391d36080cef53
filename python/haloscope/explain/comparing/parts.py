"""Where the time went: compute, waiting and transfer of each region, which add up to the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.units import time_text
from haloscope.explain.comparing.sides import Side, times_of_runs
from haloscope.markov.statistics import means_apart
from haloscope.profile.store import region_text

PARTS = {
    "region": pl.String,
    "part": pl.String,
    "first_time": pl.Float64,
    "second_time": pl.Float64,
    "change": pl.Float64,
    "change_low": pl.Float64,
    "change_high": pl.Float64,
}
_NAMED = 0.05  # of the whole difference: parts with less are not named
_NOTHING = 1e-3  # of it: a rest that is rounded away
_MOST_NAMED = 4
_VERBS = {"compute": "computing", "waiting": "waiting", "transfer": "in MPI without waiting", "mpi": "in MPI"}


def is_traced(first: Side, second: Side) -> bool:
    """Return whether waiting is known of all runs."""
    return all(run.is_traced for side in (first, second) for run in side.runs)


def changed_parts(first: Side, second: Side) -> pl.DataFrame:
    """Return a row a region and part: means of A and B and their difference, seconds of an average rank.

    Regions are without nested ones, so all rows together but `caused` are the difference of the whole. Parts
    are `compute` and `mpi`; with traces on both sides `compute`, `waiting` and `transfer`, and `caused`: the
    waiting of anybody, in whatever region, that this region is the cause of (the same seconds as `waiting`,
    from the other side). The interval is Welch's at 95 %, null with a single run on a side.
    """
    columns = ("compute", "waiting", "transfer", "caused") if is_traced(first, second) else ("compute", "mpi")
    regions = dict.fromkeys(
        name for side in (first, second) for run in side.runs for name in run.times["region"].to_list()
    )
    rows = [_row(first, second, region, column) for region in regions for column in columns]
    kept = pl.DataFrame(rows, schema=PARTS).fill_nan(None)
    return kept.filter((pl.col("first_time") != 0) | (pl.col("second_time") != 0))


def _row(first: Side, second: Side, region: str, column: str) -> dict[str, Any]:
    # A region that a run did not enter took it no time.
    one, other = (np.nan_to_num(_values(side, region, column)) for side in (first, second))
    change, low, high = means_apart(other, one)
    values = (region, column, float(one.mean()), float(other.mean()), change, low, high)
    return dict(zip(PARTS, values, strict=True))


def _values(side: Side, region: str, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    if column == "transfer":
        in_mpi, waiting = (np.array(times_of_runs(side.runs, region, name)) for name in ("mpi", "waiting"))
        transfer: np.ndarray[Any, np.dtype[np.float64]] = in_mpi - np.nan_to_num(waiting)
        return transfer
    return np.array(times_of_runs(side.runs, region, column))


def cause_lines(parts: pl.DataFrame, several: bool) -> list[str]:
    """Say where the difference of the whole is, and which region causes the difference in waiting.

    With several runs only what is surely not 0 is named. What is named and the rest add up to the whole.
    """
    own = parts.filter(pl.col("part") != "caused")
    whole = float(own["change"].sum())
    if not whole:
        return []
    head = f"an average rank takes {_amount(whole)}"
    named = _named(own, whole, several)
    if not named:
        return [f"{head}, which no single region surely has"]
    said = [f"{time_text(abs(time))} {_VERBS[part]} in {where}" for where, part, time in named]
    rest = whole - sum(time for _, _, time in named)
    if abs(rest) > _NOTHING * abs(whole):
        said.append(f"all else together {_amount(rest)}")
    lines = [f"{head}: {'; '.join(said)}"]
    waiting = float(own.filter(pl.col("part") == "waiting")["change"].sum())
    caused = parts.filter(pl.col("part") == "caused")
    if len(caused) and abs(waiting) > _NAMED * abs(whole):
        told = [f"{where} ({_amount(time)})" for where, _, time in _named(caused, waiting, several)]
        if told:
            lines.append(f"there is {_amount(waiting)} waiting; the cause is {' and '.join(told)}")
    return lines


def _amount(seconds: float) -> str:
    return f"{time_text(abs(seconds))} {'more' if seconds >= 0 else 'less'}"


def _named(rows: pl.DataFrame, whole: float, several: bool) -> Sequence[tuple[str, str, float]]:
    """Return region, part and change of the largest parts that go with the whole, the largest first."""
    share = pl.col("change") / whole
    sure = (pl.col("change_low") > 0) | (pl.col("change_high") < 0) if several else pl.lit(True)
    kept = rows.filter((share > _NAMED) & sure).sort(share, descending=True).head(_MOST_NAMED)
    return [(region_text(r), part, t) for r, part, t in kept.select("region", "part", "change").iter_rows()]
