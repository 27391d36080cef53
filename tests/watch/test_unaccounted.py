"""What moves data unseen is named in `info`, with its number of calls; what does not is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


READS = {
    "openmpi": ("read", "read_at", "read_at_all"),  # version 4.1 does not return from the others
    "mpich": ("read", "read_at", "read_all", "read_at_all", "split", "iread", "iread, test"),
}


@pytest.mark.parametrize("options", [[], ["--trace"]])
def test_reads_count_what_the_file_had(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, options: list[str]
) -> None:
    """A thousand numbers are asked for, ten are there."""
    executable = program(compiler, any_mpi, "short_reads.c")
    for kind in READS[any_mpi.abi]:
        watched = watch(any_mpi, 1, [executable, tmp_path / "file", kind], tmp_path, options=options)
        assert watched.done.stdout == "10\n"
        row = watched.region("read")
        assert (row["io_ops_total"], row["io_bytes_total"]) == (1, 40), kind
        assert watched.region("write")["io_bytes_total"] == 40
        # A request's bytes belong to the call that completes it, as those of a message do.
        assert sum(row["bytes"] for row in watched.select("calls", region="read")) == 40
