"""`export --to goal`: schedules that end, with the trace's messages and computation, and their times."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haloscope.explain.export import EXPORTS, TracedProfile
from haloscope.profile.trace import Trace
from support.full_disk import check_full_disk
from support.goal import Operation, finish_times, messages, read_goal
from support.traces import Script, cg_trace, halo_trace
from support.wild_traces import wild_traces

COLLECTIVES = (
    "Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw "
    "Allreduce Reduce Reduce_scatter Reduce_scatter_block Scan Exscan Ibarrier Ibcast Iallreduce "
    "Comm_dup Comm_split Comm_free"
).split()

write = EXPORTS["goal"].load()


def written(trace: Trace, place: Path) -> list[list[Operation]]:
    write(TracedProfile(trace), place)
    return read_goal(place)


@pytest.mark.parametrize("trace", [halo_trace(4, 3), cg_trace(5, 2)], ids=["halo", "cg"])
def test_messages_and_computation_are_the_traces(trace: Trace, tmp_path: Path) -> None:
    ranks = written(trace, tmp_path / "goal")
    assert len(ranks) == len(trace.processes)
    assert messages(ranks, "send") == messages(ranks, "recv")
    point_to_point = Counter(trace.sends.select("rank", "partner", "bytes").iter_rows())
    found = messages(ranks, "send")
    assert {key: found[key] for key in point_to_point} == dict(point_to_point)
    for rank, operations in enumerate(ranks):
        calls = trace.calls.filter(rank=rank)
        in_mpi = int((calls["end"] - calls["begin"]).sum())
        end = int(trace.regions.filter(rank=rank)["end"].to_numpy().max())
        assert sum(one.size for one in operations if one.kind == "calc") == end - in_mpi
    assert max(finish_times(ranks, 0)) <= int(trace.regions["end"].to_numpy().max())
    slow, slower = (max(finish_times(ranks, latency)) for latency in (10_000, 20_000))
    assert max(finish_times(ranks, 0)) < slow < slower


def test_times_follow_from_dependencies(tmp_path: Path) -> None:
    """Rank 0 computes 100 and sends; rank 1 posts at 10, computes until 60, waits, computes 40 more."""
    script = Script(2)
    script.send(script.call(0, "MPI_Send", 100, 110), 1, 8)
    post, wait = script.call(1, "MPI_Irecv", 10, 20), script.call(1, "MPI_Wait", 70, 200)
    script.receive(post, 0, 8, completed=wait)
    script.region(1, 0, 240, script.path("all"))
    ranks = written(script.trace(), tmp_path / "goal")
    assert finish_times(ranks, 0) == [100, 140]
    assert finish_times(ranks, 30) == [100, 170]
    assert messages(ranks, "recv") == {(0, 1, 8): 1}


def test_a_rank_computes_before_its_first_and_after_its_last_call(tmp_path: Path) -> None:
    script = Script(2)
    script.send(script.call(0, "MPI_Send", 100, 110), 1, 8)
    script.receive(call := script.call(1, "MPI_Recv", 10, 120), 0, 8, completed=call)
    ends = {"rank": [0, 1], "begin": [5, 0], "end": [150, 170]}
    trace = script.trace()
    trace = replace(trace, runs=pl.DataFrame(ends, schema=trace.runs.schema))
    ranks = written(trace, tmp_path / "goal")
    assert finish_times(ranks, 0) == [100 + 40, 100 + 50]
    assert [sum(one.size for one in of if one.kind == "calc") for of in ranks] == [140, 60]


def test_functions_that_do_not_communicate_are_computation(tmp_path: Path) -> None:
    script = Script(1)
    for name, begin, end in (("MPI_Init", 0, 100), ("MPI_File_read", 150, 250), ("MPI_Test", 260, 270)):
        script.call(0, name, begin, end)
    script.region(0, 0, 300, script.path("all"))
    assert finish_times(written(script.trace(), tmp_path / "goal"), 0) == [300 - 100 - 10]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 11])
def test_every_collective_ends_for_every_size(size: int, tmp_path: Path) -> None:
    script = Script(size + 1)
    part = script.communicator(range(size, 0, -1), "turned")
    for number, name in enumerate(COLLECTIVES):
        for rank in range(1, size + 1):
            at = 1000 * number + 10 * rank
            call = script.call(rank, f"MPI_{name}", at, at + 100)
            script.collective(call, f"MPI_{name}", number, 80, 80, root=1 + number % size, communicator=part)
    ranks = written(script.trace(), tmp_path / "goal")
    assert messages(ranks, "send").total() == messages(ranks, "recv").total()
    finish_times(ranks, 5)
    assert messages(ranks[:1], "send") == Counter()


@pytest.mark.parametrize(
    ("operation", "rounds"), [("MPI_Barrier", 3), ("MPI_Bcast", 3), ("MPI_Reduce", 3), ("MPI_Alltoall", 7)]
)
def test_collectives_take_as_many_latencies_as_they_have_rounds(
    operation: str, rounds: int, tmp_path: Path
) -> None:
    script = Script(8)
    for rank in range(8):
        script.collective(script.call(rank, operation, 0, 100), operation, 0, 8, 8, root=3)
    assert max(finish_times(written(script.trace(), tmp_path / "goal"), 10)) == 10 * rounds


def test_parts_that_differ_have_one_size_at_both_ends(tmp_path: Path) -> None:
    script = Script(4)
    names = "Gatherv Scatterv Allgatherv Alltoallv Reduce_scatter Igatherv".split()
    for number, name in enumerate(names):
        for rank in range(4):
            call = script.call(rank, f"MPI_{name}", 100 * number, 100 * number + 50)
            whole = rank == 2 or not name.lower().endswith(("gatherv", "scatterv"))
            script.collective(
                call, f"MPI_{name}", number, 100 + 7 * rank, 1000 if whole else 9 * rank, root=2
            )
    ranks = written(script.trace(), tmp_path / "goal")
    assert messages(ranks, "send") == messages(ranks, "recv")
    finish_times(ranks, 3)


def test_tags_of_communicators_do_not_mix(tmp_path: Path) -> None:
    script = Script(2)
    other = script.communicator([1, 0], "other")
    for begin, communicator, size in ((10, 0, 1), (20, other, 2)):
        script.send(script.call(0, "MPI_Send", begin, begin + 1), 1, size, tag=5, communicator=communicator)
    for begin, communicator, size in ((30, other, 2), (40, 0, 1)):
        script.receive(
            script.call(1, "MPI_Recv", begin, begin + 1), 0, size, tag=5, communicator=communicator
        )
    first, second = written(script.trace(), tmp_path / "goal")
    sent = {(one.tag, one.size) for one in first if one.kind == "send"}
    assert sent == {(one.tag, one.size) for one in second if one.kind == "recv"}
    assert len({tag for tag, _ in sent}) == 2


def test_operations_that_would_never_end_are_left_out_and_reported(tmp_path: Path) -> None:
    script = Script(3)
    script.send(script.call(0, "MPI_Send", 10, 20), 1, 8)
    script.receive(script.call(1, "MPI_Recv", 10, 20), 2, 8)
    for rank in (0, 1):  # rank 2 was killed before
        script.collective(script.call(rank, "MPI_Barrier", 30, 40), "MPI_Barrier", 0)
    told = write(TracedProfile(script.trace()), tmp_path / "goal")
    assert [line.split(":")[0] for line in told] == [
        "2 parts of collectives left out",
        "2 sends and receives left out",
    ]
    assert finish_times(read_goal(tmp_path / "goal"), 0) == [20, 20, 0]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trace=wild_traces(), latency=st.integers(0, 50))
def test_schedules_are_valid_whatever_the_trace_says(trace: Trace, latency: int, tmp_path: Path) -> None:
    ranks = written(trace, tmp_path / "goal")
    assert messages(ranks, "send") == messages(ranks, "recv")


def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    check_full_disk(write, tmp_path, "File too large")
