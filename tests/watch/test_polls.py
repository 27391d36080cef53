"""Tests and probes that found nothing are counted: `polls`."""

from __future__ import annotations

from pathlib import Path

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import watch

# Ten calls in vain in the region, on each rank; those that find something, outside, are none.
PROGRAM = """
#include <haloscope/region.h>
#include <mpi.h>

int main(int argc, char **argv) {
  int number = 1, sent = 1, flag, index, count, indices[1];
  MPI_Request request, send;
  MPI_Message message;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  HALOSCOPE_COMM_REGION_BEGIN("vain");
  for (int i = 0; i < 2; i++) MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE);
  MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  for (int i = 0; i < 4; i++) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
  MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
  MPI_Testsome(1, &request, &count, indices, &status);
  HALOSCOPE_COMM_REGION_END("vain");
  MPI_Isend(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &send);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
"""


def test_what_found_nothing_is_counted(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    watched = watch(mpi, 2, [compiler.text(mpi, "vain.c", PROGRAM)], tmp_path)
    assert watched.region("vain")["polls_total"] == 20
    assert watched.region("<program>")["polls_total"] == 20
    assert {row["polls"] for row in watched.select("ranks", region="vain")} == {10}
