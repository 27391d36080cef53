"""Clocks of several machines, each off and at a rate of its own: a trace has one."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl

import haloscope
from haloscope.profile.trace import Trace
from support.mpi import Mpi
from support.programs import Compiler
from support.traced import check_trace, matched
from support.watched import program, watch

RANKS, ROUNDS = 3, 400
OFFSETS = (0, -400_000_000_000, 250_000_000_000)  # nanoseconds: far more than a rank waits for a core
RATES = (4_000_000, 0, 8_000_000)  # in a million
# A ring, in which everybody waits for the one before; some rounds take longer. The last rank ends last.
RING = """
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int rank, size, out = 1, in = 0, rounds = atoi(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < rounds; i++) {
    MPI_Request request;
    if (i % 4 == 0 && rank == i / 4 % size) usleep(3000);
    MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank == size - 1) usleep(20000);
  MPI_Finalize();
  return 0;
}
"""


def planted(mpi: Mpi, compiler: Compiler, directory: Path, **environment: str) -> Path:
    """The profile of a ring whose ranks have such clocks: nobody is called late."""
    clock = program(compiler, mpi, "planted_clock.c", ["-shared", "-fPIC", "-O2", "-ldl"])
    ring = compiler.text(mpi, "ring.c", RING)
    environment["LD_PRELOAD"] = str(clock)
    watched = watch(mpi, RANKS, [ring, str(ROUNDS)], directory, options=["--trace"], env=environment)
    assert "did not come" not in watched.done.stderr
    return watched.path


def transits(trace: Trace) -> pl.DataFrame:
    """Nanoseconds from each message's send (its begin) to what completed its receive (its end), by source."""
    messages = matched(trace)
    begin = trace.calls["begin"].gather(messages["started"])
    end = trace.calls["end"].gather(messages["completed_received"])
    return messages.select("source", transit=end - begin)


def test_clocks_that_are_off_and_drift_become_one(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    texts = {name: ",".join(map(str, of)) for name, of in (("OFFSETS", OFFSETS), ("RATES", RATES))}
    begun = time.monotonic()
    path = planted(mpi, compiler, tmp_path, **{f"PLANTED_{name}": text for name, text in texts.items()})
    elapsed = time.monotonic() - begun
    with haloscope.open(path) as profile:
        # Tables have the seconds of each rank, the trace those of rank 0: how these two compare depends on
        # how long ranks waited between the two measurements of the clocks. Calls are compared, times are not.
        trace = check_trace(profile, within=float("inf"))
        clocks = profile.table("clocks")
    assert clocks["machine"].to_list() == [0, 1, 2]
    for rank in (1, 2):
        rate, offset = (RATES[rank] - RATES[0]) * 1e-6, OFFSETS[rank] * 1e-9
        # The clocks drift apart for as long as the program runs at most. With the error of a round trip it
        # may be twice that.
        drift = (clocks["offset_end"] - clocks["offset_begin"])[rank] / -rate
        assert 0 < drift < 2 * elapsed
        # So is the rest of the first offset, in addition to the planted one.
        assert abs(clocks["offset_begin"][rank] + offset) < 2 * elapsed * abs(rate)
    between = transits(trace)
    assert len(between) == RANKS * ROUNDS
    assert between["transit"].min() >= 0  # type: ignore[operator]
    # The quickest message between two of them takes far less than their clocks are apart.
    quickest = between.group_by("source").agg(pl.col("transit").min())["transit"]
    assert max(quickest) < 0.2 * min(abs(offset) for offset in OFFSETS[1:])
    assert clocks["shift"].abs().max() < 0.2 * min(abs(offset) for offset in OFFSETS[1:]) * 1e-9  # type: ignore[operator]


def test_a_clock_that_jumps_back_harms_nobody(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    path = planted(mpi, compiler, tmp_path, PLANTED_BACK="1200000")
    with haloscope.open(path) as profile:
        trace = profile.trace()
        clocks = profile.table("clocks")
        assert profile.frame("ranks")["sends"].sum() == len(trace.sends) == RANKS * ROUNDS
    assert transits(trace)["transit"].min() >= 0  # type: ignore[operator]
    assert (trace.calls["end"] >= trace.calls["begin"]).all()
    for _, calls in trace.calls.group_by("rank", "thread", maintain_order=True):
        assert (calls["begin"] >= calls["end"].shift(1).fill_null(calls["begin"][0])).all()
    assert (clocks["moved"] >= 0).all()
