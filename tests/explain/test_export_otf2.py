"""`export --to otf2`: OTF2's own readers find the events of the trace in the archive."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

from haloscope import OutputError
from haloscope.explain.export import EXPORTS, Aliases, TracedProfile
from haloscope.profile.trace import Trace
from support.full_disk import check_full_disk
from support.otf2_tools import check_order, matrix, need_otf2, read_archive
from support.traces import Script, cg_trace, halo_trace
from support.wild_traces import wild_traces

pytestmark = pytest.mark.slow  # builds the writer, and starts the readers
write = EXPORTS["otf2"].load()


@pytest.fixture(scope="module", autouse=True)
def _otf2() -> None:
    need_otf2()


def written(trace: Trace, place: Path, **info: Any) -> dict[str, Any]:
    write(TracedProfile(trace, info), place)
    return read_archive(place)


def expected_counts(trace: Trace) -> Counter[str]:
    """Return the number of events of each kind, for a trace that OTF2 can represent completely."""
    kinds = Counter(Enter=len(trace.calls) + len(trace.regions), Leave=len(trace.calls) + len(trace.regions))
    for row in trace.sends.iter_rows(named=True):
        blocks = row["started"] == row["completed"]
        kinds.update(["MpiSend"] if blocks else ["MpiIsend"])
        kinds.update(["MpiIsendComplete"] if not blocks and row["completed"] >= 0 else [])
    for row in trace.receives.iter_rows(named=True):
        blocks = row["started"] == row["completed"]
        kinds.update(["MpiRecv"] if blocks else ["MpiIrecvRequest"])
        kinds.update(["MpiIrecv"] if not blocks and row["completed"] >= 0 else [])
    for row in trace.collectives.iter_rows(named=True):
        blocks = row["started"] == row["completed"]
        ends = ["MpiCollectiveEnd"] if blocks else ["NonBlockingCollectiveComplete"]
        kinds.update(["MpiCollectiveBegin"] if blocks else ["NonBlockingCollectiveRequest"])
        kinds.update(ends if row["completed"] >= 0 else [])
    return kinds


def frame_matrix(frame: pl.DataFrame, sending: bool) -> Counter[tuple[int, int, int]]:
    names = ["rank", "partner"] if sending else ["partner", "rank"]
    return Counter(frame.select(*names, "bytes").iter_rows())


@pytest.mark.parametrize("trace", [halo_trace(4, 3), cg_trace(5, 2)], ids=["halo", "cg"])
def test_the_reader_finds_the_trace(trace: Trace, tmp_path: Path) -> None:
    found = written(trace, tmp_path / "run", start=1.7e9)
    kinds = Counter(event["type"] for events in found["events"] for event in events)
    assert kinds == expected_counts(trace)
    check_order(found)
    assert matrix(found, True) == frame_matrix(trace.sends, True) == matrix(found, False)
    assert found["clock"] == 1_000_000_000
    hosts = dict(trace.processes.select("rank", "host").iter_rows())
    assert [location["host"] for location in found["locations"]] == [hosts[rank] for rank in sorted(hosts)]
    assert found["communicators"] == [[name, ranks] for _, name, ranks in trace.communicators.iter_rows()]
    assert {name for name, *_ in found["regions"]} == {
        *trace.paths["name"],
        *trace.calls["call"].cast(pl.String),
    }


def test_time_in_functions_is_the_traces(tmp_path: Path) -> None:
    trace = cg_trace(4, 2)
    found = written(trace, tmp_path / "run")
    spent: Counter[tuple[int, str]] = Counter()
    for rank, events in enumerate(found["events"]):
        for event in events:
            sign = {"Enter": -1, "Leave": 1}.get(event["type"], 0)
            spent[rank, event.get("region", "")] += sign * event["time"]
    taken = trace.calls.group_by("rank", pl.col("call").cast(pl.String)).agg(
        (pl.col("end") - pl.col("begin")).sum()
    )
    assert {key: spent[key] for key in spent if key[1].startswith("MPI_")} == {
        (rank, call): nanoseconds for rank, call, nanoseconds in taken.iter_rows()
    }


def test_partners_are_ranks_of_the_communicator(tmp_path: Path) -> None:
    script = Script(4)
    odd = script.communicator([3, 1], "turned")
    send, receive = (script.call(rank, name, 10, 20) for rank, name in ((1, "MPI_Send"), (3, "MPI_Recv")))
    script.send(send, 3, 100, communicator=odd)
    script.receive(receive, 1, 100, communicator=odd)
    for rank in (1, 3):
        call = script.call(rank, "MPI_Ibcast", 30, 40)
        wait = script.call(rank, "MPI_Wait", 50, 60)
        script.collective(call, "MPI_Ibcast", 0, 8, root=3, communicator=odd, completed=wait)
    found = written(script.trace(), tmp_path / "run")
    events = [event for events in found["events"] for event in events]
    assert [event["receiver"] for event in events if event["type"] == "MpiSend"] == [0]
    assert [event["sender"] for event in events if event["type"] == "MpiRecv"] == [1]
    done = [event for event in events if event["type"] == "NonBlockingCollectiveComplete"]
    assert {(event["root"], event["collective_op"], event["communicator"]) for event in done} == {
        (0, "CollectiveOp.BCAST", 1)
    }


def test_threads_are_locations_of_their_process(tmp_path: Path) -> None:
    script = Script(2)
    started = script.call(1, "MPI_Isend", 10, 20, thread=0)
    completed = script.call(1, "MPI_Wait", 30, 40, thread=2)
    script.send(started, 0, 8, completed=completed)
    found = written(script.trace(), tmp_path / "run")
    assert [(one["process"], one["thread"]) for one in found["locations"]] == [
        ("MPI Rank 0", "Master thread"),
        ("MPI Rank 1", "Master thread"),
        ("MPI Rank 1", "Thread 2"),
    ]
    kinds = [[event["type"] for event in events] for events in found["events"]]
    assert kinds == [[], ["Enter", "MpiIsend", "Leave"], ["Enter", "MpiIsendComplete", "Leave"]]


def test_names_may_be_any_text(tmp_path: Path) -> None:
    names = ["a,b", 'quo"te', "new\nline", "<b>", "\x1b[31m", "nul\0byte", "größe", "MPI_Send"]
    script = Script(1, hosts=['host\n"1"'])
    for at, name in enumerate(names):
        script.region(0, 10 * at, 10 * at + 5, script.path(name))
    script.communicator([0], "comm,\n")
    found = written(script.trace(), tmp_path / "run")
    entered = [event["region"] for event in found["events"][0] if event["type"] == "Enter"]
    assert entered == [*names[:5], "nul\\0byte", "größe", "MPI_Send"]
    assert found["locations"][0]["host"] == 'host\n"1"'


def test_events_that_otf2_cannot_store_are_left_out_and_reported(tmp_path: Path) -> None:
    script = Script(2)
    script.send(script.call(0, "MPI_Send", 10, 20), -1, 8)
    script.send(script.call(0, "MPI_Isend", 30, 40), 1, 8, completed=-1)
    script.receive(script.call(0, "MPI_Irecv", 50, 60), -1, 8, completed=-1)
    script.send(script.call(1, "MPI_Send", 10, 20), 0, 8, communicator=7)
    script.collective(script.call(1, "MPI_Neighbor_alltoall", 30, 40), "MPI_Neighbor_alltoall", 0)
    script.drop(1, 17)
    trace = script.trace()
    told = write(TracedProfile(trace), tmp_path / "again")
    assert [line.split(":")[0] for line in told] == [
        "2 messages left out",
        "1 collective left out",
        "17 events of 1 rank lost during recording",
    ]
    found = written(trace, tmp_path / "run")
    kinds = Counter(event["type"] for events in found["events"] for event in events)
    assert kinds == Counter(Enter=5, Leave=5, MpiIsend=1)
    assert found["properties"] == [[1, "HALOSCOPE::DROPPED_EVENTS", 17]]


def test_events_moved_by_clock_alignment_are_counted(tmp_path: Path) -> None:
    trace = cg_trace(2, 2)
    clocks = pl.DataFrame({"rank": [0, 1], "moved": [0, 5], "moved_max": [0.0, 2e-6]})
    found = written(replace(trace, clocks=clocks), tmp_path / "run")
    assert found["properties"] == [[1, "HALOSCOPE::MOVED_EVENTS", 5]]


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trace=wild_traces())
def test_an_archive_is_valid_whatever_the_trace_says(trace: Trace, tmp_path: Path) -> None:
    found = written(trace, tmp_path / "run")
    check_order(found)
    kinds = Counter(event["type"] for events in found["events"] for event in events)
    assert kinds["Enter"] == kinds["Leave"] == len(trace.calls) + len(trace.regions)


def test_no_name_is_left_when_it_is_anonymous(tmp_path: Path) -> None:
    script = Script(2, hosts=["hidden-host", "hidden-host"])
    script.region(0, 0, 5, script.path("hidden-region"))
    script.communicator([0, 1], "hidden-comm")
    traced = TracedProfile(script.trace(), {"program": "hidden", "command": "./hidden", "start": 1.7e9})
    write(traced, tmp_path / "told")
    write(traced.anonymous(Aliases()), tmp_path / "run")
    for place, is_there in (("told", True), ("run", False)):
        files = [path for path in (tmp_path / place).rglob("*") if path.is_file()]
        assert any(b"hidden" in path.read_bytes() for path in files) == is_there


def test_a_disk_that_is_full_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write(TracedProfile(halo_trace(2)), tmp_path / "no-directory" / "run")
    check_full_disk(write, tmp_path, r"OTF2 cannot write it: .*; check the free space")


def test_functions_have_the_roles_of_otf2(tmp_path: Path) -> None:
    roles = {
        "POINT2POINT": "Send Isend Bsend_init Imrecv Sendrecv_replace Waitall Test Iprobe Start Psend_init "
        "Pready",
        "RMA": "Put Rget Accumulate Win_fence Fetch_and_op",
        "FILE_IO": "File_read File_open",
        "FUNCTION": "Init Comm_rank Initialized Type_commit",
        "BARRIER": "Barrier Ibarrier",
        "COLL_ONE2ALL": "Bcast Scatterv",
        "COLL_ALL2ONE": "Ireduce Gather",
        "COLL_ALL2ALL": "Allreduce Alltoallw",
        "COLL_OTHER": "Scan Exscan_init",
    }
    expected = {f"MPI_{name}": role for role, names in roles.items() for name in names.split()}
    script = Script(1)
    for at, name in enumerate(expected):
        script.call(0, name, 10 * at, 10 * at + 5)
    found = written(script.trace(), tmp_path / "run")["regions"]
    assert {
        name: role.removeprefix("RegionRole.") for name, role, paradigm in found if paradigm == "Paradigm.MPI"
    } == expected


def test_collectives_have_the_operations_of_otf2(tmp_path: Path) -> None:
    operations = {
        "MPI_Allreduce": "ALLREDUCE",
        "MPI_Iallreduce": "ALLREDUCE",
        "MPI_Allreduce_init": "ALLREDUCE",
        "MPI_Barrier": "BARRIER",
        "MPI_Comm_dup": "CREATE_HANDLE",
        "MPI_Comm_free": "DESTROY_HANDLE",
    }
    script = Script(1)
    for at, name in enumerate(operations):
        script.collective(script.call(0, name, 10 * at, 10 * at + 5), name, at)
    events = written(script.trace(), tmp_path / "run")["events"][0]
    ended = [event["collective_op"] for event in events if event["type"] == "MpiCollectiveEnd"]
    assert [operation.removeprefix("CollectiveOp.") for operation in ended] == [*operations.values()]
    # OTF2's readers would read a neighbourhood collective as one of all ranks.
    neighbours = Script(1)
    call = neighbours.call(0, "MPI_Ineighbor_alltoall", 0, 5)
    neighbours.collective(call, "MPI_Ineighbor_alltoall", 0)
    found = written(neighbours.trace(), tmp_path / "neighbours")["events"][0]
    assert [event["type"] for event in found] == ["Enter", "Leave"]
