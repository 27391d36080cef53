"""The tables of waiting, of programs that have run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl
import pytest

import haloscope as library
from haloscope.base.schema import shown_columns
from haloscope.explain._tables import TRACE_TABLES
from haloscope.explain.waiting import Analysis
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, watch

TWO = pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-wheel"], indirect=True)
ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
PROGRAM = Path(__file__).with_name("programs") / "latencies.c"
# Rank 1 is slow in a region; rank 0 waits for its message, and rank 2 for rank 0's.
LATE = """
#include <haloscope/region.h>
#include <mpi.h>
#include <time.h>

int main(int argc, char **argv) {
  const struct timespec slow = {0, 100000000};
  int rank, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  HALOSCOPE_REGION_BEGIN("work");
  if (rank == 1) nanosleep(&slow, NULL);
  HALOSCOPE_REGION_END("work");
  HALOSCOPE_REGION_BEGIN("pass");
  if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
  if (rank == 2) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  HALOSCOPE_REGION_END("pass");
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture
def late(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> Watched:
    program = compiler.text(mpi, "late.c", LATE)
    return watch(mpi, 3, [program], tmp_path, options=["--trace"])


@TWO
def test_a_late_rank_is_found_with_its_region(late: Watched) -> None:
    with library.open(late.path) as profile:
        pairs = profile.table("wait_pairs", region="pass").filter(pl.col("kind") == "late_sender")
        assert set(pairs.select("rank", "partner").rows()) == {(0, 1), (2, 0)}
        delays = profile.table("delays", exclusive=True)
        # Both wait for what rank 1 did in `work`: one for it, the other for one who waited for it.
        first = delays.sort("cost", descending=True).row(0, named=True)
        assert (first["region"], first["rank"]) == ("work", 1)
        assert first["share"] > 0.6
        assert first["direct"] == pytest.approx(first["indirect"], rel=0.3)
        path = profile.table("critical_path", exclusive=True).filter(pl.col("region") == "work")
        times = dict(path.group_by("rank").agg(pl.col("time").sum()).iter_rows())
        assert times[1] > 0.9 * sum(times.values())
        row = profile.table("tolerance", region="pass").row(0, named=True)
        assert row["without_waiting"] <= row["run_time"]
        assert row["latencies"] == 2


@ONE
def test_tables_agree_with_each_other(late: Watched, haloscope: Path) -> None:
    with library.open(late.path) as profile:
        waits, pairs = (profile.table(name, region="<program>") for name in ("waits", "wait_pairs"))
        for kind, time in pairs.group_by("kind").agg(pl.col("time").sum()).iter_rows():
            assert waits.filter(pl.col("kind") == kind)["time_total"].sum() == pytest.approx(time)
        assert waits["share"].sum() == pytest.approx(1)
        assert profile.table("delays", region="<program>")["cost"].sum() == pytest.approx(pairs["time"].sum())
        path = profile.table("critical_path", region="<program>")
        assert path["share"].sum() == pytest.approx(1)
        pop = profile.table("pop").row(0, named=True)
        assert pop["parallel"] == pytest.approx(
            pop["load_balance"] * pop["serialisation"] * pop["transfer"], rel=1e-9
        )
        assert pop["run_time"] == pytest.approx(path["time"].sum())
        for name in TRACE_TABLES:
            assert profile.table(name).columns == shown_columns(name)
        assert profile.remarks("waits") == []
    for name in TRACE_TABLES:
        command = [haloscope, "show", late.path, "--table", name]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
        assert done.stdout.strip()
        assert done.stderr == ""


@ONE
def test_without_a_trace_tables_are_empty_and_say_why(
    mpi: Mpi, compiler: Compiler, tmp_path: Path, haloscope: Path
) -> None:
    watched = watch(mpi, 3, [compiler.text(mpi, "late.c", LATE)], tmp_path)
    for name in TRACE_TABLES:
        assert watched.rows(name) == []
        command = [str(haloscope), "show", str(watched.path), "--table", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr.count("\n") == 1
        assert "haloscope run --trace" in done.stderr


@pytest.mark.alone
@ONE
def test_a_trace_foretells_runs_with_more_latency(
    mpi: Mpi, compiler: Compiler, tmp_path: Path, haloscope: Path
) -> None:
    """A smaller version of benchmarks/explain/latency.py, with room for a busy machine."""
    program = compiler(mpi, PROGRAM)
    watched = watch(mpi, 4, [program, "10", "40000"], tmp_path, options=["--trace"])

    def analysis(path: Path) -> Analysis:
        with library.open(path) as profile:
            return Analysis(profile.trace(), is_tree=False)

    base = analysis(watched.path)
    foretold = base.run_time_with(0.2)
    slopes = []
    for latency in (0.05, 0.2):
        after = tmp_path / f"{latency}.halo"
        words = [haloscope, "inject", "--latency", f"constant:{latency * 1e3:g}ms", "--", haloscope, "run"]
        command = [*words, "--trace", "-o", after, "--", *mpi.launch(4), program, "10", "40000"]
        subprocess.run(
            [*map(str, command)], env=mpi.environment(), check=True, capture_output=True, timeout=200
        )
        slopes.append(analysis(after).run_time)
        assert slopes[-1] == pytest.approx(foretold.at(latency), rel=0.15)
    assert slopes[1] > slopes[0] > base.run_time
