"""Wait states after Scalasca's definitions: the waiting part of each call, and the rank that it waited for.

A call waits for the last event that it needs. So each call has at most one wait, at its begin, and after some
collectives a completion, at its end.
"""

from __future__ import annotations

import polars as pl

from haloscope.base.arrays import Integers
from haloscope.profile.waiting.dependencies import Dependencies
from haloscope.profile.waiting.timeline import Timeline

WAITS = (
    "late_sender",
    "wrong_order",
    "late_receiver",
    "wait_at_barrier",
    "wait_at_nxn",
    "early_reduce",
    "late_broadcast",
    "early_scan",
)
COMPLETIONS = {"barrier": "barrier_completion", "all_to_all": "nxn_completion"}
_OF_KIND = {
    "barrier": "wait_at_barrier",
    "all_to_all": "wait_at_nxn",
    "to_root": "early_reduce",
    "from_root": "late_broadcast",
    "prefix": "early_scan",
}
# These calls do not wait.
_LOOKS = r"^MPI_(Test|Iprobe|Improbe|Request_get_status)"


def wait_states(timeline: Timeline, depends: Dependencies) -> pl.DataFrame:
    """Return a row per call that waited or completed.

    `call` (a row of the timeline), `kind` (one of `WAITS` or `COMPLETIONS`), `time` (ns, more than 0),
    `cause` (the call whose begin ended the waiting; -1 for a completion).
    """
    arrivals = pl.concat([_get_messages(depends), _get_collectives(depends)])
    calls = arrivals["call"].to_numpy()
    begin, end = timeline.begin, timeline.end
    arrivals = arrivals.with_columns(
        pl.Series("arrival", begin[arrivals["cause"].to_numpy()], dtype=pl.Int64),
        pl.Series("begin", begin[calls], dtype=pl.Int64),
        pl.Series("end", end[calls], dtype=pl.Int64),
        timeline.names.gather(arrivals["call"]).str.contains(_LOOKS).alias("looks"),
    )
    # Arrivals after a call's end are left out: the call did not wait for them.
    late = arrivals.filter(
        pl.col("arrival") > pl.col("begin"), pl.col("arrival") <= pl.col("end"), ~pl.col("looks")
    )
    last = late.sort("call", "arrival", "order", "cause", descending=[False, True, False, False])
    last = last.unique("call", keep="first", maintain_order=True)
    time = (pl.col("arrival") - pl.col("begin")).alias("time")
    waits = last.select("call", _with_wrong_order(timeline, depends, last), time, "cause")
    return pl.concat([waits, _completions(timeline, depends, waits)]).sort("call", "kind")


def _get_messages(depends: Dependencies) -> pl.DataFrame:
    order = pl.when(pl.col("kind") == "late_sender").then(0).otherwise(1).alias("order")
    return depends.messages.select("call", pl.col("other").alias("cause"), "kind", order, "pair")


def _get_collectives(depends: Dependencies) -> pl.DataFrame:
    parts = depends.collectives
    rows = parts.select(
        pl.col("completed").alias("call"),
        find_awaited_calls(parts).alias("cause"),
        pl.col("kind").replace_strict(_OF_KIND, return_dtype=pl.String),
        pl.lit(2, pl.Int32).alias("order"),
        pl.lit(-1, pl.Int64).alias("pair"),
    )
    return rows.filter(pl.col("cause") >= 0, pl.col("call") >= 0)


def find_awaited_calls(parts: pl.DataFrame) -> pl.Series:
    """Return the call whose begin ends the waiting of each part, -1 if it does not wait.

    All ranks wait for the last one. A root that collects waits for the first of the others, as data arrive
    from then on. Ranks that receive from a root wait for the root. In a scan, each rank waits for the last of
    the ranks before it.
    """
    whole, kind = "collective", pl.col("kind")
    arrival, started = pl.col("arrival"), pl.col("started")
    is_root = pl.col("rank") == pl.col("root")
    last = started.get(arrival.arg_max()).over(whole)
    others = pl.when(~is_root).then(arrival)
    first_other = started.get(others.arg_min()).over(whole)
    root = started.filter(is_root).first().over(whole)
    # Parts of a collective are in the order of their ranks.
    is_latest = arrival == arrival.cum_max().over(whole)
    latest_before = pl.when(is_latest).then(started).forward_fill().over(whole).shift(1).over(whole)
    found = (
        pl.when(kind.is_in(["barrier", "all_to_all"]))
        .then(last)
        .when((kind == "to_root") & is_root)
        .then(first_other)
        .when((kind == "from_root") & ~is_root)
        .then(root)
        .when(kind == "prefix")
        .then(latest_before)
        .otherwise(-1)
    )
    return parts.select(found.fill_null(-1).cast(pl.Int64).alias("cause"))["cause"]


def _with_wrong_order(timeline: Timeline, depends: Dependencies, last: pl.DataFrame) -> pl.Expr:
    """Return the kinds; a late sender's message is in wrong order if an earlier one was received later."""
    received = depends.messages.filter(pl.col("kind") == "late_sender").select(
        "pair",
        "call",
        pl.Series("location", timeline.location[_get_column(depends, "call")]),
        pl.Series("sent", timeline.begin[_get_column(depends, "other")]),
    )
    # The earliest send that later calls of the location received.
    by_call = received.group_by("location", "call").agg(pl.col("sent").min()).sort("location", "call")
    later = pl.col("sent").shift(-1).cum_min(reverse=True).over("location").alias("older")
    oldest = by_call.select("call", later)
    wrong = received.join(oldest, on="call").filter(pl.col("older") < pl.col("sent"))["pair"]
    is_wrong = (pl.col("kind") == "late_sender") & pl.col("pair").is_in(wrong.implode())
    return pl.when(is_wrong).then(pl.lit("wrong_order")).otherwise("kind").alias("kind")


def _get_column(depends: Dependencies, column: str) -> Integers:
    chosen = depends.messages.filter(pl.col("kind") == "late_sender")
    return chosen[column].to_numpy()


def _completions(timeline: Timeline, depends: Dependencies, waits: pl.DataFrame) -> pl.DataFrame:
    """Return the time for which a rank stayed in a collective after the first rank had left it."""
    done = pl.col("completed")
    parts = depends.collectives.filter(pl.col("kind").is_in(list(COMPLETIONS)))
    parts = parts.with_columns((done >= 0).all().over("collective").alias("all")).filter("all")
    calls = parts["completed"].to_numpy()
    begin, end = timeline.begin[calls], timeline.end[calls]
    times = parts.with_columns(pl.Series("begin", begin), pl.Series("end", end))
    # If clocks differ, a rank may seem to leave before a different rank has arrived.
    come = pl.max_horizontal(
        pl.col("end").min().over("collective"), pl.col("arrival").max().over("collective")
    )
    # A call may also have waited for other operations than this collective.
    waited = waits.select(pl.col("call").alias("completed"), pl.col("time").alias("waited"))
    together = pl.max_horizontal(come, pl.col("begin") + pl.col("waited").fill_null(0))
    rows = times.join(waited, on="completed", how="left").select(
        done.alias("call"),
        pl.col("kind").replace_strict(COMPLETIONS, return_dtype=pl.String),
        (pl.col("end") - together).alias("time"),
        pl.lit(-1, pl.Int64).alias("cause"),
    )
    # A call that completes several collectives counts for one.
    return (
        rows.filter(pl.col("time") > 0).sort("call", "time").unique("call", keep="first", maintain_order=True)
    )
