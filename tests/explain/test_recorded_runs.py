"""Programs that ran with a trace: every export and the tables of waiting, with both MPI interfaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import haloscope
from haloscope import explain
from haloscope.explain import Profile
from haloscope.profile.trace import Trace
from support.analysed import check_sums, check_tables
from support.goal import finish_times, messages, read_goal
from support.mpi import Mpi
from support.otf2_tools import check_order, matrix, need_otf2, read_archive
from support.perfetto import read_perfetto
from support.programs import Compiler
from support.traced import check_trace, matched
from support.watched import watch

ASSORTED = Path(__file__).parent / "programs" / "assorted.c"
RANKS = 3


@pytest.fixture(scope="module")
def profile(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    folder = tmp_path_factory.mktemp("assorted")
    watched = watch(mpi, RANKS, [compiler(mpi, ASSORTED)], folder, options=["--trace"])
    with haloscope.open(watched.path) as opened:
        yield opened


# Number of messages by sender, receiver and bytes.
Messages = Counter[tuple[int, int, int]]


def messages_sent(trace: Trace) -> Messages:
    within = trace.sends.filter(pl.col("partner") >= 0)
    return Counter(within.select("rank", "partner", "bytes").iter_rows())


def messages_received(trace: Trace) -> Messages:
    within = trace.receives.filter(pl.col("partner") >= 0)
    return Counter(within.select("partner", "rank", "bytes").iter_rows())


@pytest.fixture(scope="module")
def trace(profile: Profile) -> Trace:
    found = check_trace(profile)
    assert len(found.collectives)
    assert messages_sent(found) == messages_received(found) != Counter()
    return found


def test_readers_of_otf2_find_all_messages(profile: Profile, trace: Trace, tmp_path: Path) -> None:
    """Both readers find the trace's messages, and the archive opens as a profile with the same tables."""
    need_otf2()
    place = haloscope.export(profile.path, "otf2", tmp_path / "run")
    found = read_archive(place)
    check_order(found)
    assert matrix(found, True) == matrix(found, False) == messages_sent(trace)
    kinds = Counter(event["type"] for events in found["events"] for event in events)
    assert kinds["Enter"] == kinds["Leave"] == len(trace.calls) + len(trace.regions)
    ours, theirs = (
        one.table("partners", region="<program>").filter(pl.col("partner") >= 0).sort("rank", "partner")
        for one in (profile, explain.open(place))
    )
    columns = ["rank", "partner", "sends", "bytes_sent", "recvs", "bytes_recv"]
    assert theirs.select(columns).rows() == ours.select(columns).rows()


def test_perfetto_has_slices_and_arrows(profile: Profile, trace: Trace, tmp_path: Path) -> None:
    """Each call and visit of a region is a slice, each received message an arrow."""
    tracks = read_perfetto(haloscope.export(profile.path, "perfetto", tmp_path / "run"))
    kinds = Counter(one.category for track in tracks for one in track.slices)
    assert kinds == Counter(MPI=len(trace.calls), region=len(trace.regions))
    begins = Counter(flow for track in tracks for one in track.slices for flow in one.out)
    ends = Counter(flow for track in tracks for one in track.slices for flow in one.into)
    assert begins == ends
    known = matched(trace).drop_nulls(["started", "completed_received"])
    known = known.filter(pl.col("completed_received") >= 0)
    begun = trace.calls["begin"].gather(known["started"])
    over = trace.calls["end"].gather(known["completed_received"])
    assert len(ends) == (over >= begun).sum()


def test_a_schedule_ends_and_takes_longer_with_latency(
    profile: Profile, trace: Trace, tmp_path: Path
) -> None:
    """All sent messages are received, and they include those of the trace."""
    ranks = read_goal(haloscope.export(profile.path, "goal", tmp_path / "run"))
    sent = messages(ranks, "send")
    assert sent == messages(ranks, "recv")
    # GOAL has no empty messages: these have one byte.
    assert not Counter({(a, b, max(size, 1)): n for (a, b, size), n in messages_sent(trace).items()}) - sent
    length = max(finish_times(ranks, 0))
    assert max(finish_times(ranks, 2 * length)) >= 2 * length > 0


def test_regions_come_back_from_cali(profile: Profile, tmp_path: Path) -> None:
    ours = profile.table("regions").sort("path")
    place = haloscope.export(profile.path, "cali", tmp_path / "run.cali")
    theirs = explain.open(place).table("regions").sort("path")
    assert theirs["path"].to_list() == ours["path"].to_list()
    assert theirs["ranks"].to_list() == ours["ranks"].to_list()
    for column in ("time_mean", "time_min", "time_max"):
        assert theirs[column].to_list() == pytest.approx(ours[column].to_list(), rel=1e-6)


def test_tables_of_waiting_add_up(profile: Profile, trace: Trace) -> None:
    assert check_sums(trace).remarks == []
    check_tables(profile)
