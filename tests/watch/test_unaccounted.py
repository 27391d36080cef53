"""What moves data unseen is named in `info`, with its number of calls; what does not is not."""

from __future__ import annotations

import json
from pathlib import Path

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, program, watch

RANKS = 2
# MPI_Win_shared_query for each rank of the world.
EVERYWHERE = {
    "MPI_Grequest_start": 3 * RANKS,
    "MPI_Win_allocate_shared": RANKS,
    "MPI_Win_shared_query": RANKS * RANKS,
}
BEYOND = {"MPIX_Grequest_start": RANKS}


def test_what_is_not_counted_is_named(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    command = [program(compiler, mpi, "unaccounted.c"), tmp_path / "file"]
    watched = watch(mpi, RANKS, command, tmp_path)
    beyond = BEYOND if mpi.name == "mpich-wheel" else {}
    assert json.loads(watched.info["unaccounted"]) == EVERYWHERE | beyond
    for region in ("own", "beyond"):
        assert watched.traffic(region) == Traffic()
    assert watched.traffic("harmless").sends == RANKS
    files = watched.region("files")
    assert (files["io_ops_total"], files["io_bytes_total"]) == (2 * RANKS, 24 * RANKS)
