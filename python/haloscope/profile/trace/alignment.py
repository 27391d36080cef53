"""Aligns the clocks of several machines: no message arrives before it was sent.

Offsets are measured at the begin and the end of a run; between them clocks drift. A message implies that its
receive ends after its send began, on any clock. Messages of both directions leave an interval for the offset.
Events that do not fit after that are moved and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats, Integers
from haloscope.profile.trace.events import Kind, TraceEvents

_CHANNEL = ["source", "dest", "tag", "communicator"]
_WINDOWS = 64
MOVED: dict[str, type[pl.DataType]] = {"rank": pl.Int32, "events": pl.Int64, "longest": pl.Int64}


@dataclass(frozen=True)
class Aligned:
    """Events with aligned times.

    `shifts`: by machine, the nanoseconds added to its clock because of messages, for each window of the run.
    `moved`: a row per rank with calls or regions that were moved after that: their number, and the largest
    move in nanoseconds.
    """

    events: TraceEvents
    shifts: dict[int, Floats]
    moved: pl.DataFrame


def align_events(
    events: TraceEvents, machines: Integers, sends: pl.DataFrame, receives: pl.DataFrame, lost: pl.Series
) -> Aligned:
    """Return the events with times at which no message arrives before it was sent.

    `machines` are those of the rows of `events.ranks`. Messages of ranks that `lost` events are matched if
    the numbers of sends and receives are equal.
    """
    nothing = pl.DataFrame(schema=MOVED)
    if len(np.unique(machines)) < 2:
        return Aligned(events, {}, nothing)
    sent, arrived = _messages(events, sends, receives, lost)
    times = np.column_stack([events.begin, events.end]).ravel()
    threads = np.repeat(events.where, 2)
    shifts = _shifts(times, machines[threads], 2 * sent, 2 * arrived + 1)
    shifted = _rising(_shift_times(times, machines[threads], shifts), threads)
    final = _in_order(shifted, threads, 2 * sent, 2 * arrived + 1).reshape(-1, 2)
    way = np.abs(final - shifted.reshape(-1, 2)).max(axis=1, initial=0)
    return Aligned(
        replace(events, begin=final[:, 0], end=final[:, 1]),
        shifts,
        _count_moved(events, way) if way.any() else nothing,
    )


def _messages(
    events: TraceEvents, sends: pl.DataFrame, receives: pl.DataFrame, lost: pl.Series
) -> tuple[Integers, Integers]:
    """Return the rows of `events` in which messages were sent, and those in which they had arrived."""
    number = pl.int_range(pl.len()).over(_CHANNEL).alias("number")
    count = pl.len().over(_CHANNEL).alias("count")
    sent = sends.rename({"rank": "source", "partner": "dest"}).select(*_CHANNEL, "started", number, count)
    came = receives.rename({"rank": "dest", "partner": "source"})
    came = came.select(*_CHANNEL, "completed", number, count).filter(pl.col("completed") >= 0)
    both = sent.filter(pl.col("started") >= 0).join(came, on=[*_CHANNEL, "number"])
    is_sure = ~pl.col("source").is_in(lost.implode()) & ~pl.col("dest").is_in(lost.implode())
    both = both.filter(is_sure | (pl.col("count") == pl.col("count_right")))
    rows = np.flatnonzero(events.get_column("kind") == Kind.CALL)
    return rows[both["started"].to_numpy()], rows[both["completed"].to_numpy()]


def _shifts(times: Integers, machine: Integers, sent: Integers, arrived: Integers) -> dict[int, Floats]:
    """Return the shift of each machine's clock in each window of the run, from messages alone.

    The machine of the first row keeps its clock. The others follow, in the order of their messages with
    machines that are done. Shifts are as small as messages allow.
    """
    first = int(machine[0])
    windows = _windows(times)
    shifts: dict[int, Floats] = {first: np.zeros(_WINDOWS)}
    between = machine[sent] != machine[arrived]
    sent, arrived = sent[between], arrived[between]
    window = np.clip(np.searchsorted(windows, times[sent], "right") - 1, 0, _WINDOWS - 1)
    left = [int(of) for of in np.unique(machine) if of != first]
    while left:
        known = np.array(sorted(shifts))
        here, there = machine[sent], machine[arrived]
        counts = [
            int((((here == of) & np.isin(there, known)) | ((there == of) & np.isin(here, known))).sum())
            for of in left
        ]
        of = left.pop(int(np.argmax(counts)))
        room = (times[arrived] - times[sent]).astype(np.float64)
        other = np.zeros(len(sent))
        for machine_done, shift in shifts.items():
            other[here == machine_done], other[there == machine_done] = (
                shift[window[here == machine_done]],
                shift[window[there == machine_done]],
            )
        least, most = np.full(_WINDOWS, -np.inf), np.full(_WINDOWS, np.inf)
        into, out = (there == of) & np.isin(here, known), (here == of) & np.isin(there, known)
        np.maximum.at(least, window[into], other[into] - room[into])
        np.minimum.at(most, window[out], other[out] + room[out])
        shifts[of] = _choose_shifts(least, most)
    return shifts


def _choose_shifts(least: Floats, most: Floats) -> Floats:
    """Return a shift for each window: the nearest to 0 that messages of both directions allow.

    Between such windows it is interpolated, as far as messages of one direction allow.
    """
    is_bounded = np.isfinite(least) & np.isfinite(most)
    index = np.arange(len(least))
    shift = np.zeros(len(least))
    if is_bounded.any():
        low, high = least[is_bounded], most[is_bounded]
        nearest = np.where(low > high, (low + high) / 2, np.clip(0.0, low, high))
        shift = np.interp(index, index[is_bounded], nearest)
    within: Floats = np.where(is_bounded, shift, np.clip(shift, least, most))
    return within


def _windows(times: Integers) -> Floats:
    """Return the begins of the windows of a run."""
    first, last = float(times.min()), float(times.max()) + 1.0
    windows: Floats = np.linspace(first, last, _WINDOWS, endpoint=False)
    return windows


def _shift_times(times: Integers, machine: Integers, shifts: dict[int, Floats]) -> Integers:
    windows = _windows(times)
    centres = windows + (windows[1] - windows[0]) / 2
    result: Integers = times.copy()
    for of, shift in shifts.items():
        if shift.any():
            own = machine == of
            result[own] += np.rint(np.interp(times[own], centres, shift)).astype(np.int64)
    return result


def _rising(times: Integers, threads: Integers) -> Integers:
    """Return times that never go back within a thread."""
    span = int(times.max()) - int(times.min()) + 1
    apart = threads * span
    result: Integers = np.maximum.accumulate(times + apart).astype(np.int64, copy=False) - apart
    return result


def _in_order(times: Integers, threads: Integers, sent: Integers, arrived: Integers) -> Integers:
    """Return times, none earlier than before, in which no message ends before it was sent.

    A moved event moves later events of its thread if they would overlap; these may be sends.
    """
    while True:
        late = np.flatnonzero(times[arrived] < times[sent])
        if not len(late):
            return times
        times = times.copy()
        np.maximum.at(times, arrived[late], times[sent[late]])
        times = _rising(times, threads)


def _count_moved(events: TraceEvents, way: Integers) -> pl.DataFrame:
    kinds = events.get_column("kind")
    own = np.flatnonzero((way > 0) & np.isin(kinds, (Kind.CALL, Kind.ENTER, Kind.LEAVE)))
    frame = pl.DataFrame({"rank": events.ranks[events.where[own]], "way": way[own]})
    counted = frame.group_by("rank").agg(events=pl.len(), longest=pl.col("way").max()).sort("rank")
    return counted.cast(MOVED)  # type: ignore[arg-type]
