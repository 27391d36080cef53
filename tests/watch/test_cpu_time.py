"""The CPU time of regions: known for those that last, and not read in short ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import program, watch


def test_cpu_time_of_regions(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Sleeping takes no CPU time. `compute` ends when the thread has used 20 ms more."""
    executable = program(compiler, mpi, "cpu_time.c", ["-rdynamic"])
    watched = watch(mpi, 2, [executable], tmp_path)
    for rank in range(2):
        used = {row["region"]: row for row in watched.select("ranks", exclusive=False, rank=rank)}
        assert used["sleep"]["time"] >= 0.15
        assert 0 <= used["sleep"]["cpu_time"] < 0.1 * used["sleep"]["time"]
        assert 0.06 <= used["compute"]["cpu_time"] <= used["compute"]["time"]
        assert used["short"]["cpu_time"] is None
        nested = used["sleep"]["cpu_time"] + used["compute"]["cpu_time"]
        assert nested <= used["all"]["cpu_time"] <= used["<program>"]["cpu_time"] <= used["<program>"]["time"]
        (alone,) = watched.select("ranks", exclusive=True, rank=rank, region="<program>")
        assert 0 <= alone["cpu_time"] <= alone["time"]
        # What is in `short` is not known.
        assert watched.select("ranks", exclusive=True, rank=rank, region="all")[0]["cpu_time"] is None
    means = watched.region("all/compute")
    assert means["cpu_time_mean"] == pytest.approx(
        sum(row["cpu_time"] for row in watched.select("ranks", region="compute")) / 2
    )


def test_short_regions_have_no_system_calls(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Only the first of 20000 instances, and those after a long interruption of the thread."""
    executable = program(compiler, mpi, "cpu_time.c", ["-rdynamic"])
    watched = watch(mpi, 1, [executable], tmp_path)
    asked = int(watched.done.stdout.split("asked ")[1].split()[0])
    assert 1 <= asked < 2000
