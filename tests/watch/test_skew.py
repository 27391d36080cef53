"""`--sync-collectives`: time before collectives, and programs that another order would stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, program, watch


@pytest.fixture
def skew(any_mpi: Mpi, compiler: Compiler) -> Path:
    return program(compiler, any_mpi, "skew.c", ["-pthread"])


def late(watched: Watched, rank: int) -> dict[str, Any]:
    (row,) = watched.select("ranks", region="late", rank=rank)
    return row


# A barrier in which rank 1 stays for 5 ms at least. The recorder measures skew by barriers of its own.
SLOW_BARRIER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>
int PMPI_Barrier(MPI_Comm comm) {
  int (*real)(MPI_Comm) = (int (*)(MPI_Comm))dlsym(RTLD_NEXT, "PMPI_Barrier");
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) usleep(5000);
  return real(comm);
}
"""
STAY = 0.005


@pytest.mark.parametrize(("every", "calls"), [(1, 20), (4, 60)])
def test_time_in_the_barrier_is_skew(
    any_mpi: Mpi, compiler: Compiler, skew: Path, tmp_path: Path, every: int, calls: int
) -> None:
    slow = compiler.text(any_mpi, "slow_barrier.c", SLOW_BARRIER, ["-shared", "-fPIC", "-ldl"])
    watched = watch(
        any_mpi,
        2,
        [skew, "late", str(calls)],
        tmp_path,
        options=["--sync-collectives", str(every)],
        env={"LD_PRELOAD": str(slow)},
    )
    assert watched.info["sync_collectives"] == str(every)
    row = late(watched, 1)
    # Each barrier is extrapolated to the calls before it, at most 2 * every - 1; those after the last have
    # none.
    assert row["skew_time"] >= (calls - 2 * (every - 1)) * STAY
    if every == 1:
        assert row["skew_time"] <= row["coll_time"] <= row["time"]


def test_not_measured_is_not_nothing(any_mpi: Mpi, skew: Path, tmp_path: Path) -> None:
    watched = watch(any_mpi, 2, [skew, "late", "3"], tmp_path)
    assert [late(watched, rank)["skew_time"] for rank in range(2)] == [None, None]
    assert watched.info["sync_collectives"] == "0"


@pytest.fixture(scope="module")
def plain(any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    skew = program(compiler, any_mpi, "skew.c", ["-pthread"])
    return watch(any_mpi, 4, [skew, "mixed"], tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize("every", [1, 3])
def test_any_order_of_communicators(
    any_mpi: Mpi, skew: Path, plain: Watched, tmp_path: Path, every: int
) -> None:
    options = ["--sync-collectives", str(every)]
    watched = watch(any_mpi, 4, [skew, "mixed"], tmp_path, options=options)
    for table in ("calls", "collectives", "communicators", "sizes"):
        assert watched.facts(table) == plain.facts(table)
    assert all(row["skew_time"] is not None for row in watched.rows("ranks"))


def test_every_mpi(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    skew = program(compiler, mpi, "skew.c", ["-pthread"])
    watched = watch(mpi, 4, [skew, "mixed"], tmp_path, options=["--sync-collectives", "2"])
    groups = watched.select("collectives", region="groups", operation="Barrier")
    assert sum(row["calls"] for row in groups) == 28


def test_ranks_that_do_not_record_take_part(any_mpi: Mpi, skew: Path, tmp_path: Path) -> None:
    options = ["--sync-collectives", "2", "--ranks", "1-2"]
    watched = watch(any_mpi, 4, [skew, "mixed"], tmp_path, options=options)
    assert watched.info["unwatched_ranks"] == "[0, 3]"
    assert watched.calls("MPI_Neighbor_allgather", "neighbors") == 14


def test_worlds_that_do_not_know_each_other(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """It is unknown whether spawned processes measure, too: without a common world they do not."""
    spawning = program(compiler, any_mpi, "spawn.c")
    watched = watch(any_mpi, 2, [spawning], tmp_path, options=["--sync-collectives", "1"])
    together = watched.region("all")
    assert (together["colls_total"], together["skew_time_mean"]) == (2, 0)
