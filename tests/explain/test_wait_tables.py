"""The tables of waiting, of programs that have run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import haloscope as library
from haloscope.base.shown import shown_columns
from haloscope.explain._tables import TRACE_TABLES
from support.analysed import check_tables
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, watch

ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
# Rank 1 is slow in a region; rank 0 waits for its message, and rank 2 for rank 0's.
LATE = """
#include <haloscope/region.h>
#include <mpi.h>
#include <time.h>

int main(int argc, char **argv) {
  const struct timespec slow = {0, 100000000};
  int rank, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  HALOSCOPE_REGION_BEGIN("work");
  if (rank == 1) nanosleep(&slow, NULL);
  HALOSCOPE_REGION_END("work");
  HALOSCOPE_REGION_BEGIN("pass");
  if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
  if (rank == 2) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  HALOSCOPE_REGION_END("pass");
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture
def late(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> Watched:
    program = compiler.text(mpi, "late.c", LATE)
    return watch(mpi, 3, [program], tmp_path, options=["--trace"])


@ONE
def test_tables_agree_with_each_other(late: Watched, haloscope: Path) -> None:
    with library.open(late.path) as profile:
        check_tables(profile)
        for name in TRACE_TABLES:
            assert profile.table(name).columns == shown_columns(name)
        assert profile.remarks("waits") == []
    for name in TRACE_TABLES:
        command = [haloscope, "show", late.path, "--table", name]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
        assert done.stdout.strip()
        assert done.stderr == ""


@ONE
def test_without_a_trace_tables_are_empty_and_say_why(
    mpi: Mpi, compiler: Compiler, tmp_path: Path, haloscope: Path
) -> None:
    watched = watch(mpi, 3, [compiler.text(mpi, "late.c", LATE)], tmp_path)
    for name in TRACE_TABLES:
        assert watched.rows(name) == []
        command = [str(haloscope), "show", str(watched.path), "--table", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr.count("\n") == 1
        assert "haloscope run --trace" in done.stderr
