"""Threads, communicators and graphs that come and go: counts are exact, and memory does not grow."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.mpi import NO_YIELD, Mpi
from support.programs import Compiler
from support.watched import Watched, program, watch

pytestmark = pytest.mark.long

MANY = 100_000  # of each kind, one at a time
# KiB after the first tenth. One allocation of malloc per object takes 32 bytes: 2812 KiB for the others.
MOST_GROWTH = 2000
FEW = {"HALOSCOPE_MEMORY": "1"}  # MiB for all records of a rank


def read_growth(done: subprocess.CompletedProcess[str]) -> int:
    (grown,) = (int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("grew"))
    return grown


def check_memory(done: Watched, bare: subprocess.CompletedProcess[str]) -> None:
    """Compare with a bare run of a tenth of the length: MPICH 5 keeps 150 bytes for each ended thread."""
    assert 0 <= read_growth(done.done) < 10 * read_growth(bare) + MOST_GROWTH
    assert done.info["dropped"] == "0"


def test_many_threads(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    built = program(compiler, mpi, "short_threads.c", ["-pthread"])
    done = watch(mpi, 1, [built, str(MANY)], tmp_path, env=FEW)
    task = done.region("task")
    assert (task["instances"], task["sends_total"], task["sends_instance_max"]) == (MANY, 10 * MANY, 10)
    assert (task["recvs_total"], done.info["unmatched_begins"]) == (10 * MANY, "0")
    check_memory(done, mpi.run(1, [built, str(MANY // 10)]))


def test_many_communicators_and_graphs(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    built = program(compiler, mpi, "many_communicators.c")
    done = watch(mpi, 1, [built, str(MANY)], tmp_path, env=FEW | NO_YIELD)
    for region in ("twins", "names", "line"):
        row = done.region(region)
        assert (row["sends_total"], row["recvs_total"], row["colls_total"]) == (MANY,) * 3
    assert done.region("graphs")["colls_total"] == MANY
    assert sum(row["calls"] for row in done.rows("communicators")) == 6 * MANY + MANY
    check_memory(done, mpi.run(1, [built, str(MANY // 10)]))
