"""`--only`, HALOSCOPE_FROM and HALOSCOPE_UNTIL: what counts, and what is as if it had not happened."""

from __future__ import annotations

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


def test_some_time_only(any_mpi: Mpi, filters: Path, tmp_path: Path) -> None:
    """The first second of three, by and large, is followed by one that counts."""
    times = {"HALOSCOPE_FROM": "0.5", "HALOSCOPE_UNTIL": "1.5"}
    watched = watch(any_mpi, 2, [filters, "times"], tmp_path, options=["--slice", "0.1"], env=times)
    sends = counted(watched, "sends_total")
    assert "all/first" not in sends
    assert sends["all/middle"] == 20
    # What comes next ends the time, on each rank.
    assert sends.get("all/last", 0) <= 2
    assert watched.region("all/middle")["instances"] == 10
    # Regions that are open all the time are counted for that time, no longer.
    (whole,) = {float(line) for line in watched.done.stdout.split()[:1]}
    for path in ("<program>", "all"):
        region = watched.region(path)
        assert region["instances"] == 1
        assert 0.1 < region["time_mean"] / whole < 0.8
    slices = watched.select("slices", rank=0)
    assert sum(row["sends"] for row in slices) == sum(sends.values()) // 2
    assert all(row["start"] > 0.35 for row in slices)
    assert (watched.info["from"], watched.info["until"]) == ("0.5", "1.5")


def test_times_that_never_come(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    during = program(compiler, any_mpi, "during.c")
    watched = watch(any_mpi, 2, [during], tmp_path, env={"HALOSCOPE_FROM": "1000"})
    assert watched.done.stdout == "end\n"
    assert (watched.info["partial"], counted(watched, "sends_total")) == ("false", {})
    watched = watch(any_mpi, 2, [during], tmp_path, env={"HALOSCOPE_UNTIL": "1000"})
    assert watched.traffic("before") == watched.traffic("after") == Traffic(20, 240, 20, 240, 1, 1)
