"""The time of polls: a rank that only polls waits, and one that works between its polls computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import haloscope
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, watch

# Rank 0 works and sends. The others poll for its message, and work as long between two polls as told.
PROGRAM = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void work(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (now.tv_sec - begin.tv_sec + 1e-9 * (now.tv_nsec - begin.tv_nsec) < seconds);
}

int main(int argc, char **argv) {
  int rank, size, flag = 0, in = 0, index, count;
  MPI_Request request;
  MPI_Message message;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *how = argv[1];
  const double between = atof(argv[2]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    work(0.1);
    for (int i = 1; i < size; i++) MPI_Send(&rank, 1, MPI_INT, i, 0, MPI_COMM_WORLD);
  } else {
    const int probes = !strcmp(how, "iprobe") || !strcmp(how, "improbe");
    if (!probes) MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    while (!flag) {
      if (!strcmp(how, "iprobe")) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      else if (!strcmp(how, "improbe")) MPI_Improbe(0, 0, MPI_COMM_WORLD, &flag, &message, &status);
      else if (!strcmp(how, "test")) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      else if (!strcmp(how, "testall")) MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
      else if (!strcmp(how, "testany")) MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
      else if (!strcmp(how, "testsome")) {
        MPI_Testsome(1, &request, &count, &index, &status);
        flag = count > 0;
      } else MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
      if (!flag && between > 0) work(between);
    }
    if (!strcmp(how, "iprobe")) MPI_Recv(&in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(how, "improbe")) MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    else if (!strcmp(how, "get_status")) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
HOW = ("iprobe", "improbe", "test", "testall", "testany", "testsome", "get_status")


def poll(
    mpi: Mpi, compiler: Compiler, directory: Path, how: str, *options: str, between: float = 0
) -> Watched:
    """Runs a rank that works and a rank that polls."""
    executable = compiler.text(mpi, "polling.c", PROGRAM)
    return watch(mpi, 2, [executable, how, str(between)], directory, options=options)


def of_rank(watched: Watched, rank: int) -> dict[str, Any]:
    (row,) = watched.select("ranks", exclusive=False, region="<program>", rank=rank)
    return row


def blamed(watched: Watched) -> set[int]:
    """The ranks that a finding names."""
    return {rank for finding in haloscope.findings(watched.path) for rank in finding.ranks}


@pytest.mark.parametrize("how", HOW)
def test_a_rank_that_only_polls_waits(any_mpi: Mpi, compiler: Compiler, tmp_path: Path, how: str) -> None:
    watched = poll(any_mpi, compiler, tmp_path, how)
    row = of_rank(watched, 1)
    assert row["polls"] > 0
    # It has no other work. While it has no core, nobody knows whether it would poll.
    with haloscope.open(watched.path) as profile:
        cpu_time = profile.frame("processes", ["rank", "cpu_time"]).filter(rank=1)["cpu_time"].item()
    assert row["mpi_time"] > 0.5 * cpu_time
    assert 0 < row["poll_time"] <= row["mpi_time"]
    assert of_rank(watched, 0)["poll_time"] == 0
    assert 1 not in blamed(watched)


@pytest.mark.parametrize("options", [(), ("--trace",)], ids=["run", "trace"])
def test_a_rank_that_works_between_its_polls_computes(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, options: tuple[str, ...]
) -> None:
    watched = poll(any_mpi, compiler, tmp_path, "test", *options, between=1e-3)
    row = of_rank(watched, 1)
    assert row["polls"] > 0
    assert row["compute_time"] > 0.5e-3 * row["polls"]  # it works for a millisecond after each


def test_a_trace_has_the_polling_too(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    watched = poll(any_mpi, compiler, tmp_path, "iprobe", "--trace")
    (row,) = watched.select("waits", exclusive=False, region="<program>", kind="polling")
    assert 0 < row["time_total"] <= of_rank(watched, 1)["mpi_time"]
