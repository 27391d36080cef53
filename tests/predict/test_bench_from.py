"""`haloscope bench collective F.halo`: what a program used, as often as it used it in proportion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from haloscope.predict.bench import CollectivePoint as Point
from haloscope.predict.bench import Sweep, Workload, read_workload, workload_text
from support.command import Command
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import watch

# 60 and 30 times on pairs, of which there are two; the others are among all four.
PROGRAM = """
#include <mpi.h>
static char from[65536], to[65536];
int main(int argc, char **argv) {
  int rank, counts[4], places[4], given[4];
  MPI_Comm pairs;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pairs);
  for (int i = 0; i < 4; ++i) {
    counts[i] = 1000 + 100 * rank;
    given[i] = 1000 + 100 * i;
    places[i] = 8192 * i;
  }
  for (int i = 0; i < 90; ++i)
    MPI_Allreduce(from, to, i % 3 ? 2 : 128, MPI_DOUBLE, MPI_SUM, pairs);
  for (int i = 0; i < 20; ++i)
    MPI_Scatter(from, 96, MPI_CHAR, to, 96, MPI_CHAR, 3, MPI_COMM_WORLD);
  for (int i = 0; i < 6; ++i)
    MPI_Alltoallv(from, counts, places, MPI_CHAR, to, given, places, MPI_CHAR, MPI_COMM_WORLD);
  MPI_Scan(from, to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""
CALLS = {
    Point("allreduce", 2, 16): 4 * 60,
    Point("allreduce", 2, 1024): 4 * 30,
    Point("scatter", 4, 96): 4 * 20,
    Point("alltoallv", 4, 1150): 4 * 6,  # the mean of what ranks have for another
}


def test_what_a_program_used(command: Command, any_used: Mpi, tmp_path: Path, compiler: Compiler) -> None:
    profile = watch(any_used, 4, [compiler.text(any_used, "uses.c", PROGRAM)], tmp_path).path
    work = read_workload(profile, 1.0)
    assert dict(work.calls) == CALLS
    assert list(work.other) == ["Scan"]
    # 120 and 60 on pairs, 20 and 6: in proportion, but ten at least.
    often = dict(zip(CALLS, (60, 30, 10, 10), strict=True))
    assert work.iterations(60) == often
    assert work.iterations(1000)[Point("allreduce", 2, 16)] == 120

    # What takes a hundredth of the time may be left out, and which calls these are is chance.
    longest = read_workload(profile)
    used_most = max(longest.calls, key=lambda point: longest.seconds[point]).collective
    asked = ("bench", "collective", str(profile), "-i", "60", "-x", "6", "--algorithm", "default")
    done = command(*asked, used_most, "-o", "s.jsonl")
    assert "measured alone" in done.stderr.splitlines()[-1]
    found = {
        Point(row["collective"], row["ranks"], row["bytes"]): (row["status"], row["iterations"])
        for row in Sweep.read(tmp_path / "s.jsonl").points.to_dicts()
    }
    expected = longest.iterations(60)
    assert found == {p: ("ok", expected[p]) for p in expected if p.collective == used_most}
    for words, said in (
        (("bcast", *asked[2:]), "the program does not call it; it calls"),
        ((*asked[2:], "-m", "8"), "leave out -n and -m"),
        (("-n", "2"), "COLLECTIVE"),
    ):
        refused = command("bench", "collective", *words, status=2)
        assert said in refused.stderr


def test_a_program_s_time_is_that_of_its_calls() -> None:
    small, large = Point("bcast", 4, 8), Point("bcast", 4, 4096)
    work = Workload({small: 40, large: 4}, {small: 2.0, large: 1.0}, {"Scan": 0.25}, 0.5)

    def row(point: Point, name: str, median: float, status: str = "ok") -> dict[str, Any]:
        place = {"collective": point.collective, "ranks": point.ranks, "bytes": point.bytes}
        return {**place, "algorithm": name, "median": median, "status": status}

    points = [row(small, "default", 0.01), row(small, "chain", 0.02), row(large, "default", 0.1)]
    points += [row(large, "chain", 0.05), row(large, "pipeline", 0.01, "failed")]
    text = workload_text(work, pl.DataFrame(points))
    assert text.startswith("time of all ranks in the program 3.00 s,")
    assert "alone 800 ms with the library's own choice, 600 ms with" in text
    assert text.endswith("750 ms in other collectives")
    # Where the library's own choice failed, nothing is compared.
    text = workload_text(work, pl.DataFrame(points[:2] + points[3:]))
    assert "alone 400 ms with the library's own choice, 400 ms with" in text
    assert text.endswith("1.75 s in other collectives")
