"""The timeline of a trace for a page: boxes of calls, visits of regions, and messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers
from haloscope.explain.reporting.report_packing import pack_columns, sort_by_region
from haloscope.profile import Profile
from haloscope.profile.importing import family_of
from haloscope.profile.waiting import Timeline, WaitAnalysis

_MOST_BOXES = 1 << 20
_MOST_VISITS = 500_000
_MOST_MESSAGES = 300_000
_MOST = (1 << 32) - 1  # largest number in an array
_NANOSECOND = 1e-9


def make_timeline(profile: Profile) -> dict[str, Any]:
    """Return the timeline of each thread. Raises `DamageError`.

    Times are multiples of `unit` seconds. A box is a call, or several short consecutive ones; then it has
    their number, their total time, and the name and region of the longest. Boxes therefore cover all calls.
    A box begins `gap` after the end of the one before on its thread. `wait` is an index of `waits`, 0: none.
    """
    analysis = profile.waiting
    of_run = analysis.timeline
    shortest, boxes = _merge_rows(of_run, _list_calls(analysis), _MOST_BOXES)
    shortest_visit, visits = _merge_rows(of_run, _list_visits(of_run), _MOST_VISITS)
    names = of_run.names.unique(maintain_order=True).to_list()
    code = of_run.names.replace_strict(names, range(len(names)), return_dtype=pl.UInt16)
    longest = boxes["longest"].to_numpy()
    is_call = boxes["calls"].to_numpy() == 1
    kinds, kind, cause = _find_waits(analysis)
    offsets, by_path = sort_by_region(profile.regions, visits)
    tree_order = pl.Series(profile.regions.order)
    boxes = boxes.with_columns(
        code.gather(longest).alias("name"),
        tree_order.gather(of_run.path[longest]).alias("region"),
        pl.Series("cause", np.where(is_call, cause[longest], -1)),
        pl.Series("wait", np.where(is_call, kind[longest], 0)),
        # The time of a call is its length.
        pl.when(pl.col("calls") == 1).then(0).otherwise("time").alias("time"),
        (pl.col("begin") - pl.col("end").shift(1, fill_value=0).over("location")).alias("gap"),
        (pl.col("end") - pl.col("begin")).alias("length"),
    )
    messages, left_out = _select_messages(analysis, _MOST_MESSAGES)
    times = dict.fromkeys(("gap", "length", "time", "waited", "calls"), "u4")
    places = {"location": "u4", "name": "u2", "region": "u4", "cause": "i4", "wait": "u2"}
    return {
        "unit": _choose_unit(of_run) * _NANOSECOND,
        "length": of_run.duration * _NANOSECOND,
        "locations": _name_locations(of_run),
        "names": [[name, family_of(name)] for name in names],
        "waits": kinds,
        "calls": len(of_run.begin),
        "shortest": shortest * _NANOSECOND,
        "boxes": {"columns": pack_columns(boxes, times | places)},
        "visits": {
            "shortest": shortest_visit * _NANOSECOND,
            "offsets": offsets,
            "columns": pack_columns(by_path, {"begin": "u4", "end": "u4", "location": "u4", "calls": "u4"}),
        },
        "messages": {
            "left_out": left_out,
            "columns": pack_columns(
                messages, {"begin": "u4", "end": "u4", "source": "u4", "destination": "u4", "bytes": "f8"}
            ),
        },
    }


def _choose_unit(of_run: Timeline) -> float:
    """Return the unit (ns) in which the run's length fits into 32 bits."""
    return max(1.0, of_run.duration / _MOST)


def _name_locations(of_run: Timeline) -> list[str]:
    threads = of_run.locations["thread"].max()
    return [
        f"{rank}.{thread}" if threads else str(rank)
        for rank, thread in of_run.locations.select("rank", "thread").iter_rows()
    ]


def _list_calls(analysis: WaitAnalysis) -> pl.DataFrame:
    """Return the calls of the timeline: location, times (ns), and waiting at the begin of each."""
    of_run, states = analysis.timeline, analysis.states
    waited = np.zeros(len(of_run.begin), dtype=np.int64)
    is_wait = states["cause"].to_numpy() >= 0
    waited[states["call"].to_numpy()[is_wait]] = states["time"].to_numpy()[is_wait]
    columns = {"path": np.zeros(len(waited), dtype=np.int64), "location": of_run.location}
    return pl.DataFrame({**columns, "begin": of_run.begin, "end": of_run.end, "waited": waited})


