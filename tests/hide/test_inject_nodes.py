"""`haloscope inject` on two emulated nodes: the link between them has its own latencies."""

from __future__ import annotations

from pathlib import Path

import polars

from support.cluster import Cluster
from support.mpi import Mpi
from support.programs import Compiler

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double now(void) { /* one clock for all nodes, which are emulated */
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 3; i++) {
    PMPI_Barrier(MPI_COMM_WORLD);
    double sent = now(), got;
    MPI_Sendrecv(&sent, 1, MPI_DOUBLE, (rank + 1) % size, 0, &got, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d %.6f\\n", rank, now() - got);
  }
  MPI_Finalize();
  return 0;
}
"""


def test_links_between_nodes_have_their_own_latencies(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    """A ring with two ranks per node: ranks 1 and 3 receive from their own node."""
    program = compiler.text(mpi, "ring.c", PROGRAM)
    options = ["--latency", "inter=constant:1s", "--no-collectives"]
    record = tmp_path / "injected.csv"
    done = two_nodes.run(
        mpi, [haloscope, "inject", *options, "-o", record, "--", *mpi.launch(4), program], cwd=tmp_path
    )
    times = [(int(rank), float(time)) for rank, time in map(str.split, done.stdout.splitlines())]
    assert len(times) == 12
    # The clocks of two nodes are compared by messages: the error is half of the fastest round trip.
    # That is far less than a second, even if ranks wait for a core.
    assert all(time > 0.1 for rank, time in times if rank in {0, 2}), times
    latencies = polars.read_csv(record, schema_overrides={"latency": polars.Float64})
    assert sorted(latencies["rank"]) == [1, 1, 1, 3, 3, 3]  # the senders to the other node
    assert latencies["link"].to_list() == ["inter"] * 6
    assert latencies["latency"].to_list() == [1.0] * 6
