"""`export --to perfetto`: packets of the documented format."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

from haloscope.explain.export import EXPORTS, Aliases, TracedProfile
from haloscope.profile.trace import Trace
from support.full_disk import check_full_disk
from support.perfetto import Track, read_perfetto
from support.traces import Script, cg_trace, halo_trace
from support.wild_traces import wild_traces

write = EXPORTS["perfetto"].load()


def written(trace: Trace, place: Path) -> list[Track]:
    write(TracedProfile(trace), place)
    return read_perfetto(place)


def arrows(tracks: list[Track]) -> list[tuple[int, int]]:
    """Return the tracks at which each arrow begins and ends, as indices."""
    begins = {flow: at for at, track in enumerate(tracks) for one in track.slices for flow in one.out}
    ends = [(flow, at) for at, track in enumerate(tracks) for one in track.slices for flow in one.into]
    assert len(ends) == len({flow for flow, _ in ends}) == len(begins)
    return [(begins[flow], at) for flow, at in ends]


@pytest.mark.parametrize("trace", [halo_trace(4, 3), cg_trace(5, 2)], ids=["halo", "cg"])
def test_slices_and_arrows_are_the_trace(trace: Trace, tmp_path: Path) -> None:
    tracks = written(trace, tmp_path / "trace")
    hosts = dict(trace.processes.select("rank", "host").iter_rows())
    assert [track.process for track in tracks] == [f"rank {rank} on {hosts[rank]}" for rank in sorted(hosts)]
    assert [(track.pid, track.tid) for track in tracks] == [
        (1000 + rank, 1000 + rank) for rank in sorted(hosts)
    ]
    calls = trace.calls.select("rank", "begin", "end", pl.col("call").cast(pl.String)).iter_rows()
    found = [(at, one) for at, track in enumerate(tracks) for one in track.slices]
    marked = {
        kind: Counter((at, one.begin, one.end, one.name) for at, one in found if one.category == kind)
        for kind in ("MPI", "region")
    }
    assert marked["MPI"] == Counter(calls)
    names = dict(trace.paths.select("path", "name").iter_rows())
    visits = ((rank, begin, end, names[path]) for rank, _, begin, end, path in trace.regions.iter_rows())
    assert marked["region"] == Counter(visits)
    assert Counter(arrows(tracks)) == Counter(trace.sends.select("rank", "partner").iter_rows())


def test_calls_have_their_bytes_and_partners(tmp_path: Path) -> None:
    script = Script(2)
    send, receive = script.call(0, "MPI_Isend", 10, 20), script.call(1, "MPI_Recv", 10, 30)
    script.send(send, 1, 100, tag=7, completed=script.call(0, "MPI_Wait", 40, 50, size=9))
    script.receive(receive, 0, 80, tag=7)
    for rank in (0, 1):
        script.collective(script.call(rank, "MPI_Bcast", 60, 70), "MPI_Bcast", 3, 8, root=1)
    first, second = written(script.trace(), tmp_path / "trace")
    assert [one.said for one in first.slices] == [
        {"to": 1, "tag": 7, "communicator": 0, "bytes": 100},
        {"bytes": 9},
        {"communicator": 0, "number": 3, "root": 1, "bytes": 8},
    ]
    assert second.slices[0].said == {"from": 0, "tag": 7, "communicator": 0, "bytes": 80}
    assert first.slices[0].out == second.slices[0].into != []


def test_an_arrow_needs_both_ends_and_time(tmp_path: Path) -> None:
    script = Script(2)
    for begin, tag in ((10, 1), (90, 2)):
        script.send(script.call(0, "MPI_Send", begin, begin + 5), 1, 8, tag=tag)
    for begin, tag in ((20, 1), (30, 1), (40, 2), (50, 3)):  # the third one ends before its send begins
        script.receive(script.call(1, "MPI_Recv", begin, begin + 5), 0, 8, tag=tag)
    tracks = written(script.trace(), tmp_path / "trace")
    assert arrows(tracks) == [(0, 1)]
    assert [len(one.into) for one in tracks[1].slices] == [1, 0, 0, 0]


@pytest.mark.parametrize("count", [3, 1000])
def test_messages_do_not_overtake(count: int, tmp_path: Path) -> None:
    script = Script(2)
    sends = [script.call(0, "MPI_Isend", 10 * at, 10 * at + 5) for at in range(count)]
    posts = [script.call(1, "MPI_Irecv", 10 * at, 10 * at + 5) for at in range(count)]
    later = range(10 * count, 20 * count, 10)
    waits = [script.call(1, "MPI_Wait", begin, begin + 5) for begin in later]
    for send in sends:
        script.send(send, 1, 8, completed=-1)
    for post, wait in zip(posts, reversed(waits), strict=True):  # completed in reverse order
        script.receive(post, 0, 8, completed=wait)
    first, second = written(script.trace(), tmp_path / "trace")
    assert [one.out for one in first.slices] == [one.into for one in reversed(second.slices[count:])]


def test_processes_with_one_number_and_threads(tmp_path: Path) -> None:
    script = Script(2)
    script.call(1, "MPI_Send", 0, 5, thread=3)
    trace = script.trace()
    trace.processes.replace_column(trace.processes.columns.index("pid"), pl.Series("pid", [77, 77]))
    tracks = written(trace, tmp_path / "trace")
    assert [(track.pid, track.thread) for track in tracks] == [
        (1, "thread 0"),
        (2, "thread 0"),
        (2, "thread 3"),
    ]
    assert len({track.tid for track in tracks}) == 3


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trace=wild_traces())
def test_packets_are_valid_whatever_the_trace_says(trace: Trace, tmp_path: Path) -> None:
    tracks = written(trace, tmp_path / "trace")
    slices = [one for track in tracks for one in track.slices]
    assert len(slices) == len(trace.calls) + len(trace.regions)
    assert all(0 <= one.begin <= one.end for one in slices)
    arrows(tracks)


def test_no_name_is_left_when_it_is_anonymous(tmp_path: Path) -> None:
    script = Script(1, hosts=["hidden-host"])
    script.region(0, 0, 5, script.path("hidden-region"))
    traced = TracedProfile(script.trace(), {"program": "hidden"})
    write(traced, tmp_path / "told")
    write(traced.anonymous(Aliases()), tmp_path / "trace")
    assert (tmp_path / "told").read_bytes().count(b"hidden") == 2
    assert b"hidden" not in (tmp_path / "trace").read_bytes()


def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    check_full_disk(write, tmp_path, "File too large")
