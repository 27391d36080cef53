"""`haloscope simulate F.halo` of a run with a trace: what each rank did, in its order."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import haloscope
from haloscope import UsageError
from haloscope.predict.simulate import Simulation
from support.applications import Application
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import watch

pytestmark = pytest.mark.usefixtures("simgrid")

RANKS = 4
EXACT = ["path", "instances", "sends_total", "recvs_total", "bytes_sent_total", "bytes_recv_total"]
COLLECTIVE = ["path", "operation", "comm_size", "bytes", "calls"]
# Each rank sends before it receives, which needs buffers; then what SimGrid's traces have no words for.
ORDERS = """
#include <haloscope/region.h>
#include <mpi.h>

int main(int argc, char **argv) {
  int rank, size, one = 1, sum = 0, in[4] = {0};
  MPI_Comm half;
  MPI_Request requests[5];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < 10; i++) {
    HALOSCOPE_COMM_REGION_BEGIN("a ring/100 %");
    MPI_Send(&one, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    HALOSCOPE_COMM_REGION_END("a ring/100 %");
    MPI_Irecv(&in[1], 1, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[2], 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&one, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&one, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4]);
    MPI_Sendrecv(&one, 1, MPI_INT, next, 3, &in[3], 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Bcast(&one, 1, MPI_INT, 0, half);
  }
  MPI_Finalize();
  return 0;
}
"""


def rows(path: Path, table: str, columns: list[str]) -> list[tuple[object, ...]]:
    with haloscope.open(path) as profile:
        found = profile.table(table, exclusive=True)
        if "path" not in found.columns:
            found = found.rename({"region": "path"})
        return sorted(found.select(columns).iter_rows())


def test_a_trace_is_replayed_with_all_its_messages(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    mpi = any_mpi
    cg = Application.build(compiler, mpi, "cg").program
    words: list[str | Path] = [cg, *"--nx 8 --ny 8 --nz 8 --iterations 4".split()]
    recorded = watch(mpi, RANKS, words, tmp_path, options=["--trace"]).path
    ideal = Simulation(recorded, "torus", latency_factor=0, bandwidth_factor=float("inf"))
    simulated = ideal.run(tmp_path / "ideal.halo")
    for table, columns in (("regions", EXACT), ("collectives", COLLECTIVE)):
        assert rows(simulated, table, columns) == rows(recorded, table, columns)
    with haloscope.open(recorded) as profile, haloscope.open(simulated) as replayed:
        assert replayed.info["command"].startswith("trace of ")
        # The analysis replays the same on a network that takes no time, with a program of its own.
        span = replayed.table("ranks", region="<program>")["time"].max()
        assert span == pytest.approx(profile.table("pop")["ideal_time"][0], rel=0.02)


def test_programs_that_rely_on_buffers_end(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    mpi = any_mpi
    words: list[str | Path] = [compiler.text(mpi, "orders.c", ORDERS)]
    recorded = watch(mpi, RANKS, words, tmp_path, options=["--trace"]).path
    simulated = Simulation(recorded, "torus").run(tmp_path / "replayed.halo")
    with haloscope.open(recorded) as profile, haloscope.open(simulated) as replayed:
        ring = [of.table("partners", region="a ring/100 %", exclusive=True) for of in (profile, replayed)]
        exact = ["rank", "partner", "sends", "bytes_sent", "recvs", "bytes_recv"]
        first, second = (frame.select(exact).sort("rank", "partner") for frame in ring)
        assert first.equals(second)
        # SimGrid's traces have no such operations, so these are replayed as messages. Each of 10 rounds has
        # an Iallreduce of 4 ranks: 3 messages to the first rank, 3 from it. Each of two halves has an
        # Allreduce of 2 ranks (2 messages) and a Bcast of 2 ranks (1 message).
        more = 10 * (6 + 2 * 2 + 2 * 1)
        sends = [of.table("regions")["sends_total"][0] for of in (profile, replayed)]
        assert sends == [10 * RANKS * 4, 10 * RANKS * 4 + more]
        assert replayed.table("collectives").filter(pl.col("calls") > 0)["operation"].to_list() == []


def test_what_has_no_whole_trace(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    mpi = any_mpi
    words: list[str | Path] = [compiler.text(mpi, "orders.c", ORDERS)]
    recorded = watch(mpi, 2, words, tmp_path, options=["--trace"]).path
    # Of another number of ranks there is no trace: the pattern is scaled.
    scaled = Simulation(recorded, "torus", ranks=4).run(tmp_path / "scaled.halo")
    with haloscope.open(scaled) as profile:
        assert profile.info["command"].startswith("pattern of ")
    # One that lost events would wait for ever.
    lossy = {"HALOSCOPE_TRACE_SPOOL": str(tmp_path / "nowhere")}
    lost = watch(mpi, 2, words, tmp_path, options=["--trace"], env=lossy).path
    with pytest.raises(UsageError, match="events of its trace lost"):
        Simulation(lost, "torus").run(tmp_path / "never.halo")
