"""The history of a run: slices of time, which add up to what the regions have."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, program, watch

COUNTS = (
    "sends",
    "bytes_sent",
    "recvs",
    "bytes_recv",
    "colls",
    "coll_bytes",
    "rma_ops",
    "rma_bytes",
    "io_bytes",
)
TIMES = ("p2p_time", "coll_time", "rma_time", "io_time", "wait_time")
MOST = 256


@pytest.fixture
def talking(any_mpi: Mpi, compiler: Compiler) -> Path:
    return program(compiler, any_mpi, "slices.c", ["-pthread"])


def history(watched: Watched, rank: int) -> list[dict[str, Any]]:
    return watched.select("slices", rank=rank)


def check_sums(watched: Watched, rank: int) -> None:
    slices = history(watched, rank)
    regions = watched.select("ranks", rank=rank)
    for name in COUNTS:
        assert sum(row[name] for row in slices) == sum(row[name] for row in regions), name
    for name in TIMES:
        total = sum(row[name] for row in regions)
        assert sum(row[name] for row in slices) == pytest.approx(total, rel=1e-9), name


def check_order(watched: Watched, rank: int, length: float, threads: int = 1) -> float:
    """One slice follows another; returns how often the length was doubled, as a factor."""
    slices = history(watched, rank)
    assert 1 <= len(slices) <= MOST * threads
    numbers = [row["slice"] for row in slices]
    assert numbers == sorted(set(numbers))
    steps = [row["start"] / row["slice"] for row in slices if row["slice"] > 0]
    assert max(steps) == pytest.approx(min(steps), rel=1e-9)
    gaps = [after["start"] - (row["start"] + row["duration"]) for row, after in pairwise(slices)]
    for (row, after), gap in zip(pairwise(slices), gaps, strict=True):
        # Where the machine stops a rank between its calls, nothing happens in a slice.
        assert gap < 1e-6 or after["slice"] > row["slice"] + 1
    assert sum(max(gap, 0.0) for gap in gaps) < 0.5 * float(watched.info["duration"])
    end = slices[-1]["start"] + slices[-1]["duration"]
    assert end <= 1.001 * float(watched.info["duration"])
    return float(steps[0] / length)


def test_slices_add_up(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    talking = program(compiler, mpi, "slices.c", ["-pthread"])
    watched = watch(mpi, 2, [talking, "500"], tmp_path, options=["--slice", "0.05"])
    assert watched.region("<program>")["sends_total"] > 10
    for rank in range(2):
        check_sums(watched, rank)
        # The clock's rate is measured, for a twentieth of a second at least.
        assert check_order(watched, rank, 0.05) == pytest.approx(1, rel=0.01)
        assert len(history(watched, rank)) > 3


def test_neighbours_are_joined(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    watched = watch(any_mpi, 2, [talking, "2000"], tmp_path, options=["--slice", "0.001"])
    for rank in range(2):
        check_sums(watched, rank)
        factor = check_order(watched, rank, 0.001)
        assert min(abs(factor / 2**n - 1) for n in range(1, 12)) < 0.01
        # No more often than there was need.
        assert len(history(watched, rank)) > MOST // 8


def test_threads_with_different_lengths(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    """One thread had to join its slices, the other one was there for a moment."""
    command: list[Path | str] = [talking, "800", "threads"]
    watched = watch(any_mpi, 2, command, tmp_path, options=["--slice", "0.001"])
    assert watched.region("thread")["instances"] == 50
    for rank in range(2):
        check_sums(watched, rank)
        check_order(watched, rank, 0.001, threads=2)
        assert history(watched, rank)[0]["start"] < 0.1


def test_killed_ranks_have_a_history(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    command = [
        str(talking),
        "2000",
        "kill",
    ]  # so long that it does not matter when the machine stops it for a while
    live = {"HALOSCOPE_LIVE": str(tmp_path)}
    watched = watch(any_mpi, 2, command, tmp_path, options=["--slice", "0.01"], env=live, status=None)
    assert watched.done.returncode != 0
    assert watched.info["partial"] == "true"
    for rank in range(2):
        check_sums(watched, rank)
        check_order(watched, rank, 0.01)
        assert len(history(watched, rank)) > 10


def test_one_sided_operations_alone(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    watched = watch(any_mpi, 2, [talking, "400", "put"], tmp_path, options=["--slice", "0.05"])
    check_sums(watched, 0)
    assert sum(row["rma_ops"] > 0 for row in history(watched, 0)) > 3


def test_no_history_is_kept(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    watched = watch(any_mpi, 1, [talking, "100"], tmp_path, options=["--slice", "0"])
    assert watched.rows("slices") == []


def test_a_short_run_is_one_slice(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    watched = watch(any_mpi, 2, [program(compiler, any_mpi, "during.c")], tmp_path)
    check_sums(watched, 0)
    (row,) = history(watched, 0)
    assert (row["slice"], row["start"], row["sends"]) == (0, 0.0, 20)
