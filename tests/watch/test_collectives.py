"""Collectives: a rank's bytes are those of its own send argument."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.missing import impossible
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

Rule = Callable[[int, int], int]


def at_root(count: Callable[[int], int]) -> Rule:
    return lambda size, rank: count(size) if rank == size - 1 else 0


def triangle(size: int) -> int:
    return size * (size + 1) // 2


def all_counts(size: int, rank: int) -> list[int]:
    return [rank + i + 1 for i in range(size)]


# Bytes of rank `rank` of `size`; the last one is the root. Counts are those of collectives.c.
RULES: dict[str, Rule] = {
    "Bcast": lambda size, rank: 40,
    "Reduce": lambda size, rank: 44,
    "Allreduce": lambda size, rank: 48,
    "Scan": lambda size, rank: 52,
    "Exscan": lambda size, rank: 56,
    "Reduce_scatter": lambda size, rank: 4 * triangle(size),
    "Reduce_scatter_block": lambda size, rank: 20 * size,
    "Gather": lambda size, rank: 24,
    "Gatherv": lambda size, rank: 4 * (rank + 1),
    "Allgather": lambda size, rank: 28,
    "Allgatherv": lambda size, rank: 4 * (rank + 1),
    "Scatter": at_root(lambda size: 32 * size),
    "Scatterv": at_root(lambda size: 4 * triangle(size)),
    "Alltoall": lambda size, rank: 12 * size,
    "Alltoallv": lambda size, rank: 4 * sum(all_counts(size, rank)),
    "Alltoallw": lambda size, rank: sum(
        count * (8 if (rank + i) % 2 else 4) for i, count in enumerate(all_counts(size, rank))
    ),
}


def others(size: int, rank: int) -> int:
    """Ranks of the other parity."""
    return size // 2 if rank % 2 == 0 else size - size // 2


# Between even and odd ranks; rank 0 is the root.
BETWEEN: dict[str, Rule] = {
    "Bcast": lambda size, rank: 40 if rank == 0 or rank % 2 else 0,
    "Reduce": lambda size, rank: 44 if rank % 2 else 0,
    "Allreduce": lambda size, rank: 48,
    "Gather": lambda size, rank: 24 if rank % 2 else 0,
    "Scatter": lambda size, rank: 0 if rank else 32 * others(size, rank),
    "Alltoall": lambda size, rank: 12 * others(size, rank),
    "Gatherv": lambda size, rank: 4 * (rank // 2 + 1) if rank % 2 else 0,
    "Scatterv": lambda size, rank: 0 if rank else 4 * triangle(others(size, rank)),
    "Allgatherv": lambda size, rank: 4 * (rank // 2 + 1),
    "Alltoallv": lambda size, rank: 8 * others(size, rank),
    "Reduce_scatter_block": lambda size, rank: 4 * (size // 2) * (size - size // 2),
}
NEIGHBORS: dict[str, Rule] = {
    "Neighbor_allgather": lambda size, rank: 2 * 16,
    "Neighbor_alltoall": lambda size, rank: 2 * 20,
    "Ineighbor_alltoall": lambda size, rank: 2 * 20,
    "Neighbor_alltoallv": lambda size, rank: 2 * 8,
}


@pytest.fixture(scope="module")
def collectives(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [program(compiler, mpi, "collectives.c")]
    return watch(mpi, ranks(mpi), command, tmp_path_factory.mktemp("collectives"))


def ranks(mpi: Mpi) -> int:
    """MPICH does not yield: more ranks than cores would take minutes."""
    return 3 if mpi.abi == "openmpi" else 2


def found(run: Watched, region: str) -> list[tuple[int, int]]:
    """Calls and bytes of each rank."""
    rows = sorted(run.select("ranks", region=region), key=lambda row: row["rank"])
    return [(row["colls"], row["coll_bytes"]) for row in rows]


def expected(mpi: Mpi, rule: Rule, calls: int = 1) -> list[tuple[int, int]]:
    size = ranks(mpi)
    return [(calls, calls * rule(size, rank)) for rank in range(size)]


@pytest.mark.parametrize("name", RULES)
def test_blocking(mpi: Mpi, collectives: Watched, name: str) -> None:
    assert found(collectives, name) == expected(mpi, RULES[name])


@pytest.mark.parametrize("name", RULES)
def test_non_blocking(mpi: Mpi, collectives: Watched, name: str) -> None:
    region = "I" + name.lower()
    assert found(collectives, region) == expected(mpi, RULES[name])
    row = collectives.region(region)
    assert row["p2p_time_mean"] == 0
    assert 0 < row["wait_time_mean"] <= row["coll_time_mean"]


@pytest.mark.parametrize("name", RULES)
def test_persistent(mpi: Mpi, collectives: Watched, name: str) -> None:
    if not mpi.declares(f"MPI_{name}_init"):
        impossible(f"{mpi.name} has no persistent collectives: it is of MPI 3")
    assert found(collectives, f"{name}_init") == expected(mpi, RULES[name], 2)


IN_PLACE = [name for name in RULES if name not in {"Bcast", "Scatterv"}]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_counts_what_it_stands_for(mpi: Mpi, collectives: Watched, name: str) -> None:
    assert found(collectives, f"in place {name}") == expected(mpi, RULES[name])


@pytest.mark.parametrize("name", BETWEEN)
def test_between_two_groups(mpi: Mpi, collectives: Watched, name: str) -> None:
    assert found(collectives, f"inter {name}") == expected(mpi, BETWEEN[name])


@pytest.mark.parametrize("name", NEIGHBORS)
def test_neighborhood(mpi: Mpi, collectives: Watched, name: str) -> None:
    assert found(collectives, name) == expected(mpi, NEIGHBORS[name])


def test_barriers_have_no_bytes(mpi: Mpi, collectives: Watched) -> None:
    for name in ("Barrier", "Ibarrier"):
        assert found(collectives, name) == [(1, 0)] * ranks(mpi)


def test_nothing_else_is_a_message(collectives: Watched) -> None:
    assert collectives.traffic("<program>") == Traffic()


def test_table_of_collectives(mpi: Mpi, collectives: Watched) -> None:
    size = ranks(mpi)
    rows = collectives.select("collectives", region="Gatherv")
    assert [(row["operation"], row["comm_size"]) for row in rows] == [("Gatherv", size)] * size
    assert sorted((row["bytes"], row["calls"]) for row in rows) == [
        (4 * (rank + 1), 1) for rank in range(size)
    ]
    (row,) = collectives.select("collectives", region="Allreduce")
    assert (row["bytes"], row["calls"]) == (48, size)
    assert 0 < row["time_max"] <= row["time_total"]


def test_sizes_of_collectives(mpi: Mpi, collectives: Watched) -> None:
    (row,) = collectives.select("sizes", region="Allreduce")
    assert (row["kind"], row["bytes"], row["messages"]) == ("coll", 48, ranks(mpi))
