"""Findings in profiles with one planted problem each, and in the same profiles without it.

Times are written, not measured. benchmarks/explain/findings.py plants the same problems in programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import haloscope
from haloscope.explain import Profile
from haloscope.explain.findings import Finding
from support.profiles import Draft, columns_of, draft, path_rows, process_rows
from support.traced_drafts import CALL, WORLD, symbol, traced_draft

Read = Callable[[Draft], Profile]
Rows = list[dict[str, Any]]
RUN = 10.0  # seconds


def run(region: str, own: dict[str, float], ranks: int = 2, **tables: Rows) -> Draft:
    """A run of equal ranks, which are in one region all the time; `own` are other columns of its row."""
    rows = []
    for rank in range(ranks):
        rows.append({"path": 0, "rank": rank, "instances": 1, "time": RUN})
        rows.append({"path": 1, "rank": rank, "instances": 10, "time": RUN, **own})
    hosts = process_rows(*["alpha"] * ranks)
    return draft({"ranks": ranks}, paths=path_rows(region), processes=hosts, ranks=rows, **tables)


def found_in(profile: Profile) -> list[Finding]:
    """Return the findings, whose gains never add up to more than the run."""
    found = haloscope.findings(profile)
    assert sum(finding.gain for finding in found) <= RUN
    for finding in found:
        assert 0 <= finding.gain_low <= finding.gain <= finding.gain_high + 1e-12
    return found


def splits(number: int) -> Draft:
    """Each rank creates and frees this number of communicators in 2 s."""
    calls = [
        {"path": 1, "call": "MPI_Comm_split", "calls": 2 * number, "time_total": 3.5},
        {"path": 1, "call": "MPI_Comm_free", "calls": 2 * number, "time_total": 0.5},
    ]
    return run("steps", {"other_time": 2.0}, calls=calls)


@pytest.mark.parametrize(("number", "is_found"), [(30, True), (10, True), (9, False)])
def test_communicators_that_are_made_again_and_again(read: Read, number: int, is_found: bool) -> None:
    found = found_in(read(splits(number)))
    assert [one.rule for one in found] == ["communicators_made"] * is_found
    for one in found:
        assert one.region == "steps"
        assert one.gain == pytest.approx(2.0 * (1 - 1 / number))
        assert f"MPI_Comm_split creates {number} communicators per rank in region steps" in one.sentence
        assert [evidence.values["calls"] for evidence in one.evidence] == [2 * number] * 2


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        (["Comm_dup", "Comm_split"], "MPI_Comm_dup and MPI_Comm_split create 41"),
        (
            ["Cart_create", "Comm_dup", "Comm_split"],
            "MPI_Cart_create, MPI_Comm_dup and MPI_Comm_split create 60",
        ),
    ],
)
def test_functions_that_make_communicators(read: Read, functions: list[str], text: str) -> None:
    calls = [
        {"path": 1, "call": f"MPI_{name}", "calls": 42 - 2 * number, "time_total": 1.0}
        for number, name in enumerate(functions)
    ]
    (one,) = found_in(read(run("steps", {"other_time": 2.0}, calls=calls)))
    assert one.sentence.startswith(text)


def messages(together: int, size: int, posting: float = 1.0) -> Draft:
    """In each of ten exchanges a rank sends `together` messages to the other rank, in 2 s with posts."""
    sent = {"sends": 10 * together, "recvs": 10 * together, "dest_ranks_exclusive": 1, "p2p_time": 2.0}
    return run(
        "halo",
        sent,
        sizes=[{"path": 1, "kind": "p2p", "bytes": size, "bytes_upper": size, "messages": 20 * together}],
        calls=[
            {"path": 1, "call": "MPI_Isend", "calls": 20 * together, "time_total": 2 * posting},
            {"path": 1, "call": "MPI_Waitall", "calls": 20, "time_total": 2 * (2.0 - posting)},
        ],
    )


@pytest.mark.parametrize(
    ("together", "size", "is_found"),
    [(200, 64, True), (4, 4096, True), (3, 64, False), (200, 4097, False), (1, 12_800, False)],
)
def test_many_small_messages(read: Read, together: int, size: int, is_found: bool) -> None:
    found = found_in(read(messages(together, size)))
    assert [one.rule for one in found] == ["small_messages"] * is_found
    for one in found:
        assert one.region == "halo"
        copying = 10 * together * size / 5e9
        assert one.gain == pytest.approx(2.0 * (1 - 1 / together) - copying)
        assert one.evidence[0].values == {"messages": 20 * together, "mean_bytes": size}
        assert f"{together} to one partner at a time" in one.sentence


def test_waiting_is_no_cost_of_small_messages(read: Read) -> None:
    """Ranks post 2000 messages in 0.3 us each: what they wait in MPI_Waitall is for one another."""
    assert found_in(read(messages(200, 64, posting=2000 * 0.3e-6))) == []


def test_partners_on_other_nodes(read: Read) -> None:
    """Of each 1000 bytes 900 go to the other node. Two ranks change places, and 100 do."""
    sent = [(rank, rank ^ other, size) for rank in range(4) for other, size in ((1, 900), (2, 100))]
    rows = [{"path": 1, "rank": rank, "partner": to, "bytes_sent": size} for rank, to, size in sent]
    made = run("halo", {"p2p_time": 5.0}, 4, partners=rows)
    made.tables["processes"] = columns_of("processes", process_rows(*["alpha", "beta"] * 2))
    (found,) = found_in(read(made))
    assert found.rule == "scattered_partners"
    assert found.evidence[0].values == {"bytes_offnode_total": 3600, "bytes_placed": 400}
    assert "90.0 % of the bytes of messages (3600 B) go to other nodes" in found.sentence
    assert found.gain == pytest.approx(5.0 * 0.9 * (1 - 1 / 9))


def late(call: str, waiting: float, *, size: int = 1 << 20, longest: float = 0.3, **info: str) -> Draft:
    """Each of four ranks waits in 30 calls for messages of rank 2, for `waiting` seconds in total."""
    sent = {"sends": 30, "recvs": 30, "dest_ranks_exclusive": 1, "instances": 30}
    made = run(
        "sweep",
        {**sent, "p2p_time": waiting},
        4,
        calls=[
            {"path": 1, "call": call, "calls": 120, "bytes": 120 * size, "time_total": 4 * waiting}
            | {"time_max": longest}
        ],
        sizes=[{"path": 1, "kind": "p2p", "bytes": size, "bytes_upper": size, "messages": 120}],
        partners=[
            {"path": 1, "rank": rank, "partner": partner, "time": 3.0 if partner == 2 else 0.1}
            for rank in range(4)
            for partner in (2, (rank + 1) % 4)
            if partner != rank
        ],
    )
    made.info |= info
    return made


def test_ranks_that_compute_one_after_the_other(read: Read) -> None:
    """One of four ranks computes at a time: each for 2.5 s of ten."""
    (found,) = found_in(read(late("MPI_Recv", 7.5)))
    assert (found.rule, found.region, found.ranks) == ("serial_chain", "sweep", ())
    assert found.gain == pytest.approx(120 * (30 - 0.3) / 119 / 4, rel=0.02)
    assert "1.0 of 4 compute at a time" in found.sentence


@pytest.mark.parametrize("call", ["MPI_Recv", "MPI_Ssend"])
def test_waiting_where_no_rank_computes_has_another_cause(read: Read, call: str) -> None:
    """No rank is late because of its work; the waiting is in the messages themselves."""
    assert found_in(read(late(call, 10.0))) == []
    for one in found_in(read(late(call, 9.0))):  # of 40 s, ranks compute for 4 s, and wait for 3 s of them
        assert one.rule != "serial_chain"
        assert one.gain <= 3.0 + 1e-9


@pytest.mark.parametrize(
    ("call", "rule"), [("MPI_Recv", "late_sender"), ("MPI_Send", "late_receiver"), ("MPI_Waitall", None)]
)
def test_a_rank_that_is_late(read: Read, call: str, rule: str | None) -> None:
    """Two ranks that compute at the same time are no chain; waiting for all ranks has no late rank."""
    found = found_in(read(late(call, 5.0)))
    assert [one.rule for one in found] == ([] if rule is None else [rule])
    for one in found:
        assert (one.region, one.ranks) == ("sweep", (2,))
        assert one.gain == pytest.approx(120 * (20 - 0.3) / 119 / 4, rel=0.02)
        assert one.evidence[0].values == {"time_total": 20.0, "calls": 120.0}


def test_one_long_wait_is_no_late_sender(read: Read) -> None:
    assert found_in(read(late("MPI_Recv", 5.0, longest=19.99))) == []


@pytest.mark.parametrize(
    ("library", "size", "rule"),
    [
        ("Open MPI v4.1.4", 256, "late_receiver"),
        ("Open MPI v4.1.4", 300, "protocol_limit"),
        ("Open MPI v4.1.4", 400, "late_receiver"),
        ("MPICH 4.0.2", 8000, "late_receiver"),
        ("MPICH 4.0.2", 9000, "protocol_limit"),
    ],
)
def test_messages_just_over_the_librarys_limit(read: Read, library: str, size: int, rule: str) -> None:
    (found,) = found_in(read(late("MPI_Send", 5.0, size=size, mpi_library=library)))
    assert found.rule == rule
    if rule == "protocol_limit":
        assert found.evidence[0].values == {"messages": 120}


@pytest.mark.parametrize(("polls", "is_found"), [(20_000_000, True), (100, False), (2_000_000_000, False)])
def test_frequent_polling(read: Read, polls: int, is_found: bool) -> None:
    """A few calls are no finding, nor is a rank that only polls: it waits."""
    made = run("steps", {})
    made.version = (1, 1)
    made.tables["ranks"] = {**made.tables["ranks"], "polls": [0, polls, 0, polls]}
    found = found_in(read(made))
    assert [one.rule for one in found] == ["polling"] * is_found
    for one in found:
        assert one.region == "steps"
        assert one.evidence[0].values == {"polls_total": 2 * polls}
        assert 0 < one.gain_low < one.gain < one.gain_high < RUN


@pytest.mark.parametrize("polling", [9.8, 0.0])
def test_a_rank_that_only_polls_waits(read: Read, polling: float) -> None:
    """Rank 1 polls until rank 0 sends. Without the polls both compute, and neither is late."""
    made = run("steps", {})
    made.version = (1, 5)
    made.tables["ranks"] = {
        **made.tables["ranks"],
        "polls": [0, 0, 0, 20_000_000 * (polling > 0)],
        "poll_time": [0.0, 0.0, 0.0, polling],
    }
    profile = read(made)
    assert profile.table("ranks", exclusive=True)["compute_time"].to_list() == pytest.approx(
        [0.0, 0.0, RUN, RUN - polling]
    )
    assert profile.table("pop")["parallel"][0] == pytest.approx(1 - polling / 2 / RUN)
    assert [(one.rule, one.ranks) for one in found_in(profile)] == [("imbalance", (0,))] * (polling > 0)


@pytest.mark.parametrize(
    ("cpus", "ranks"),
    [(["3", "3"], (0, 1)), (["3", "4"], ()), (["0-1", "0-1", "0-1", "2"], (0, 1, 2)), (["0-2"] * 3, ())],
)
def test_ranks_that_share_a_cpu(read: Read, cpus: list[str], ranks: Sequence[int]) -> None:
    made = run("compute", {"coll_time": 4.0}, len(cpus))
    made.tables["processes"] = {**made.tables["processes"], "cpus": cpus}
    found = found_in(read(made))
    assert [one.rule for one in found] == ["shared_cpu"] * bool(ranks)
    for one in found:
        assert one.ranks == ranks
        share = len(set(cpus[0].split("-"))) / len(ranks)
        waited = 4.0 if len(ranks) == len(cpus) else 0.0  # where all ranks share a CPU, for their turn
        assert one.gain == pytest.approx((6.0 + waited) * (1 - share))
        assert f"bound to CPU{'s' * (len(cpus[0]) > 1)} {cpus[0]}" in one.sentence


@pytest.mark.parametrize(
    ("used", "waited", "is_found"),
    [
        (5.0, 5.0, True),
        (3.6, 0.0, True),
        (2.0, 0.0, False),
        (9.9, 0.0, False),
        (1.0, 6.0, True),  # other programs have the CPU for most of the time
        (1.0, 1.0, False),
    ],
)
def test_ranks_that_sleep_share_no_cpu(read: Read, used: float, waited: float, is_found: bool) -> None:
    """Two ranks on one CPU alternate if they use it for all of the 10 s; threads elsewhere use others."""
    slices = [{"rank": rank, "slice": 0, "duration": RUN, "coll_time": 4.0} for rank in range(2)]
    made = run("compute", {"coll_time": 4.0}, slices=slices)
    without = {"off_cpu_time": [waited] * 2, "core_wait_time": [waited] * 2}
    made.tables["slices"] = {**made.tables["slices"], **without}
    times = {"cpus": ["3"] * 2, "cpu_time": [used] * 2, "memory_max": [1 << 20] * 2}
    made.tables["processes"] = {**made.tables["processes"], **times}
    made.version = (1, 5)
    assert [one.rule for one in found_in(read(made))] == ["shared_cpu"] * is_found


@pytest.mark.parametrize(
    ("annotations", "is_found"),
    [("", True), ("caliper, adiak", True), ("petsc", False), ("caliper, nvtx", False)],
)
def test_communication_outside_of_the_programs_own_regions(
    read: Read, annotations: str, is_found: bool
) -> None:
    """Regions that a library marks say nothing about the program's phases."""
    made = run("steps", {})
    made.tables["ranks"] = {**made.tables["ranks"], "coll_time": [9.0, 0.0] * 2, "time": [10.0, 1.0] * 2}
    said = {"kind": "user", "key": "annotations", "value": annotations, "ranks": 2, "first": 1}
    made.tables["metadata"] = columns_of("metadata", [said] if annotations else [])
    assert [one.rule for one in found_in(read(made))] == ["outside_regions"] * is_found


