"""Iterations are followed while the program runs, although collectives in them come and go."""

from __future__ import annotations

from pathlib import Path

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import watch

STEPS = 1000
PROGRAM = f"""
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
static double in[64], out[64];
static void exchange(int count) {{
  MPI_Sendrecv(out, count, MPI_DOUBLE, 0, 0, in, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}}
static void send_and_wait(void) {{
  MPI_Request request;
  MPI_Irecv(in, 64, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &request);
  MPI_Send(out, 5, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}}
int main(int argc, char **argv) {{
  MPI_Init(&argc, &argv);
  for (int step = 0; step < {STEPS}; step++) {{
    for (int n = 1; n <= 3; n++) exchange(8 * n);
    send_and_wait();
    usleep(20);
    for (int n = rand() % 5; n > 0; n--)
      MPI_Allreduce(out, in, 1 + n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }}
  MPI_Finalize();
  return 0;
}}
"""


def test_iterations_become_regions_from_where_they_are_found(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    program = compiler.text(any_mpi, "followed.c", PROGRAM)
    watched = watch(any_mpi, 1, [program], tmp_path, env={"HALOSCOPE_PHASES": "1"})
    (phase,) = watched.rows("phases")
    assert STEPS - 1 <= phase["iterations"] <= STEPS
    rest = phase["iterations"] - phase["found_after"]
    regions = [row["instances"] for row in watched.rows("regions") if row["path"] == "phase 1/iteration"]
    assert rest - 1 <= sum(regions) <= rest + 1
