"""MPI_Finalize: ranks that come late, or not in time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import Traffic, Watched, watch

PROGRAM = """
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rank, size, got;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == size - 1 && argc > 1) usleep(300000);
  for (int i = 2; i < argc && rank == size - 1; i++)
    while (access(argv[i], F_OK) != 0) usleep(1000);
  MPI_Finalize();
  return 0;
}
"""
# Called by the recorder when it waits no longer: leaves a file for each rank.
ENDING = """
#include <mpi.h>
#include <stdio.h>
int MPI_Finalize(void) {
  char name[32];
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "ending-%d", rank);
  fclose(fopen(name, "w"));
  return PMPI_Finalize();
}
"""


@pytest.fixture
def program(any_mpi: Mpi, compiler: Compiler) -> Path:
    return compiler.text(any_mpi, "late.c", PROGRAM)


def is_whole(run: Watched) -> bool:
    return run.traffic("<program>") == Traffic(4, 16, 4, 16, 1, 1) and run.info["partial"] == "false"


def test_a_late_rank_is_waited_for(any_mpi: Mpi, program: Path, tmp_path: Path) -> None:
    run = watch(any_mpi, 4, [program, "late"], tmp_path)
    assert run.done.stderr == ""
    assert is_whole(run)


def test_waiting_has_an_end(any_mpi: Mpi, compiler: Compiler, program: Path, tmp_path: Path) -> None:
    """The rank that waits reports the missing one; then `run` puts the records together.

    Rank 3 comes when all others have given it up.
    """
    ending = compiler.text(any_mpi, "ending.c", ENDING, ["-shared", "-fPIC"])
    env = {"HALOSCOPE_FINALIZE_TIME": "1", "LD_PRELOAD": str(ending)}
    files = [f"ending-{rank}" for rank in range(3)]
    run = watch(any_mpi, 4, [program, "late", *files], tmp_path, env=env)
    lines = [line for line in run.done.stderr.splitlines() if "did not come to MPI_Finalize" in line]
    assert any("rank 3 did not come" in line and "HALOSCOPE_FINALIZE_TIME" in line for line in lines)
    assert is_whole(run)


def test_steps_grow_with_the_logarithm(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Each doubling of the ranks adds the same number of messages to those that one rank receives."""
    source = CHECKOUT / "benchmarks" / "finalize" / "steps.c"
    counter = compiler(any_mpi, source, ["-shared", "-fPIC"])
    program = compiler.text(any_mpi, "late.c", PROGRAM)
    environment = {"LD_PRELOAD": str(counter)}
    steps = []
    for ranks in (2, 4, 8):
        lines = watch(any_mpi, ranks, [program], tmp_path, env=environment).done.stdout.splitlines()
        steps.append(max(int(line.split()[1]) for line in lines if line.startswith("messages")))
    assert steps[0] > 0
    assert [more - fewer for fewer, more in pairwise(steps)] == [steps[0]] * 2


def test_a_limit_of_file_sizes_ends_no_program(
    any_mpi: Mpi, haloscope: Path, compiler: Compiler, tmp_path: Path
) -> None:
    """The recorder prints why there is no profile, or `run` makes it of the live records."""
    program = compiler(any_mpi, CHECKOUT / "tests" / "hide" / "programs" / "limited.c", ["-Wall"])
    words = [haloscope, "run", "-o", "limited.halo", "--", *any_mpi.launch(2), program, "10", "0"]
    done = run_program([str(word) for word in words], env=any_mpi.environment(), cwd=tmp_path)
    assert done.stdout == "end\n"
    assert "File too large" in done.stderr or (tmp_path / "limited.halo").exists()