@pytest.mark.parametrize(("late_one", "rule"), [("sender", "late_sender"), ("receiver", "late_receiver")])
def test_a_trace_names_the_late_rank(read: Read, late_one: str, rule: str) -> None:
    """In each of ten seconds one rank waits for 0.5 s for the other rank."""
    begins = 1_000_000_000 * np.arange(10)
    waits = np.column_stack([begins + 100_000_000, begins + 600_000_000])
    comes = np.column_stack([begins + 590_000_000, begins + 600_000_000])
    what = {"communicator": WORLD, "tag": 0, "partner": 1, "size": 1 << 20, "bytes": 1 << 20}
    made = traced_draft(
        [
            symbol(0, CALL, call="MPI_Ssend", action=1, **what),
            symbol(1, CALL, call="MPI_Recv", action=3, **what),
        ],
        [comes, waits] if late_one == "sender" else [waits, comes],
        orders=[[0] * 10, [1] * 10],
    )
    waiting = [0.1, 5.0] if late_one == "sender" else [5.0, 0.1]
    rows = [
        {"path": 0, "rank": rank, "instances": 1, "time": RUN, "p2p_time": waiting[rank]} for rank in (0, 1)
    ]
    made.tables["ranks"] = columns_of("ranks", rows)
    found = found_in(read(made))
    assert rule in [one.rule for one in found]
    one = next(one for one in found if one.rule == rule)
    assert one.ranks == ((0,) if late_one == "sender" else (1,))
    assert one.evidence[-1].table == "waits"
    assert one.evidence[-1].values["waits"] == 10
    assert one.evidence[-1].values["time_total"] == pytest.approx(4.9)


def test_a_summary_names_findings(tmp_path: Path) -> None:
    path = splits(30).write(tmp_path / "run.halo")
    lines = [line for line in haloscope.explain.summary(haloscope.open(path)) if line.startswith("finding: ")]
    assert len(lines) == 1
    assert "communicators" in lines[0]
