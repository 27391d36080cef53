"""Times of posts that were not stamped: an estimate has no more time than its region and its slice."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import watch

# Behind the recorder: a post in a region takes a millisecond, as if its rank had lost its core then.
SLOW = """
#include <mpi.h>
#include <time.h>
#include <unistd.h>

int slow_posts = 0;

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request) {
  if (slow_posts) usleep(1000);
  return PMPI_Isend(buffer, count, type, dest, tag, comm, request);
}
"""

# A post in each of 200 regions: some of them are samples of many. Then all of a region's posts are slow.
PROGRAM = """
#include <haloscope/region.h>
#include <mpi.h>
#include <stdio.h>

extern int slow_posts;

static void post(int i) {
  int in;
  MPI_Request request;
  MPI_Isend(&i, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Recv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  char name[16];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 1000; i++) post(i);
  slow_posts = 1;
  for (int i = 0; i < 200; i++) {
    snprintf(name, sizeof name, "slow %d", i);
    HALOSCOPE_COMM_REGION_BEGIN(name);
    post(i);
    HALOSCOPE_COMM_REGION_END(name);
  }
  HALOSCOPE_COMM_REGION_BEGIN("all slow");
  for (int i = 0; i < 200; i++) post(i);
  HALOSCOPE_COMM_REGION_END("all slow");
  MPI_Finalize();
  return 0;
}
"""


@pytest.mark.parametrize("options", [(), ("--slice", "0.005"), ("--callsites",)], ids="".join)
def test_a_preempted_post_counts_once(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """`watch` checks that no region and no slice has more time in MPI than time."""
    slow = compiler.text(any_mpi, "slow.c", SLOW, ["-shared", "-fPIC"])
    executable = compiler.text(any_mpi, "preempted.c", PROGRAM, [str(slow)])
    watched = watch(any_mpi, 1, [executable], tmp_path, options=options)
    (row,) = watched.select("calls", region="all slow", call="MPI_Isend")
    assert row["calls"] == 200
    # What is slow always is no outlier: 200 posts of at least a millisecond.
    assert row["time_total"] > 0.1
    assert row["time_max"] <= row["time_total"]
