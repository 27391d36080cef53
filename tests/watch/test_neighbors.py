"""Neighbourhood collectives: one call each, their neighbours by world rank in `partners`."""

from __future__ import annotations

import pytest

from support.missing import impossible
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

RANKS = range(4)
# Who sends to whom by world rank; the communicator calls rank r 3 - r.
Neighbors = dict[int, tuple[int, ...]]
GRID: Neighbors = {0: (1, 2), 1: (0, 3), 2: (0, 3), 3: (1, 2)}
GRAPH: Neighbors = {0: (1,), 1: (0,), 2: (3,), 3: (2,)}
STAR: Neighbors = {rank: ((rank - 1) % 4, (rank - 2) % 4) for rank in RANKS}
# The ints to the first neighbour and to the second.
EQUAL, GROWING = (3, 3), (1, 2)
FORMS = {"allgather": EQUAL, "alltoall": EQUAL, "ialltoall": EQUAL}
UNEQUAL = {"alltoallv": GROWING, "alltoallw": GROWING}


@pytest.fixture(scope="module")
def neighbors(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [program(compiler, mpi, "neighbors.c")]
    return watch(mpi, len(RANKS), command, tmp_path_factory.mktemp("neighbors"))


CASES = [
    *((f"grid {form}", GRID, ints) for form, ints in FORMS.items()),
    *((f"graph {form}", GRAPH, ints) for form, ints in (FORMS | UNEQUAL).items()),
    *((f"star {form}", STAR, ints) for form, ints in (FORMS | UNEQUAL).items()),
]


def expected(
    to: Neighbors, ints: tuple[int, ...], times: int = 1
) -> dict[tuple[int, int], tuple[int, int, int, int]]:
    """Messages and bytes to and from each neighbour, as table `partners` has them."""
    flows = {
        (rank, partner): (times, 4 * times * count)
        for rank, partners in to.items()
        for partner, count in zip(partners, ints, strict=False)
    }
    nothing = (0, 0)
    return {
        pair: (*flows.get(pair, nothing), *flows.get(pair[::-1], nothing))
        for pair in flows.keys() | {pair[::-1] for pair in flows}
    }


def found(run: Watched, region: str) -> dict[tuple[int, int], tuple[int, ...]]:
    columns = ("sends", "bytes_sent", "recvs", "bytes_recv")
    return {
        (row["rank"], row["partner"]): tuple(row[column] for column in columns)
        for row in run.select("partners", region=region)
    }


@pytest.mark.parametrize(("region", "to", "ints"), CASES, ids=lambda value: str(value)[:20])
def test_partners_are_world_ranks(
    neighbors: Watched, region: str, to: Neighbors, ints: tuple[int, ...]
) -> None:
    """Where a grid ends there is no neighbour."""
    assert found(neighbors, region) == expected(to, ints)


@pytest.mark.parametrize(("region", "to", "ints"), CASES, ids=lambda value: str(value)[:20])
def test_one_collective_and_no_messages(
    neighbors: Watched, region: str, to: Neighbors, ints: tuple[int, ...]
) -> None:
    row = neighbors.region(region)
    sent = sum(4 * count for partners in to.values() for _, count in zip(partners, ints, strict=False))
    assert (row["colls_total"], row["coll_bytes_total"]) == (4, sent)
    assert Traffic.of(row) == Traffic()


def test_persistent_ones_count_when_they_start(mpi: Mpi, neighbors: Watched) -> None:
    if not mpi.declares("MPI_Neighbor_alltoallv_init"):
        impossible(f"{mpi.name} has no persistent collectives: it is of MPI 3")
    for region, to in (("graph alltoallv_init", GRAPH), ("star alltoallv_init", STAR)):
        assert found(neighbors, region) == expected(to, GROWING, times=2)
