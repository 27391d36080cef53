"""Point-to-point messages: sends count where they start, receives where and as they complete."""

from __future__ import annotations

import pytest

from support.missing import impossible
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch


def one_way(count: int, messages: int = 1) -> Traffic:
    """Rank 0 sends `count` bytes in all to rank 1."""
    return Traffic(messages, count, messages, count, 1, 1)


@pytest.fixture(scope="module")
def p2p(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watch(mpi, 2, [program(compiler, mpi, "p2p.c")], tmp_path_factory.mktemp("p2p"))


@pytest.fixture(scope="module")
def receives(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [str(program(compiler, mpi, "receives.c")), *(["parts"] if parts(mpi) else [])]
    return watch(mpi, 2, command, tmp_path_factory.mktemp("receives"))


def parts(mpi: Mpi) -> bool:
    """Whether this MPI survives receiving parts of elements."""
    return mpi.abi == "openmpi"


MODES = {
    "Send": 40,
    "Bsend": 80,
    "Ssend": 120,
    "Rsend": 160,
    "Isend": 44,
    "Ibsend": 84,
    "Issend": 124,
    "Irsend": 164,
}
P2P = {
    **{name: one_way(size) for name, size in MODES.items()},
    "Sendrecv": Traffic(2, 20 + 24, 2, 20 + 24, 1, 1),
    "Sendrecv_replace": Traffic(2, 64, 2, 64, 1, 1),
    "shift": one_way(12),
    "started": Traffic(1, 400, 0, 0, 1, 0),
    "completed": Traffic(0, 0, 1, 400, 0, 1),
    "wildcards": one_way(28 + 32, 2),
    "nobody": Traffic(),
    "cancelled": Traffic(),
    "empty": one_way(0),
    "self": Traffic(2, 48, 2, 48, 1, 1),
    "large": one_way(200_000),
}


def test_each_way_to_send(p2p: Watched) -> None:
    found = {region: p2p.traffic(region) for region in P2P}
    assert found == P2P


def test_program_holds_the_sum(p2p: Watched) -> None:
    whole = p2p.traffic("<program>")
    parts = P2P.values()
    assert whole == Traffic(
        sum(part.sends for part in parts),
        sum(part.bytes_sent for part in parts),
        sum(part.recvs for part in parts),
        sum(part.bytes_recv for part in parts),
        2,
        2,
    )
    assert p2p.traffic("<program>", exclusive=True) == Traffic()


def test_directions_are_kept(p2p: Watched) -> None:
    names = ("rank", "partner", "sends", "bytes_sent", "recvs", "bytes_recv")
    found = [tuple(row[name] for name in names) for row in p2p.select("partners", region="Ssend")]
    assert sorted(found) == [(0, 1, 1, 120, 0, 0), (1, 0, 0, 0, 1, 120)]
    found = [tuple(row[name] for name in names) for row in p2p.select("partners", region="self")]
    assert sorted(found) == [(0, 0, 1, 24, 1, 24), (1, 1, 1, 24, 1, 24)]
    assert p2p.select("partners", region="nobody") == []


def test_functions_are_counted_by_name(p2p: Watched) -> None:
    for name in MODES:
        assert p2p.calls(f"MPI_{name}", name) == 1
    assert p2p.calls("MPI_Sendrecv", "nobody") == 2
    assert p2p.calls("MPI_Cancel", "cancelled") == 4


def test_sizes_are_exact(p2p: Watched) -> None:
    for region, sent in P2P.items():
        rows = [row for row in p2p.select("sizes", region=region, kind="p2p") if row["messages"]]
        assert sum(row["messages"] for row in rows) == sent.sends, region
        assert sum(row["bytes"] * row["messages"] for row in rows) == sent.bytes_sent, region
    sizes = {row["bytes"] for row in p2p.select("sizes", region="wildcards") if row["messages"]}
    assert sizes == {28, 32}


def test_largest_and_mean_message(p2p: Watched) -> None:
    row = p2p.region("Sendrecv")
    assert (row["largest_message"], row["mean_message"]) == (24, 22)
    assert p2p.region("<program>")["largest_message"] == 200_000


def test_times_are_parts_of_a_whole(p2p: Watched) -> None:
    for row in p2p.rows("regions"):
        assert row["mpi_time_mean"] <= row["time_mean"] * 1.001, row["path"]
        assert 0 <= row["wait_time_mean"] <= row["mpi_time_mean"] * 1.001, row["path"]
        assert row["p2p_time_mean"] + row["coll_time_mean"] <= row["mpi_time_mean"] * 1.001
        assert row["compute_time_mean"] >= 0
    assert p2p.region("large")["wait_time_mean"] > 0


RECEIVES = {
    "column": one_way(16),
    "mixed": one_way(36),
    "reused types": one_way(4 * (1 + 2 + 3 + 4 + 5), 5),
    "truncated": Traffic(2, 80, 0, 0, 1, 0),
    "one of two truncated": Traffic(2, 80, 1, 40, 1, 1),
    "failing": Traffic(),
}


def test_receives_count_what_arrived(receives: Watched) -> None:
    found = {region: receives.traffic(region) for region in RECEIVES}
    assert found == RECEIVES


def test_parts_of_elements_are_counted_in_bytes(mpi: Mpi, receives: Watched) -> None:
    if not parts(mpi):
        impossible(f"{mpi.name} can't receive a part of an element")
    assert receives.traffic("half a pair") == one_way(12)
    assert receives.traffic("12 bytes into doubles") == one_way(12)


def test_failed_calls_have_no_effect(receives: Watched) -> None:
    row = receives.region("failing")
    assert (row["colls_total"], row["coll_bytes_total"]) == (0, 0)
    assert receives.select("calls", region="failing") == []