def _list_visits(of_run: Timeline) -> pl.DataFrame:
    visits = of_run.visits.select("path", "location", "begin", "end", pl.lit(0, pl.Int64).alias("waited"))
    return visits.sort("path", "location", "begin", maintain_order=True)


def _find_waits(analysis: WaitAnalysis) -> tuple[list[str], Integers, Integers]:
    """Return the kinds of waiting, and for each call the index of its kind and the rank that it waited for.

    They are 0 and −1 for calls that did not wait.
    """
    of_run, states = analysis.timeline, analysis.states.filter(pl.col("cause") >= 0)
    calls = states["call"].to_numpy()
    kinds = ["", *states["kind"].unique(maintain_order=True).to_list()]
    kind = np.zeros(len(of_run.begin), dtype=np.int64)
    kind[calls] = states["kind"].replace_strict(kinds, range(len(kinds)), return_dtype=pl.Int64).to_numpy()
    causes = np.full(len(of_run.begin), -1, dtype=np.int64)
    causes[calls] = of_run.ranks[of_run.location[states["cause"].to_numpy()]]
    return kinds, kind, causes


def _merge_rows(of_run: Timeline, rows: pl.DataFrame, most: int) -> tuple[int, pl.DataFrame]:
    """Return at most about `most` boxes, and the length (ns) below which neighbours are merged.

    Rows are sorted by path, location and begin. Consecutive short rows are merged if the gap between them is
    below that length.
    """
    shortest = 0
    merged = _make_boxes(rows, shortest)
    while len(merged) > most:
        shortest = max(2 * shortest, of_run.duration * len(of_run.locations) // (4 * max(most, 1)), 1)
        merged = _make_boxes(rows, shortest)
        if shortest > of_run.duration:
            break
    unit = _choose_unit(of_run)
    times = [(pl.col(name) / unit).round() for name in ("time", "waited")]
    spans = [((pl.col(name) - of_run.start) / unit).round() for name in ("begin", "end")]
    return shortest, merged.with_columns(*times, *spans)


def _make_boxes(rows: pl.DataFrame, shortest: int) -> pl.DataFrame:
    begin, end = rows["begin"].to_numpy(), rows["end"].to_numpy()
    if not len(rows):
        return rows.with_columns(pl.lit(0).alias(name) for name in ("time", "calls", "longest"))
    length = end - begin
    is_short = length < shortest
    where = rows.select("path", "location").to_numpy()
    starts = np.ones(len(rows), dtype=np.bool_)
    near = (begin[1:] - end[:-1] < shortest) & is_short[1:] & is_short[:-1]
    starts[1:] = ~near | (where[1:] != where[:-1]).any(axis=1)
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(rows)) - 1
    box = np.cumsum(starts) - 1
    # The longest row of each box: the last one in order of length.
    order = np.argsort(length, kind="stable")
    longest = np.empty(len(first), dtype=np.int64)
    longest[box[order]] = order
    return pl.DataFrame(
        {
            "path": where[first, 0],
            "location": where[first, 1],
            "begin": begin[first],
            "end": np.maximum.reduceat(end, first),
            "time": np.add.reduceat(length, first),
            "waited": np.add.reduceat(rows["waited"].to_numpy(), first),
            "calls": last - first + 1,
            "longest": longest,
        }
    )


def _select_messages(analysis: WaitAnalysis, most: int) -> tuple[pl.DataFrame, int]:
    """Return the messages with the longest transfer, and the number of the others."""
    of_run = analysis.timeline
    matched = analysis.matches.messages.filter(pl.col("receive_completed") >= 0, pl.col("send_started") >= 0)
    sent, received = matched["send_started"].to_numpy(), matched["receive_completed"].to_numpy()
    rows = pl.DataFrame(
        {
            "begin": np.rint((of_run.begin[sent] - of_run.start) / _choose_unit(of_run)),
            "end": np.rint((of_run.end[received] - of_run.start) / _choose_unit(of_run)),
            "source": of_run.location[sent],
            "destination": of_run.location[received],
            "bytes": matched["bytes"].to_numpy(),
        }
    )
    longest = rows.sort(pl.col("end") - pl.col("begin"), descending=True, maintain_order=True).head(most)
    return longest.sort("begin", maintain_order=True), len(rows) - len(longest)
