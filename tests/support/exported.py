"""What must hold of all exports of a profile with a trace, as their readers see them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import haloscope
from haloscope import explain
from haloscope.explain import Profile
from haloscope.explain.trace import Trace
from support.goal import Operation, messages, read_goal
from support.otf2_tools import check_order, matrix, read_archive
from support.perfetto import read_perfetto
from support.traced import matched

__all__ = ["Messages", "check_cali", "check_goal", "check_otf2", "check_perfetto"]

# How often, by sender, receiver and bytes.
Messages = Counter[tuple[int, int, int]]


def _sent(trace: Trace) -> Messages:
    within = trace.sends.filter(pl.col("partner") >= 0)
    return Counter(within.select("rank", "partner", "bytes").iter_rows())


def _received(trace: Trace) -> Messages:
    within = trace.receives.filter(pl.col("partner") >= 0)
    return Counter(within.select("partner", "rank", "bytes").iter_rows())


def _is_whole(trace: Trace) -> bool:
    return bool(_sent(trace) == _received(trace) and trace.dropped.is_empty())


def check_otf2(profile: Profile, trace: Trace, place: Path) -> None:
    """Both readers find the trace's messages, sends as many as receives, and what opens it has our tables."""
    found = read_archive(haloscope.export(profile.path, "otf2", place))
    check_order(found)
    assert matrix(found, True) == _sent(trace)
    assert not matrix(found, False) - _received(trace)  # one that nothing completed has no event
    kinds = Counter(event["type"] for events in found["events"] for event in events)
    assert kinds["Enter"] == kinds["Leave"] == len(trace.calls) + len(trace.regions)
    if _is_whole(trace):
        assert matrix(found, False) == matrix(found, True)
    ours, theirs = (
        one.table("partners", region="<program>").filter(pl.col("partner") >= 0).sort("rank", "partner")
        for one in (profile, explain.open(place))
    )
    columns = ["rank", "partner", "sends", "bytes_sent", "recvs", "bytes_recv"]
    assert theirs.select(columns).rows() == ours.select(columns).rows()


def check_perfetto(profile: Profile, trace: Trace, place: Path) -> None:
    """Each call and visit is a slice, each message that came an arrow."""
    tracks = read_perfetto(haloscope.export(profile.path, "perfetto", place))
    kinds = Counter(one.category for track in tracks for one in track.slices)
    assert kinds == Counter(MPI=len(trace.calls), region=len(trace.regions))
    begins = Counter(flow for track in tracks for one in track.slices for flow in one.out)
    ends = Counter(flow for track in tracks for one in track.slices for flow in one.into)
    assert begins == ends
    known = (
        matched(trace).drop_nulls(["started", "completed_received"]).filter(pl.col("completed_received") >= 0)
    )
    begun = trace.calls["begin"].gather(known["started"])
    over = trace.calls["end"].gather(known["completed_received"])
    assert len(ends) == (over >= begun).sum()


def check_goal(profile: Profile, trace: Trace, place: Path) -> list[list[Operation]]:
    """All that is sent is received, and messages of the trace are among it. Return the operations."""
    ranks = read_goal(haloscope.export(profile.path, "goal", place))
    sent = messages(ranks, "send")
    assert sent == messages(ranks, "recv")
    if _is_whole(trace):
        # GOAL has no messages of nothing: they have a byte.
        assert not Counter({(a, b, max(size, 1)): n for (a, b, size), n in _sent(trace).items()}) - sent
    return ranks


def check_cali(profile: Profile, place: Path) -> None:
    """The file opens as a profile with the same regions, times and messages."""
    ours = profile.table("regions").sort("path")
    theirs = explain.open(haloscope.export(profile.path, "cali", place)).table("regions").sort("path")
    assert theirs["path"].to_list() == ours["path"].to_list()
    assert theirs["ranks"].to_list() == ours["ranks"].to_list()
    for column in ("time_mean", "time_min", "time_max"):
        assert theirs[column].to_list() == pytest.approx(ours[column].to_list(), rel=1e-6)
