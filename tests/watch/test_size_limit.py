"""HALOSCOPE_SIZE_LIMIT: rows that are left out of a large profile, and rows that never are."""

from __future__ import annotations

from pathlib import Path

import pytest

import haloscope
from haloscope.explain import summary
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import program, watch

COUNT = 400_000  # instances on each of two ranks: more than a MiB


@pytest.fixture
def many(any_mpi: Mpi, compiler: Compiler) -> list[Path | str]:
    return [program(compiler, any_mpi, "many_instances.c"), str(COUNT), "irregular"]


def test_what_does_not_fit_is_left_out(any_mpi: Mpi, many: list[Path | str], tmp_path: Path) -> None:
    limit = {"HALOSCOPE_SIZE_LIMIT": "1"}
    watched = watch(any_mpi, 2, many, tmp_path, options=["--series", "instant"], env=limit)
    assert watched.path.stat().st_size < 1 << 20
    assert watched.rows("series") == []
    # Every instance, and what says whose they are: a row for each rank.
    assert watched.info["rows_left_out"] == str(2 * COUNT + 2)
    assert watched.region("instant")["instances"] == COUNT
    assert watched.calls("MPI_Barrier", "<program>") == 4
    # Later tables have room.
    slices = watched.rows("slices")
    assert [sum(row["colls"] for row in slices if row["rank"] == rank) for rank in (0, 1)] == [2, 2]
    with haloscope.open(watched.path) as profile:
        assert f"{2 * COUNT + 2} rows left out (HALOSCOPE_SIZE_LIMIT)" in summary(profile)


def test_what_fits_stays(any_mpi: Mpi, many: list[Path | str], tmp_path: Path) -> None:
    limit = {"HALOSCOPE_SIZE_LIMIT": "100"}
    watched = watch(any_mpi, 2, many, tmp_path, options=["--series", "instant"], env=limit)
    assert watched.path.stat().st_size > 1 << 20
    assert watched.info["rows_left_out"] == "0"
    with haloscope.open(watched.path) as profile:
        assert len(profile.table("series")) == 2 * COUNT
