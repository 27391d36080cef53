"""Calls that are left by longjmp: later calls are not taken for calls inside of them."""

from __future__ import annotations

from pathlib import Path

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import program, watch

REGIONS = ("after send", "after post", "after collective", "in a coroutine")


def test_later_calls_are_counted(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    done = watch(any_mpi, 1, [program(compiler, any_mpi, "left_calls.c")], tmp_path)
    assert {region: done.region(region)["sends_total"] for region in REGIONS} == dict.fromkeys(REGIONS, 30)
    # What MPI's callbacks call is a part of the call.
    inside = {row["call"]: row["calls"] for row in done.select("calls", region="not left")}
    assert inside == {"MPI_Comm_dup": 1}
