"""Campaigns for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from textwrap import indent
from typing import Any

Written = Callable[[str], Path]
# Programs that need no MPI.
BASE = """
campaign: tried
systems:
  here: {cores: 64, launch: ""}
programs:
  told:
    command: /bin/sh -c 'echo "ranks=$0 time=$1"' {ranks} {ranks/8}
    figures: {time: "time=([0-9.]+)"}
variants:
  plain: {watch: false}
"""
# A ring of messages with a number of values each, after a number of seconds, if asked.
RING = """
#include <haloscope/region.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, count = atoi(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double *data = calloc(count, sizeof *data), *other = calloc(count, sizeof *data);
  if (argc > 2) sleep(atoi(argv[2]));
  HALOSCOPE_COMM_REGION_BEGIN("halo");
  MPI_Sendrecv(data, count, MPI_DOUBLE, (rank + 1) % size, 0, other, count, MPI_DOUBLE,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  HALOSCOPE_COMM_REGION_END("halo");
  if (rank == 0) printf("moved %d\\n", size * count);
  return MPI_Finalize();
}
"""
# A workspace of Ramble, as Benchpark writes them: a process grid and a rank's zones as zipped lists, their
# product as number of ranks; three experiments of three points for each of two workloads.
_EXPERIMENTS = """
          solver_throughput_{n_nodes}_{px}_{py}_{pz}_{nx}_{ny}_{nz}:
            variants: {package_manager: spack}
            variables:
              p: 2
              px: '{p}'
              py: '{p}'
              pz: '{p}'
              nx: ['4', '8', '8']
              ny: ['4', '4', '8']
              nz: ['4', '4', '4']
              n_ranks: '{px}*{py}*{pz}'
              n_threads_per_proc: '1'
              omp_num_threads: '{n_threads_per_proc}'
              env_name: solver-omp
          solver_strong_{n_nodes}_{px}_{py}_{pz}_{nx}_{ny}_{nz}:
            variables:
              px: ['2', '4', '4']
              py: ['2', '2', '4']
              pz: ['2', '2', '2']
              nx: '4'
              ny: '4'
              nz: '4'
              n_ranks: '{px}*{py}*{pz}'
          solver_weak_{n_nodes}_{px}_{py}_{pz}_{nx}_{ny}_{nz}:
            env_vars: {set: {OMP_NUM_THREADS: '{px}'}}
            variables:
              px: ['2', '4', '4']
              py: ['2', '2', '4']
              pz: ['2', '2', '2']
              nx: ['4', '8', '8']
              ny: ['4', '4', '8']
              nz: ['4', '4', '4']
              n_ranks: '{px}*{py}*{pz}'
"""
WORKSPACE = f"""
ramble:
  include:
  - ./configs/variables.yaml
  config: {{deprecated: true}}
  modifiers:
  - name: allocation
  applications:
    solver:
      workloads:
        laplace:
          experiments: {indent(_EXPERIMENTS, "  ")}
        jumps:
          experiments: {indent(_EXPERIMENTS, "  ")}
  software: {{packages: {{}}, environments: {{}}}}
"""


def events(directory: Path) -> list[dict[str, Any]]:
    """Return what a campaign's journal has noted, without lines that a kill cut off."""
    found = []
    for line in (directory / "journal.jsonl").read_text("utf-8").splitlines():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found
