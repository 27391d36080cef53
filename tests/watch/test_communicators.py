"""Communicators: a partner is a world rank, however it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mpi import NO_YIELD, Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

Pairs = set[tuple[int, int]]


def ranks(mpi: Mpi) -> int:
    """MPICH does not yield: more ranks than cores would take minutes."""
    return 4 if mpi.abi == "openmpi" else 2


@pytest.fixture(scope="module")
def communicators(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [program(compiler, mpi, "communicators.c")]
    return watch(mpi, ranks(mpi), command, tmp_path_factory.mktemp("communicators"))


def sent(run: Watched, region: str) -> Pairs:
    """Who sends to whom."""
    rows = run.select("partners", region=region)
    return {(row["rank"], row["partner"]) for row in rows if row["sends"]}


def received(run: Watched, region: str) -> Pairs:
    rows = run.select("partners", region=region)
    return {(row["partner"], row["rank"]) for row in rows if row["recvs"]}


def ring(members: list[int]) -> Pairs:
    return {(rank, members[(i + 1) % len(members)]) for i, rank in enumerate(members)}


def expected(size: int) -> dict[str, Pairs]:
    everyone = list(range(size))
    return {
        "same partner": ring(everyone) | ring(everyone[::-1]),
        "turned": ring(everyone[::-1]),
        "halves": ring(everyone[::2]) | ring(everyone[1::2]),
        "created": {(size - 1, size - 1)},
        "created by a group": {(size - 1, size - 1)},
        "line": {(rank, rank + 1) for rank in everyone[:-1]},
        "alone in the line": {(rank, rank) for rank in everyone},
        "between groups": {(rank, 0) for rank in everyone[1:]},
        "merged": ring([*everyone[1:], 0]),
        "all, reused": ring(everyone[::-1]),
        "alone, reused": {(rank, rank) for rank in everyone},
        "freed early": ring(everyone[::-1]),
    }


def test_partners_are_world_ranks(mpi: Mpi, communicators: Watched) -> None:
    cases = expected(ranks(mpi))
    assert {region: sent(communicators, region) for region in cases} == cases
    assert {region: received(communicators, region) for region in cases} == cases


def test_one_partner_through_four_communicators(mpi: Mpi, communicators: Watched) -> None:
    size = ranks(mpi)
    partners = 1 if size == 2 else 2  # to the right, and to the left in the turned one
    messages = 4 * size
    assert communicators.traffic("same partner") == Traffic(
        messages, 4 * messages, messages, 4 * messages, partners, partners
    )


def test_bytes_between_groups(mpi: Mpi, communicators: Watched) -> None:
    size = ranks(mpi)
    total = 4 * sum(range(1, size))
    assert communicators.traffic("between groups") == Traffic(size - 1, total, size - 1, total, 1, size - 1)


def test_collectives_know_the_size(mpi: Mpi, communicators: Watched) -> None:
    (row,) = communicators.select("collectives", region="halves")
    assert (row["operation"], row["comm_size"]) == ("Allreduce", ranks(mpi) // 2)
    assert (row["bytes"], row["calls"]) == (8, ranks(mpi))


def test_table_of_communicators(mpi: Mpi, communicators: Watched) -> None:
    size = ranks(mpi)
    rows = {(row["name"], row["size"]): row for row in communicators.rows("communicators")}
    ocean = rows["ocean", size]
    # a collective of 40 bytes and a Sendrecv of 4 on each rank
    assert (ocean["ranks"], ocean["calls"], ocean["bytes"]) == (size, 2 * size, 44 * size)
    # Equal names, other members: the even and the odd half.
    halves = [
        row
        for row in communicators.rows("communicators")
        if row["name"] == "MPI_COMM_WORLD/split" and row["size"] == size // 2
    ]
    assert len(halves) == 2 or size == 2


def test_what_is_between_groups_is_no_group(mpi: Mpi, communicators: Watched) -> None:
    """Equal names, and members of the other side: one row each, with all its ranks."""
    size = ranks(mpi)
    rows = communicators.select("communicators", name="shore")
    assert len(rows) == 4
    assert [row["ranks"] for row in rows] == [size // 2] * 4
    assert all(row["ranks"] <= row["size"] for row in communicators.rows("communicators"))


@pytest.mark.parametrize(("options", "number"), [((), 2000), (("--trace",), 1200)])
def test_communicators_that_end_need_no_memory(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, options: tuple[str, ...], number: int
) -> None:
    """Their counts are exact, and the names of the first ones are kept."""
    command = [str(program(compiler, any_mpi, "many_communicators.c")), str(number)]
    env = NO_YIELD | {"HALOSCOPE_MEMORY": "1"}
    done = watch(any_mpi, 1, command, tmp_path, options=options, env=env)
    for region in ("twins", "names", "line"):
        row = done.region(region)
        assert (row["sends_total"], row["colls_total"]) == (number, number)
        assert sent(done, region) == {(0, 0)}
    assert done.region("graphs")["colls_total"] == number
    flows = done.select("partners", region="graphs")
    assert sum(row["sends"] for row in flows) == sum(row["recvs"] for row in flows) == number // 2
    assert done.info["dropped"] == "0"
    rows = done.rows("communicators")
    assert sum(row["calls"] for row in rows) == 6 * number + number
    assert {"number 0", "(other communicators)"} <= {row["name"] for row in rows}
    assert len(rows) < 1100
