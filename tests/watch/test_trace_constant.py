"""What a program did takes the same room in its trace for few iterations as for many."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import haloscope
from haloscope.profile.trace import Trace
from support.applications import Application
from support.mpi import Mpi
from support.programs import Compiler
from support.traced import check_trace
from support.watched import watch

# `cg` waits for all messages of an exchange, `sweep` takes them as they come (MPI_Waitsome).
CG = ["--nx", "8", "--ny", "8", "--nz", "8", "--iterations"]
SWEEP = ["--procs", "2,2,2", "--zones", "4,4,4", "--groups", "2", "--gset", "2", "--niter"]
BY_TIME = ("trace_words", "trace_pieces", "trace_orders")
PART, AS_POSTED = 4, 11  # kind and action of a symbol: a receive that completed as it was posted


def structure(
    program: Path, mpi: Mpi, ranks: int, words: list[str], to: Path
) -> tuple[Trace, pl.DataFrame, int]:
    """A trace that agrees with its tables, the symbols of all structures, and the bytes of the structure."""
    watched = watch(mpi, ranks, [program, *words], to, options=["--trace"])
    with haloscope.open(watched.path) as profile:
        trace = check_trace(profile)
        symbols = profile.frame("trace_symbols").drop("structure")
        size = sum(
            chunk.size
            for table, columns in profile.file.tables.items()
            if table.startswith("trace_") and table not in BY_TIME
            for column in columns.values()
            for chunk in column.chunks
        )
    return trace, symbols, size


# With 27 ranks one in the middle has 26 neighbours: a few iterations take more rules than short sequences,
# which are kept as rules in any case. Six iterations are enough, four are not.
@pytest.mark.parametrize("ranks", [8, pytest.param(27, marks=pytest.mark.long)])
def test_many_iterations_have_the_structure_of_few(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, ranks: int
) -> None:
    cg = Application.build(compiler, any_mpi, "cg").program
    few, many = (structure(cg, any_mpi, ranks, [*CG, count], tmp_path) for count in ("6", "36"))
    assert len(many[0].calls) > 5 * len(few[0].calls)
    assert many[1].equals(few[1])
    assert abs(many[2] - few[2]) <= 0.02 * few[2]


@pytest.mark.parametrize(("few", "many"), [("10", "30"), pytest.param("100", "520", marks=pytest.mark.long)])
def test_the_order_of_messages_adds_few_symbols(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, few: str, many: str
) -> None:
    """Which receive completes when is a matter of time, so a short run need not have seen all that can be.

    A symbol of such a completion has nothing but how many requests the rank had begun since: at most those
    of one iteration.
    """
    sweep = Application.build(compiler, any_mpi, "sweep").program
    least, most = (structure(sweep, any_mpi, 8, [*SWEEP, count], tmp_path) for count in (few, many))
    is_completion = (pl.col("kind") == PART) & (pl.col("action") == AS_POSTED)
    others = (run[1].filter(~is_completion).drop("symbol").unique() for run in (least, most))
    first, other = (symbols.sort(symbols.columns) for symbols in others)
    assert len(first) > 0
    assert first.equals(other)
    for (trace, symbols, _), iterations in ((least, few), (most, many)):
        requests = trace.calls.filter(pl.col("call").cast(pl.String).is_in(["MPI_Isend", "MPI_Irecv"]))
        by_iteration = requests.group_by("rank").len()["len"].max()
        assert isinstance(by_iteration, int)
        completions = symbols.filter(is_completion)
        assert len(completions) > 0
        assert completions["request"].max() <= by_iteration // int(iterations)  # type: ignore[operator]
