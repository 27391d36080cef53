"""Messages like one before: what the recorder remembers of it must hold, or not be used."""

from __future__ import annotations

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

RANKS, ROUNDS, KINDS = 2, 40, 1500


@pytest.fixture(scope="module")
def repeats(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [program(compiler, mpi, "repeats.c")]
    return watch(mpi, RANKS, command, tmp_path_factory.mktemp("repeats"))


def both_ways(messages: int, total: int, partners: int) -> Traffic:
    """Of all ranks together, each of which sends and receives the same."""
    return Traffic(RANKS * messages, RANKS * total, RANKS * messages, RANKS * total, partners, partners)


def test_records_that_move(repeats: Watched) -> None:
    """More kinds of messages than a region has records for, and empty ones from rank 0."""
    others = sum(range(9, KINDS + 9))
    assert repeats.traffic("growing") == both_ways(4 * KINDS, 8 * KINDS + others, 2)
    sizes = {
        row["bytes"]: row["messages"]
        for row in repeats.select("sizes", region="growing")
        if row["kind"] == "p2p"
    }
    expected = {0: 2 * KINDS, 8: KINDS} | dict.fromkeys(range(9, KINDS + 9), 1)
    assert sizes == {size: RANKS * messages for size, messages in expected.items()}
    partners = {
        (row["rank"], row["partner"]): (row["sends"], row["recvs"], row["bytes_recv"])
        for row in repeats.select("partners", region="growing")
    }
    for rank in range(RANKS):
        assert partners[rank, rank] == (KINDS, KINDS, 0)
        assert partners[rank, 1 - rank] == (3 * KINDS, 3 * KINDS, 8 * KINDS + others)


def test_regions_in_turn(repeats: Watched) -> None:
    first, second = repeats.traffic("first"), repeats.traffic("second")
    assert (first.sends, first.bytes_sent) == (RANKS * 2 * ROUNDS, RANKS * 24 * ROUNDS)
    assert (first.recvs, first.bytes_recv) == (RANKS * ROUNDS, RANKS * 8 * ROUNDS)
    assert (second.sends, second.bytes_sent) == (RANKS * ROUNDS, RANKS * 8 * ROUNDS)
    assert (second.recvs, second.bytes_recv) == (RANKS * 2 * ROUNDS, RANKS * 24 * ROUNDS)
    row = repeats.region("second")
    assert (row["recvs_instance_min"], row["recvs_instance_max"]) == (2, 2)


def test_handles_that_mean_something_else(repeats: Watched) -> None:
    total = sum(2 * (1 + i % 7) for i in range(ROUNDS))
    assert repeats.traffic("handles") == both_ways(2 * ROUNDS, total, 1)
    rows = repeats.select("partners", region="handles")
    assert {(row["rank"], row["partner"]) for row in rows} == {(0, 1), (1, 0)}


def test_answers_that_vary(repeats: Watched) -> None:
    total = sum(2 * (i % 3) for i in range(ROUNDS))
    assert repeats.traffic("varying") == both_ways(2 * ROUNDS, total, 2)
    calls = {row["call"]: row["calls"] for row in repeats.select("calls", region="varying")}
    assert calls["MPI_Irecv"] == calls["MPI_Isend"] == RANKS * ROUNDS
    assert calls["MPI_Send"] == calls["MPI_Recv"] == RANKS * ROUNDS
