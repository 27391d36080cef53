"""Settings reach ranks on other nodes, which inherit nothing from the launcher's."""

from __future__ import annotations

from pathlib import Path

import pytest

import haloscope as api
from support.cluster import Cluster
from support.mpi import Mpi
from support.programs import Compiler

PROGRAM = """
#include <haloscope/region.h>
#include <mpi.h>
int main(int argc, char **argv) {
  int rank, size, next, got;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  HALOSCOPE_REGION_BEGIN("a;b c,d");
  MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  HALOSCOPE_REGION_END("a;b c,d");
  MPI_Finalize();
  return 0;
}
"""


# Open MPI 4 refuses its list together with -x; hydra's option passes on only the names that follow.
NETWORK = ["-genv", "MPIR_CVAR_CH4_NETMOD", "ofi", "-genv", "FI_PROVIDER", "tcp"]
OPTIONS = {"openmpi": ["-x", "PATH"], "mpich": ["-genvnone", *NETWORK]}


@pytest.mark.parametrize("case", ["plain", "semicolons", "options"])
def test_ranks_on_other_nodes_are_watched(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path, case: str
) -> None:
    """Also where the launcher's own options, or a semicolon, rule out Open MPI's list."""
    options = OPTIONS[mpi.abi] if case == "options" else []
    series = ["plain", "a;b c,d"] if case == "semicolons" else ["plain"]
    profile = tmp_path / ("a;b.halo" if case == "semicolons" else "two nodes, one run.halo")
    launcher, *count = mpi.launch(4)
    program = compiler.text(mpi, "ring.c", PROGRAM)
    two_nodes.run(
        mpi,
        [haloscope, "run", "-o", profile, "--series", *series, "--", launcher, *options, *count, program],
        cwd=tmp_path,
    )
    with api.open(profile) as opened:
        ranks, kept = opened.table("ranks"), opened.table("series")
    program_rows = ranks.filter(ranks["region"] == "<program>")
    assert program_rows["sends"].to_list() == [1] * 4
    assert program_rows["host"].n_unique() == 2
    assert sorted(kept["rank"].to_list()) == ([0, 1, 2, 3] if case == "semicolons" else [])
