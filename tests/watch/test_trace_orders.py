"""Receives that complete in any order: what a program did takes no more room for that."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl

import haloscope
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import program, watch

KINDS, ROUNDS = 4, 24 * 24
PART = 4
COMPLETES = (8, 11)


def test_symbols_are_as_many_as_receives_under_way(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watch(mpi, 2, [program(compiler, mpi, "orders.c")], tmp_path, options=["--trace"])
    with haloscope.open(run.path) as profile:
        trace, symbols = profile.trace(), profile.frame("trace_symbols")
    came = trace.receives.filter((pl.col("rank") == 0) & (pl.col("partner") == 1))
    sizes = Counter(came.select("tag", "bytes").iter_rows())
    assert sizes == {(tag, 4 * (tag + 1)): ROUNDS for tag in range(KINDS)}
    waits = trace.calls.filter(pl.col("call").cast(pl.String) == "MPI_Waitany")
    assert Counter(waits["bytes"]) == {4 * (tag + 1): ROUNDS for tag in range(KINDS)}
    completing = symbols.filter((pl.col("kind") == PART) & pl.col("action").is_in(COMPLETES))
    assert len(completing) == KINDS  # with partner, tag and size of each it would be 16
