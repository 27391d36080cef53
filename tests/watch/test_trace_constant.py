"""What a program did takes as much room in its trace for few iterations as for many."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import haloscope
from haloscope.base.building import build_application
from haloscope.explain.trace import Trace
from support.mpi import Mpi
from support.traced import check_trace
from support.watched import watch

# `sweep` takes messages as they come (MPI_Waitsome), `cg` waits for all of an exchange.
CASES = {
    "cg": ["--nx", "8", "--ny", "8", "--nz", "8", "--iterations"],
    "sweep": ["--procs", "2,2,2", "--zones", "4,4,4", "--groups", "2", "--gset", "2", "--niter"],
}
# Few and many; of `sweep` more than the shortest sequences have, which are kept as rules in any case.
ITERATIONS = {"cg": (6, 40), "sweep": (100, 520)}
# Of `cg` so many that one in the middle has 26 neighbours: a few iterations take more rules than short
# sequences have.
RANKS = {"cg": 27, "sweep": 8}
BY_TIME = ("trace_words", "trace_pieces", "trace_orders")


def structure(path: Path) -> tuple[Trace, pl.DataFrame, int]:
    """A trace that agrees with its tables, the symbols of all structures, and the bytes of the structure."""
    with haloscope.open(path) as profile:
        trace = check_trace(profile)
        symbols = profile.frame("trace_symbols").drop("structure")
        size = sum(
            chunk.size
            for name, columns in profile.file.tables.items()
            if name.startswith("trace_") and name not in BY_TIME
            for column in columns.values()
            for chunk in column.chunks
        )
    return trace, symbols, size


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
@pytest.mark.parametrize("case", CASES)
def test_many_iterations_have_the_structure_of_few(mpi: Mpi, case: str, tmp_path: Path) -> None:
    program = build_application(case, quiet=True)
    few, many = (
        structure(
            watch(mpi, RANKS[case], [program, *CASES[case], str(count)], tmp_path, options=["--trace"]).path
        )
        for count in ITERATIONS[case]
    )
    assert len(many[0].calls) > 5 * len(few[0].calls)
    if case == "cg":
        assert many[1].equals(few[1])
        assert abs(many[2] - few[2]) <= 0.02 * few[2]
    else:
        # Whether messages come in an order that repeats differs from run to run. Then the structure has it,
        # and symbols are numbered as they come first.
        one, other = (symbols.drop("symbol") for symbols in (few[1], many[1]))
        assert one.sort(one.columns).equals(other.sort(other.columns))
        assert abs(many[2] - few[2]) <= 0.25 * few[2]
