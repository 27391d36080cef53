"""From a profile to its trace."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers
from haloscope.base.errors import UsageError
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.trace_tables import CALLS, CLOCKS, REGIONS, RUNS, Trace
from haloscope.profile.trace.alignment import Aligned, align_events
from haloscope.profile.trace.communicators import Communicators
from haloscope.profile.trace.events import Action, Kind, TraceEvents, read_events
from haloscope.profile.trace.messages import Requests, collectives, receives, sends
from haloscope.profile.trace.trace_times import Clocks


def read_trace(profile: ProfileData) -> Trace:
    """Return the trace of a profile. Raises `UsageError` if it has none, `ProfileError` for damage."""
    return profile.guard(profile.source.own_trace or (lambda: _read_recorded(profile)))


def _read_recorded(profile: ProfileData) -> Trace:
    if not profile.has_trace:
        raise UsageError(f"{profile.path}: has no trace; record the run with `haloscope run --trace`")
    clocks = Clocks(profile)
    events = read_events(profile, clocks)
    size = int(profile.info.get("ranks", 0))
    communicators = Communicators(profile.frame("trace_communicators"), size)
    requests = Requests(events)
    lost = clocks.frame.select("rank", "lost").filter(pl.col("lost") > 0)
    sent, received = (of(events, requests, communicators) for of in (sends, receives))
    found = align_events(events, clocks.machines(events.ranks), sent, received, lost["rank"].cast(pl.Int32))
    return Trace(
        calls=_calls(found.events, requests),
        regions=_regions(found.events),
        sends=sent,
        receives=received,
        collectives=collectives(found.events, requests, communicators),
        communicators=communicators.frame,
        paths=profile.frame("paths"),
        processes=profile.frame("processes"),
        dropped=lost.rename({"lost": "events"}),
        clocks=clock_rows(clocks, found),
        runs=_runs(profile, clocks),
    )


def _runs(profile: ProfileData, clocks: Clocks) -> pl.DataFrame:
    """Return the time of each rank between MPI_Init and MPI_Finalize, unless only a part was recorded."""
    if any(profile.info.get(key) for key in ("only", "from", "until")):
        return pl.DataFrame(schema=RUNS)
    return pl.DataFrame(clocks.list_runs(), schema=RUNS, orient="row")


def _calls(events: TraceEvents, requests: Requests) -> pl.DataFrame:
    is_call = events.get_column("kind") == Kind.CALL
    symbols, where = events.symbol[is_call], events.where[is_call]
    counted = events.symbols.select(pl.col("call").cast(pl.Categorical), pl.col("path").cast(pl.Int32))
    return pl.DataFrame(
        {
            "rank": pl.Series(events.ranks.astype(np.int32)[where]),
            "thread": pl.Series(events.threads.astype(np.int32)[where]),
            "begin": events.begin[is_call],
            "end": events.end[is_call],
            "call": counted["call"].gather(symbols),
            "path": counted["path"].gather(symbols),
            "bytes": _bytes(events, requests, symbols),
            "is_exact": np.ones(len(where), dtype=bool),
        },
        schema=CALLS,
    )


def _bytes(events: TraceEvents, requests: Requests, calls: Integers) -> Integers:
    """Return the bytes of calls, whose symbols are given: their own and those of their parts, −1 for none."""
    has_none = events.symbols["action"].to_numpy()[calls] == 0
    parts = np.flatnonzero((events.get_column("action") == Action.COMPLETED_RECEIVE) & (events.call >= 0))
    completed = np.zeros(len(calls), dtype=np.int64)
    np.add.at(completed, events.call[parts], events.get_column("size")[parts])
    posted = requests.as_posted
    ends = events.call[requests.completion[posted]]
    np.add.at(completed, ends[ends >= 0], events.get_column("size")[posted][ends >= 0])
    total: Integers = events.symbols["bytes"].to_numpy()[calls] + np.where(has_none, completed, 0)
    return np.where(has_none & (total == 0), -1, total)


def _regions(events: TraceEvents) -> pl.DataFrame:
    """Return the visits of regions; an open one lasts until the last event of its thread."""
    kinds = events.get_column("kind")
    index = np.flatnonzero((kinds == Kind.ENTER) | (kinds == Kind.LEAVE))
    is_enter = kinds[index] == Kind.ENTER
    where = events.where[index]
    steps = np.where(is_enter, 1, -1)
    # A begin and its end are neighbours among events of one thread and depth.
    depth = np.cumsum(steps) + ~is_enter
    order = np.lexsort((index, depth, where))
    first, second = order[:-1], order[1:]
    is_pair = (
        is_enter[first]
        & ~is_enter[second]
        & (where[first] == where[second])
        & (depth[first] == depth[second])
    )
    last = np.full(len(index), -1, dtype=np.int64)
    last[first[is_pair]] = index[second[is_pair]]
    begins, begin_where, last = index[is_enter], where[is_enter], last[is_enter]
    ends_of_threads = events.end[np.searchsorted(events.where, np.arange(len(events.ranks)), "right") - 1]
    end = np.where(last >= 0, events.begin[last], ends_of_threads[begin_where] if len(begins) else 0)
    return pl.DataFrame(
        {
            "rank": events.ranks[begin_where],
            "thread": events.threads[begin_where],
            "begin": events.begin[begins],
            "end": end,
            "path": events.get_column("path")[begins],
        }
    ).cast(REGIONS)  # type: ignore[arg-type]


def clock_rows(clocks: Clocks, found: Aligned) -> pl.DataFrame:
    """Return one row per rank with a clock: offsets and moves in seconds, machines numbered from 0."""
    ranks = clocks.frame["rank"].to_numpy()
    machines = clocks.machines(ranks)
    shifts = {of: float(shift[np.abs(shift).argmax()]) * 1e-9 for of, shift in found.shifts.items()}
    # All ranks of a machine use the clock of its first rank.
    _, first = np.unique(machines, return_index=True)
    offsets = {
        name: clocks.frame[name].to_numpy()[first][machines] for name in ("offset_begin", "offset_end")
    }
    rows = pl.DataFrame(
        {
            "rank": ranks,
            "machine": machines,
            **offsets,
            "shift": [shifts.get(int(of), 0.0) for of in machines],
        }
    )
    moved = found.moved.select(
        pl.col("rank").cast(pl.Int64), moved="events", moved_max=pl.col("longest") * 1e-9
    )
    joined = rows.join(moved, on="rank", how="left")
    filled = joined.with_columns(pl.col("moved", "moved_max").fill_null(0)).sort("rank")
    return filled.select(list(CLOCKS)).cast(CLOCKS)  # type: ignore[arg-type]
