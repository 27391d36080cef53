"""Polls in a trace: calls that look whether a message is there, and the short times between two of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags
from haloscope.base.schema import POLL_GAPS
from haloscope.profile.waiting.stretches import COMPUTING, IN_CALL, Stretches
from haloscope.profile.waiting.timeline import Timeline

_POLLS = r"^MPI_(Test(all|any|some)?|Iprobe|Improbe|Parrived|Request_get_status(_all|_any|_some)?)$"


def find_polls(timeline: Timeline) -> Flags:
    """Return which calls are polls."""
    flags: Flags = timeline.names.str.contains(_POLLS).fill_null(value=False).to_numpy()
    return flags


def find_gaps(timeline: Timeline, polls: Flags) -> Flags:
    """Return which polls follow a poll of the same region at once: the time between the two is polling."""
    gaps = np.zeros(len(polls), dtype=np.bool_)
    if not polls.any():
        return gaps
    usual = (
        pl.DataFrame({"location": timeline.location[polls], "time": (timeline.end - timeline.begin)[polls]})
        .group_by("location")
        .agg(pl.col("time").median())
    )
    limit = np.full(len(timeline.locations), POLL_GAPS[0], dtype=np.float64)
    limit[usual["location"].to_numpy()] = usual["time"].to_numpy().clip(*POLL_GAPS)
    same = (timeline.location[1:] == timeline.location[:-1]) & (timeline.path[1:] == timeline.path[:-1])
    is_short = timeline.begin[1:] - timeline.end[:-1] <= limit[timeline.location[1:]]
    gaps[1:] = polls[1:] & polls[:-1] & same & is_short
    return gaps


def mark_gaps(timeline: Timeline, cut: Stretches) -> Stretches:
    """Mark the computing between two polls as time in MPI, and return the stretches."""
    calls = np.flatnonzero(find_gaps(timeline, find_polls(timeline)))
    between = cut.after_call[calls - 1]
    # A mark of a region between the two makes two stretches.
    alone = between[cut.before_call[calls] - between == 1]
    cut.kind[alone[cut.kind[alone] == COMPUTING]] = IN_CALL
    return cut
