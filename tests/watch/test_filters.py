"""`--only`, HALOSCOPE_AFTER and HALOSCOPE_UNTIL: recorded events, and events that are left out."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

# What each region itself sends, on each of two ranks; what c/b sends last arrives in c.
SENDS = {"<program>": 100, "a": 31, "a/b": 5, "c": 1000, "c/b": 3, "c/b/d": 0}


@pytest.fixture
def filters(any_mpi: Mpi, compiler: Compiler) -> Path:
    return program(compiler, any_mpi, "filters.c")


def counted(watched: Watched, name: str) -> dict[str, int]:
    """A quantity of the regions themselves, summed over ranks, where there is any."""
    rows = watched.rows("regions", exclusive=True)
    return {row["path"]: row[name] for row in rows if row[name]}


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (["b"], ["a/b", "c/b"]),
        (["c/b"], ["c/b"]),
        (["a"], ["a", "a/b"]),
        (["a", "d"], ["a", "a/b"]),
        (["nowhere", "b/c"], []),
        (["c", "b"], ["a/b", "c", "c/b"]),
    ],
)
def test_only_some_regions(
    any_mpi: Mpi, filters: Path, tmp_path: Path, only: list[str], expected: list[str]
) -> None:
    options = [word for name in only for word in ("--only", name)]
    watched = watch(any_mpi, 2, [filters], tmp_path, options=options)
    assert counted(watched, "sends_total") == {path: 2 * SENDS[path] for path in expected}
    within = any(name in only for name in ("b", "c/b", "d", "c"))
    assert counted(watched, "colls_total") == ({"c/b/d": 2} if within else {})
    inclusive = sum(2 * SENDS[path] for path in expected)
    assert watched.region("<program>")["sends_total"] == inclusive
    # All other tables say the same.
    assert sum(row["sends"] for row in watched.rows("partners", exclusive=True)) == inclusive
    assert sum(row["sends"] for row in watched.rows("slices")) == inclusive
    calls = [row for row in watched.rows("calls", exclusive=True) if row["call"] != "MPI_Allreduce"]
    posts = [row for row in calls if row["call"] in {"MPI_Sendrecv", "MPI_Isend"}]
    assert sum(row["calls"] for row in posts) == inclusive
    assert {row["call"] for row in calls} <= {"MPI_Sendrecv", "MPI_Isend", "MPI_Recv", "MPI_Wait"}
    # Where and when the others were is still known.
    assert {row["path"] for row in watched.rows("regions")} == set(SENDS)
    assert watched.region("a/b")["instances"] == 1
    assert watched.info["only"] == "\n".join(only)


def test_what_counts_counts_as_without(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    filters = program(compiler, mpi, "filters.c")
    whole = watch(mpi, 2, [filters], tmp_path)
    part = watch(mpi, 2, [filters], tmp_path, options=["--only", "b"])
    assert counted(whole, "sends_total") == {path: 2 * n for path, n in SENDS.items() if n}
    assert part.region("c/b/d")["colls_total"] == whole.region("c/b/d")["colls_total"] == 2
    for path in ("a/b", "c/b"):
        assert part.traffic(path) == whole.traffic(path) != Traffic()
        assert part.calls("MPI_Sendrecv", path) == whole.calls("MPI_Sendrecv", path)


# The recorder counts from a moment between this call's end and its own MPI_Init's.
INITIALIZED = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int MPI_Init(int *argc, char ***argv) {
  char text[64];
  struct timespec now;
  const int result = PMPI_Init(argc, argv);
  clock_gettime(CLOCK_MONOTONIC, &now);
  snprintf(text, sizeof text, "%.9f", now.tv_sec + 1e-9 * now.tv_nsec);
  setenv("INITIALIZED", text, 1);
  return result;
}
"""


def test_some_time_only(any_mpi: Mpi, compiler: Compiler, filters: Path, tmp_path: Path) -> None:
    """Messages between 0.1 and 0.2 s count, by what the program itself measures of each."""
    begin, end = 0.1, 0.2
    layer = compiler.text(any_mpi, "initialized.c", INITIALIZED, ["-shared", "-fPIC"])
    times = {"HALOSCOPE_AFTER": str(begin), "HALOSCOPE_UNTIL": str(end), "LD_PRELOAD": str(layer)}
    watched = watch(any_mpi, 1, [filters, "times"], tmp_path, options=["--slice", "0.01"], env=times)
    sent = [tuple(map(float, line.split())) for line in watched.done.stdout.splitlines()]
    # Of each: the least and the most time since MPI_Init.
    certain = sum(begin < early and late < end for early, late in sent)
    possible = sum(begin < late and early < end for early, late in sent)
    sends = counted(watched, "sends_total")
    assert set(sends) <= {"all/message"}
    count = sends.get("all/message", 0)
    # What comes next ends the time.
    assert certain <= count <= possible + 1
    assert count < len(sent)
    # A begin or an end may be the event that starts or ends the time.
    assert abs(watched.region("all/message")["instances"] - count) <= 1
    # Regions that are open all the time are counted for that time, and until the next event.
    gaps = [after[0] - before[0] for before, after in pairwise(sent)]
    time = watched.region("<program>")["time_mean"]
    assert 0 <= time < 1.02 * (end - begin) + max(gaps)
    # A process that has no core may have no event in this time.
    assert time > 0 or certain < 2
    slices = watched.select("slices", rank=0)
    assert sum(row["sends"] for row in slices) == count
    assert all(row["start"] + row["duration"] > 0.98 * begin for row in slices)
    assert (watched.info["from"], watched.info["until"]) == (str(begin), str(end))


def test_the_time_begins_while_recording_is_off(any_mpi: Mpi, filters: Path, tmp_path: Path) -> None:
    """The program switches it on later, with MPI_Pcontrol."""
    watched = watch(any_mpi, 1, [filters, "off"], tmp_path, env={"HALOSCOPE_AFTER": "0.1"})
    assert counted(watched, "sends_total") == {"on": 5}


def test_times_that_never_come(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    during = program(compiler, any_mpi, "during.c")
    watched = watch(any_mpi, 2, [during], tmp_path, env={"HALOSCOPE_AFTER": "1000"})
    assert watched.done.stdout == "end\n"
    assert (watched.info["partial"], counted(watched, "sends_total")) == ("false", {})
    watched = watch(any_mpi, 2, [during], tmp_path, env={"HALOSCOPE_UNTIL": "1000"})
    assert watched.traffic("before") == watched.traffic("after") == Traffic(20, 240, 20, 240, 1, 1)
