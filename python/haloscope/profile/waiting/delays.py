"""Delay costs: the excess time of ranks and regions that others waited for."""

from __future__ import annotations

import ctypes

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers
from haloscope.profile.kernels import native_library
from haloscope.profile.waiting.matching import Matches
from haloscope.profile.waiting.stretches import Stretches, pointers
from haloscope.profile.waiting.timeline import Timeline


class _Waiting(ctypes.Structure):
    """`Waiting` in delays.cpp."""

    _fields_ = (("arrays", ctypes.c_void_p * 5), ("count", ctypes.c_int64))


def delay_costs(timeline: Timeline, cut: Stretches, waits: pl.DataFrame, matches: Matches) -> pl.DataFrame:
    """Return the waiting that each rank and region caused: `path`, `rank`, `direct`, `indirect` (ns).

    Each wait is divided among the activities of the late rank that took longer than on the waiting rank,
    since both last synchronised (`direct`). If the late rank itself waited longer, that share is passed on to
    the ranks that it waited for (`indirect`). The sum of all costs is the total waiting time.
    """
    chosen = waits.filter(pl.col("cause") >= 0)
    calls, causes = chosen["call"].to_numpy(), chosen["cause"].to_numpy()
    # Waits are processed from the last end backwards: a wait can only be caused by waits that ended earlier.
    order = np.lexsort((-timeline.end[calls], -timeline.begin[causes]))
    calls, causes = np.ascontiguousarray(calls[order]), causes[order]
    since_here, since_there = _last_synchronised(timeline, matches, calls, causes)
    here = _stretches_between(timeline, cut, since_here, calls)
    there = _stretches_between(timeline, cut, since_there, causes)
    late, path = timeline.location[causes], timeline.path[causes]
    shape = (len(timeline.locations), timeline.paths)
    direct, indirect = np.zeros(shape), np.zeros(shape)
    waiting = _Waiting(pointers(calls, here, there, late, path), len(calls))
    if native_library().haloscope_delays(
        cut.struct,
        ctypes.byref(waiting),
        len(timeline.begin),
        timeline.paths,
        direct.ctypes.data,
        indirect.ctypes.data,
    ):
        raise MemoryError
    location, path = np.nonzero(direct + indirect)
    rows = pl.DataFrame(
        {
            "path": path,
            "rank": timeline.ranks[location].astype(np.int64),
            "direct": direct[location, path],
            "indirect": indirect[location, path],
        }
    )
    return rows.group_by("path", "rank").sum().sort("path", "rank")


def _stretches_between(timeline: Timeline, cut: Stretches, since: Integers, until: Integers) -> Integers:
    """Return the stretches after the call `since` (-1: all) and before the call `until`, (waits, 2)."""
    first = cut.first[timeline.location[until]]
    begin = np.where(since < 0, first, cut.after_call[np.maximum(since, 0)]) if len(cut.after_call) else first
    return np.ascontiguousarray(np.column_stack([begin, cut.before_call[until]]))


def _last_synchronised(
    timeline: Timeline, matches: Matches, calls: Integers, causes: Integers
) -> tuple[Integers, Integers]:
    """Return the calls on both sides of the last message or collective that had ended for both ranks."""
    waits = pl.DataFrame(
        {
            "wait": np.arange(len(calls)),
            "here": timeline.location[calls],
            "there": timeline.location[causes],
            "begun": np.minimum(timeline.begin[calls], timeline.begin[causes]),
        }
    ).sort("begun")
    known = pl.concat([_by_messages(timeline, matches, waits), _by_collectives(timeline, matches, waits)])
    last = known.sort("over").unique("wait", keep="last", maintain_order=True)
    found = waits.select("wait").join(last, on="wait", how="left").sort("wait")
    here, there = (found[name].fill_null(-1).to_numpy() for name in ("call_here", "call_there"))
    return here, there


_FOUND = ["wait", "over", "call_here", "call_there"]


def _by_messages(timeline: Timeline, matches: Matches, waits: pl.DataFrame) -> pl.DataFrame:
    """Return for each wait the last message between both ranks that had ended when the later rank began."""
    done = matches.messages.filter(pl.col("receive_completed") >= 0)
    start, completion = done["send_started"].to_numpy(), done["receive_completed"].to_numpy()
    over = np.maximum(timeline.end[start], timeline.end[completion])
    sides = [
        pl.DataFrame(
            {
                "here": timeline.location[a],
                "there": timeline.location[b],
                "over": over,
                "call_here": a,
                "call_there": b,
            }
        )
        for a, b in ((start, completion), (completion, start))
    ]
    known = pl.concat(sides).sort("over")
    found = waits.join_asof(
        known, left_on="begun", right_on="over", by=["here", "there"], check_sortedness=False
    )
    return found.drop_nulls("over").select(_FOUND)


# Number of collectives by which a rank may be ahead of a rank whose data it does not need.
_MOST_BACK = 3


def _by_collectives(timeline: Timeline, matches: Matches, waits: pl.DataFrame) -> pl.DataFrame:
    """Return for each wait the last collectives of both ranks that had ended."""
    parts = matches.parts.filter(pl.col("completed") >= 0).select("communicator", "collective", "completed")
    calls = parts["completed"].to_numpy()
    parts = parts.with_columns(
        pl.Series("location", timeline.location[calls]), pl.Series("end", timeline.end[calls])
    )
    members = parts.select("location", "communicator").unique()
    pairs = waits.select("here", "there").unique()
    shared = pairs.join(members, left_on="here", right_on="location").join(
        members, left_on=["there", "communicator"], right_on=["location", "communicator"]
    )
    both = waits.join(shared, on=["here", "there"]).sort("begun")
    ours = parts.rename({"location": "here", "completed": "call_here"}).sort("end")
    last = both.join_asof(
        ours, left_on="begun", right_on="end", by=["here", "communicator"], check_sortedness=False
    ).drop_nulls("collective")
    theirs = parts.rename({"location": "there", "completed": "call_there", "end": "end_there"})
    mine = parts.rename({"location": "here", "completed": "call_here", "end": "end_here"})
    found = []
    for back in range(_MOST_BACK):
        earlier = last.select("wait", "here", "there", "begun", "communicator", pl.col("collective") - back)
        whole = earlier.join(mine, on=["here", "communicator", "collective"]).join(
            theirs, on=["there", "communicator", "collective"]
        )
        over = pl.max_horizontal("end_here", "end_there").alias("over")
        found.append(whole.with_columns(over).filter(pl.col("over") <= pl.col("begun")).select(_FOUND))
    return pl.concat(found)
