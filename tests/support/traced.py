"""What a trace says, against the tables of the same profile: counts and bytes are equal, and times add up."""

from __future__ import annotations

import polars as pl

from haloscope.explain import Profile
from haloscope.profile.trace import Trace

_CHANNEL = ["source", "dest", "tag", "communicator"]


def check_trace(profile: Profile, within: float = 1e-3) -> Trace:
    """Assert that nothing was lost and that the tables say the same, times to `within`. Return the trace."""
    trace = profile.trace()
    assert trace.dropped.is_empty()
    _check_calls(profile, trace, within)
    _check_ranks(profile, trace)
    _check_order(trace)
    return trace


def matched(trace: Trace) -> pl.DataFrame:
    """Return messages: the n-th send and the n-th receive between two ranks, by tag and communicator.

    Columns of the receive end with `_received`; messages without a receive have nulls there.
    """
    what = [*_CHANNEL, "bytes", "started", "completed"]
    number = pl.int_range(pl.len()).over(_CHANNEL).alias("number")
    sent = trace.sends.rename({"rank": "source", "partner": "dest"}).select(what).with_columns(number)
    came = trace.receives.rename({"rank": "dest", "partner": "source"}).select(what).with_columns(number)
    return sent.join(came, on=[*_CHANNEL, "number"], how="full", coalesce=True, suffix="_received")


def _check_calls(profile: Profile, trace: Trace, within: float) -> None:
    """Functions by region: equal numbers of calls, bytes and times."""
    found = trace.calls.group_by(pl.col("path").cast(pl.Int64), pl.col("call").cast(pl.String)).agg(
        calls=pl.len().cast(pl.Int64),
        bytes=pl.col("bytes").clip(0).sum(),
        seconds=(pl.col("end") - pl.col("begin")).sum() * 1e-9,
    )
    stored = profile.frame("calls").group_by("path", "call").agg(pl.col("calls", "bytes", "time_total").sum())
    both = stored.join(found, on=["path", "call"], how="full", coalesce=True, suffix="_traced")
    wrong = both.filter(
        pl.col("calls").ne_missing(pl.col("calls_traced"))
        | pl.col("bytes").ne_missing(pl.col("bytes_traced"))
    )
    assert wrong.is_empty(), wrong
    # Calls that are not timed otherwise have a time in the trace alone; nanoseconds are rounded.
    timed = both.filter(pl.col("time_total") > 0)
    limit = timed["time_total"] * within + timed["calls"] * 2e-9
    late = timed.filter((timed["time_total"] - timed["seconds"]).abs() > limit)
    assert profile.info["trace"] == "compact" or late.is_empty(), late


def _check_ranks(profile: Profile, trace: Trace) -> None:
    """Messages and collectives of each rank."""
    stored = (
        profile.frame("ranks")
        .group_by("rank")
        .agg(pl.col("sends", "recvs", "bytes_sent", "bytes_recv", "colls", "coll_bytes").sum())
    )
    rank = pl.col("rank").cast(pl.Int64)
    found = (
        stored.select("rank")
        .join(
            trace.sends.group_by(rank).agg(sends=pl.len(), bytes_sent=pl.col("bytes").sum()),
            on="rank",
            how="left",
        )
        .join(
            trace.receives.group_by(rank).agg(recvs=pl.len(), bytes_recv=pl.col("bytes").sum()),
            on="rank",
            how="left",
        )
        .join(trace.collectives.group_by(rank).agg(colls=pl.len()), on="rank", how="left")
        .fill_null(0)
    )
    columns = ["rank", *found.columns[1:]]
    expected = stored.select(columns).sort("rank").rows()
    assert found.select(columns).sort("rank").rows() == expected


def _check_order(trace: Trace) -> None:
    """Calls of a thread follow each other, and rows of calls are those that are meant."""
    calls = trace.calls
    follows = calls.select(
        (pl.col("begin") >= pl.col("end").shift(1)).over("rank", "thread").fill_null(value=True).all()
    )
    assert follows.item()
    assert (calls["end"] >= calls["begin"]).all()
    for frame in (trace.sends, trace.receives, trace.collectives):
        assert (frame["started"] >= 0).all()
        assert calls["rank"].gather(frame["started"]).to_list() == frame["rank"].to_list()
        done = frame.filter(pl.col("completed") >= 0)
        assert (done["completed"] >= done["started"]).all() or calls["thread"].n_unique() > 1
