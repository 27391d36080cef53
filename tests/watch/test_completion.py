"""Wait and Test in all forms, probes and persistent requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.missing import impossible
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

Directories = pytest.TempPathFactory


@pytest.fixture(scope="module")
def completion(mpi: Mpi, compiler: Compiler, tmp_path_factory: Directories) -> Watched:
    command = [program(compiler, mpi, "completion.c")]
    return watch(mpi, 2, command, tmp_path_factory.mktemp("completion"))


@pytest.fixture(scope="module")
def probes(mpi: Mpi, compiler: Compiler, tmp_path_factory: Directories) -> Watched:
    return watch(mpi, 2, [program(compiler, mpi, "probes.c")], tmp_path_factory.mktemp("probes"))


@pytest.fixture(scope="module")
def persistent(mpi: Mpi, compiler: Compiler, tmp_path_factory: Directories) -> Watched:
    command = [program(compiler, mpi, "persistent.c")]
    return watch(mpi, 2, command, tmp_path_factory.mktemp("persistent"))


FORMS = "Wait Test Waitall Testall Waitany Testany Waitsome Testsome".split()
FIVE = Traffic(5, 60, 5, 60, 1, 1)
COMPLETION = {
    **dict.fromkeys(FORMS, FIVE),
    "last first": Traffic(3, 240, 3, 240, 1, 1),
    "many": Traffic(600, 2400, 600, 2400, 1, 1),
    "same tag": Traffic(4, 40, 4, 40, 1, 1),
    "nothing": Traffic(),
    "polled": Traffic(1, 40, 1, 40, 1, 1),
}


def test_each_form_completes_what_is_complete(completion: Watched) -> None:
    assert {region: completion.traffic(region) for region in COMPLETION} == COMPLETION


def test_receives_are_rank_1s(completion: Watched) -> None:
    for form in FORMS:
        rows = {row["rank"]: row for row in completion.select("ranks", region=form)}
        assert (rows[0]["recvs"], rows[1]["recvs"]) == (0, 5)
        assert (rows[0]["bytes_recv"], rows[1]["bytes_recv"]) == (0, 60)


def test_calls_by_name(completion: Watched) -> None:
    expected = {"Wait": 9, "Waitall": 1, "Waitany": 6}
    assert {form: completion.calls(f"MPI_{form}", form) for form in expected} == expected
    for form in ("Test", "Testall", "Testany", "Waitsome", "Testsome"):
        assert completion.calls(f"MPI_{form}", form) >= 1
    assert completion.calls("MPI_Test", "polled") == 100
    assert completion.calls("MPI_Request_get_status", "polled") == 10


def test_polls_that_find_nothing_are_timed(completion: Watched) -> None:
    (row,) = completion.select("calls", region="polled", call="MPI_Test")
    assert row["calls"] == 100
    assert completion.region("polled")["polls_total"] == 110  # and MPI_Request_get_status
    assert row["time_total"] <= completion.region("polled")["poll_time_mean"] * 2 * (1 + 1e-7)


def one_way(count: int) -> Traffic:
    return Traffic(1, count, 1, count, 1, 1)


PROBES = {
    "Probe": one_way(40),
    "Iprobe": one_way(80),
    "nothing there": Traffic(),
    "Mprobe": one_way(120),
    "Improbe": one_way(160),
    "no process": Traffic(),
    "held": Traffic(3, 24, 3, 24, 1, 1),
}


def test_what_is_probed_counts_when_it_is_received(probes: Watched) -> None:
    assert {region: probes.traffic(region) for region in PROBES} == PROBES


def test_matched_messages_come_from_world_ranks(probes: Watched) -> None:
    for region in ("Mprobe", "Improbe"):
        rows = {row["rank"]: row for row in probes.select("partners", region=region)}
        assert (rows[0]["partner"], rows[1]["partner"]) == (1, 0)
        assert rows[1]["recvs"] == 1


def test_probes_that_find_nothing_are_counted(probes: Watched) -> None:
    (row,) = probes.select("calls", region="nothing there", call="MPI_Iprobe")
    assert (row["calls"], probes.region("nothing there")["polls_total"]) == (100, 100)
    assert row["time_total"] > 0


THRICE = Traffic(6, 3 * (40 + 44), 6, 3 * (40 + 44), 1, 1)
PERSISTENT = {
    **dict.fromkeys(("Send_init", "Bsend_init", "Ssend_init", "Rsend_init"), THRICE),
    "made": Traffic(),
    "started": Traffic(16, 2 * 4 * 60, 0, 0, 1, 0),
    "completed": Traffic(0, 0, 16, 2 * 4 * 60, 0, 1),
    "inactive": Traffic(),
    "nobody": Traffic(),
    "cancelled": Traffic(),
    "freed": one_way(28),
}


def test_persistent_requests_count_at_each_start(persistent: Watched) -> None:
    assert {region: persistent.traffic(region) for region in PERSISTENT} == PERSISTENT


def test_instances_of_persistent_exchanges_are_equal(persistent: Watched) -> None:
    row = persistent.region("started")
    assert row["instances"] == 4
    assert (row["sends_instance_min"], row["sends_instance_max"]) == (2, 2)
    assert (row["bytes_sent_instance_min"], row["bytes_sent_instance_max"]) == (60, 60)


def test_partitioned_messages_count_at_each_start(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    if not mpi.declares("MPI_Psend_init"):
        impossible(f"{mpi.name} has no partitioned communication: it is of MPI 3")
    run = watch(mpi, 2, [program(compiler, mpi, "partitioned.c")], tmp_path)
    assert run.traffic("partitioned") == Traffic(3, 3 * 400, 3, 3 * 400, 1, 1)
    assert run.region("partitioned")["largest_message"] == 400
    assert run.calls("MPI_Pready_range", "partitioned") == 3
    assert "MPI_P" not in run.info["unaccounted"]


def test_cancelled_sends_count_nothing(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watch(mpi, 2, [program(compiler, mpi, "cancelled.c")], tmp_path)
    was = run.done.stdout == "cancelled 1\n"
    large = 0 if was else 4 << 20
    row = run.region("sends")
    assert (row["sends_total"], row["bytes_sent_total"]) == (1 if was else 2, 12 + large)
    assert row["largest_message"] == max(12, large)
    sizes = {row["bytes"]: row["messages"] for row in run.select("sizes", region="sends")}
    assert {size: messages for size, messages in sizes.items() if messages} == (
        {12: 1} if was else {12: 1, large: 1}
    )


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("options", [[], ["--trace"]])
def test_receives_that_were_seen_to_end_count_once(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, level: int, options: list[str]
) -> None:
    """By MPI_Request_get_status, with one thread and with several."""
    command: list[str | Path] = [program(compiler, any_mpi, "seen.c"), str(level)]
    watched = watch(any_mpi, 2, command, tmp_path, options=options)
    for region in ("freed", "waited for", "tested", "persistent"):
        assert watched.traffic(region) == Traffic(5, 200, 5, 200, 1, 1), region
    assert watched.traffic("cancelled") == Traffic()
