"""`--trace`: every call, region and message, as the tables of the same profile count them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import haloscope
from haloscope.profile.trace import Trace
from support.mpi import Mpi
from support.programs import Compiler
from support.traced import check_trace, matched
from support.watched import program, watch

# Of a chain of ranks, each of which exchanges with its neighbours and then reduces, for a number of rounds.
CHAIN = """
#include <haloscope/region.h>
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  static double out[64], in[2][64];
  int rank, size, rounds = atoi(argv[1]);
  MPI_Comm same, half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  for (int i = 0; i < rounds; i++) {
    MPI_Request requests[4];
    int count = 0;
    HALOSCOPE_COMM_REGION_BEGIN("halo");
    for (int side = 0; side < 2; side++) {
      const int other = side == 0 ? rank - 1 : rank + 1;
      if (other < 0 || other >= size) continue;
      MPI_Irecv(in[side], 64, MPI_DOUBLE, other, side, MPI_COMM_WORLD, &requests[count++]);
      MPI_Isend(out, 8 * (rank + 1), MPI_DOUBLE, other, 1 - side, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    HALOSCOPE_COMM_REGION_END("halo");
    MPI_Allreduce(MPI_IN_PLACE, in, 1, MPI_DOUBLE, MPI_SUM, i % 2 ? same : MPI_COMM_WORLD);
    MPI_Bcast(out, 4, MPI_DOUBLE, 0, half);
  }
  MPI_Finalize();
  return 0;
}
"""
ROUNDS, RANKS = 20, 4


@pytest.fixture(scope="module")
def chain(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    command: list[str | Path] = [compiler.text(mpi, "chain.c", CHAIN), str(ROUNDS)]
    watched = watch(mpi, RANKS, command, tmp_path_factory.mktemp("chain"), options=["--trace"])
    with haloscope.open(watched.path) as profile:
        return check_trace(profile)


def test_messages_are_matched(chain: Trace) -> None:
    messages = matched(chain)
    assert len(messages) == ROUNDS * 2 * (RANKS - 1)
    assert messages.null_count().sum_horizontal().item() == 0
    assert (messages["bytes"] == messages["bytes_received"]).all()
    assert set(messages.select("source", "bytes").unique().rows()) == {
        (r, 64 * (r + 1)) for r in range(RANKS)
    }
    # One clock: nothing is complete before it was begun.
    begin = chain.calls["begin"].gather(messages["started"])
    end = chain.calls["end"].gather(messages["completed_received"])
    assert (end >= begin).all()


def test_requests_are_completed_by_the_wait_that_did_it(chain: Trace) -> None:
    for frame in (chain.receives, chain.sends):
        assert set(chain.calls["call"].gather(frame["started"]).unique()) <= {"MPI_Irecv", "MPI_Isend"}
    assert set(chain.calls["call"].gather(chain.receives["completed"]).unique()) == {"MPI_Waitall"}
    # Of the same round: each rank's waits are numbered as its messages are.
    waits = chain.calls.with_row_index("row").filter(pl.col("call") == "MPI_Waitall")
    for rank in range(RANKS):
        own = chain.receives.filter(pl.col("rank") == rank)
        rows = waits.filter(pl.col("rank") == rank)["row"].to_list()
        per_round = len(own) // ROUNDS
        assert own["completed"].to_list() == [row for row in rows for _ in range(per_round)]


def test_regions_and_paths(chain: Trace) -> None:
    names = dict(chain.paths.select("path", "name").iter_rows())
    assert {names[path] for path in chain.regions["path"].unique()} == {"halo"}
    assert chain.regions.group_by("rank").len().sort("rank")["len"].to_list() == [ROUNDS] * RANKS
    assert (chain.regions["end"] >= chain.regions["begin"]).all()
    waits = chain.calls.filter(pl.col("call") == "MPI_Waitall")
    pairs = zip(waits.iter_rows(named=True), chain.regions.iter_rows(named=True), strict=True)
    for wait, visit in pairs:
        assert visit["begin"] <= wait["begin"] <= wait["end"] <= visit["end"]


def test_communicators_are_told_apart(chain: Trace) -> None:
    ranks = dict(chain.communicators.select("communicator", "ranks").iter_rows())
    assert ranks[0] == [0, 1, 2, 3]
    # The halves are turned round; the copy of the world is not the world.
    assert sorted(map(tuple, ranks.values())) == [(0, 1, 2, 3), (0, 1, 2, 3), (2, 0), (3, 1)]
    used = chain.collectives.group_by("operation", "communicator").len()
    counts = {(row["operation"], tuple(ranks[row["communicator"]])): row["len"] for row in used.to_dicts()}
    assert counts["Bcast", (2, 0)] == counts["Bcast", (3, 1)] == 2 * ROUNDS


def test_collectives_have_numbers_and_roots(chain: Trace) -> None:
    reduced = chain.collectives.filter(pl.col("operation") == "Allreduce")
    groups = reduced.group_by("communicator", "number").len()
    assert set(groups["len"]) == {RANKS}
    assert len(groups) == ROUNDS
    spread = chain.collectives.filter(pl.col("operation") == "Bcast")
    assert set(spread.select("rank", "root").unique().rows()) == {(0, 2), (2, 2), (1, 3), (3, 3)}
    sent = spread.group_by("rank").agg(pl.col("bytes_sent", "bytes_received").sum()).sort("rank")
    assert sent.rows() == [(0, 0, 640), (1, 0, 640), (2, 640, 0), (3, 640, 0)]


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        *(("p2p", 2), ("completion", 2), ("persistent", 2), ("probes", 2), ("cancelled", 2)),
        *(("collectives", 2), ("neighbors", 4), ("regions", 2)),
    ],
)
def test_all_kinds_of_calls_are_in_the_trace(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, name: str, ranks: int
) -> None:
    watched = watch(any_mpi, ranks, [program(compiler, any_mpi, f"{name}.c")], tmp_path, options=["--trace"])
    with haloscope.open(watched.path) as profile:
        assert profile.has_trace
        trace = check_trace(profile)
    messages = matched(trace).filter(pl.col("source") >= 0)
    assert (messages["bytes"] >= messages["bytes_received"]).all()
    assert messages["started"].null_count() == 0


def test_threads_have_events_of_their_own(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    command = [program(compiler, mpi, "threads.c", ["-pthread"])]
    watched = watch(mpi, 2, command, tmp_path, options=["--trace"])
    with haloscope.open(watched.path) as profile:
        assert check_trace(profile).calls["thread"].n_unique() > 1


def test_times_of_a_compact_trace_are_right_to_a_hundredth(
    mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    command: list[str | Path] = [compiler.text(mpi, "chain.c", CHAIN), "200"]
    watched = watch(mpi, RANKS, command, tmp_path, options=["--trace-compact"])
    with haloscope.open(watched.path) as profile:
        trace = check_trace(profile)
        times = profile.frame("calls").group_by("call").agg(pl.col("time_total").sum())
    exact = dict(times.filter(pl.col("time_total") > 1e-6).iter_rows())
    spans = trace.calls.group_by("call").agg(((pl.col("end") - pl.col("begin")).sum() * 1e-9).alias("time"))
    for call, seconds in spans.iter_rows():
        if call in exact:
            assert exact[call] * 0.99 - 1e-6 <= seconds <= exact[call] * 1.001 + 1e-6


def test_without_the_option_there_is_none(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    watched = watch(mpi, 1, [program(compiler, mpi, "regions.c")], tmp_path)
    with haloscope.open(watched.path) as profile:
        assert not profile.has_trace
        with pytest.raises(haloscope.UsageError, match=r"has no trace; record the run with .*--trace"):
            profile.trace()
