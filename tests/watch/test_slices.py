"""The history of a run: slices of time, which add up to what the regions have."""

from __future__ import annotations

from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, program, watch

COUNTS = tuple("sends bytes_sent recvs bytes_recv colls coll_bytes rma_ops rma_bytes io_bytes".split())
TIMES = ("p2p_time", "coll_time", "rma_time", "io_time", "wait_time")
MOST = 256


@pytest.fixture
def talking(any_mpi: Mpi, compiler: Compiler) -> Path:
    return program(compiler, any_mpi, "slices.c", ["-pthread"])


def busy(
    mpi: Mpi, talking: Path, directory: Path, length: str, count: int, *mode: str, status: int | None = 0
) -> Watched:
    """Record two ranks that talk in at least `count` / 2 slices.

    Of two stretches of the program at least every second one begins another slice of the recorder.
    """
    command: list[str | Path] = [talking, length, str(count), *mode]
    live = {"HALOSCOPE_LIVE": str(directory)}
    return watch(mpi, 2, command, directory, options=["--slice", length], env=live, status=status)


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
    # A slice of one thread may go on after a later slice of another thread, which ended.
    ends = accumulate((row["start"] + row["duration"] for row in slices), max)
    for (row, after), end in zip(pairwise(slices), ends, strict=False):
        # Where the machine stops a rank between its calls, nothing happens in a slice.
        assert after["start"] - end < 1e-6 or after["slice"] > row["slice"] + 1
    end = slices[-1]["start"] + slices[-1]["duration"]
    assert end <= 1.001 * float(watched.info["duration"])
    return float(steps[0] / length)


def test_slices_add_up(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    watched = busy(mpi, program(compiler, mpi, "slices.c", ["-pthread"]), tmp_path, "0.02", 16)
    for rank in range(2):
        check_sums(watched, rank)
        # The clock's rate is measured, for a twentieth of a second at least.
        assert check_order(watched, rank, 0.02) == pytest.approx(1, rel=0.01)
        assert len(history(watched, rank)) > 3


def test_neighbours_are_joined(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    watched = busy(any_mpi, talking, tmp_path, "0.001", 2 * MOST + 20)
    for rank in range(2):
        check_sums(watched, rank)
        factor = check_order(watched, rank, 0.001)
        assert min(abs(factor / 2**n - 1) for n in range(1, 24)) < 0.01
        # No more often than there was need.
        assert len(history(watched, rank)) > MOST // 8


def test_threads_with_different_lengths(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    """One thread had to join its slices, the other one was there for a moment."""
    watched = busy(any_mpi, talking, tmp_path, "0.001", 2 * MOST + 20, "threads")
    assert watched.region("thread")["instances"] == 20
    for rank in range(2):
        check_sums(watched, rank)
        check_order(watched, rank, 0.001, threads=2)


def test_killed_ranks_have_a_history(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    watched = busy(any_mpi, talking, tmp_path, "0.01", 44, "kill", status=None)
    assert watched.done.returncode != 0
    assert watched.info["partial"] == "true"
    for rank in range(2):
        check_sums(watched, rank)
        check_order(watched, rank, 0.01)
        assert len(history(watched, rank)) > 10


def test_one_sided_operations_alone(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    watched = busy(any_mpi, talking, tmp_path, "0.02", 16, "put")
    check_sums(watched, 0)
    assert sum(row["rma_ops"] > 0 for row in history(watched, 0)) > 3


def test_no_history_is_kept(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    watched = watch(any_mpi, 1, [talking, "0.01", "4"], tmp_path, options=["--slice", "0"])
    assert watched.rows("slices") == []


def test_a_short_run_is_one_slice(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    during = program(compiler, any_mpi, "during.c")
    watched = watch(any_mpi, 2, [during], tmp_path, options=["--slice", "3600"])
    check_sums(watched, 0)
    (row,) = history(watched, 0)
    assert (row["slice"], row["start"], row["sends"]) == (0, 0.0, 20)


@pytest.mark.parametrize("how", ["sleep", "share"])
def test_time_without_a_cpu(any_mpi: Mpi, compiler: Compiler, tmp_path: Path, how: str) -> None:
    """A rank sleeps for 0.3 s, or two share a core on which both compute for 0.3 s."""
    watched = watch(any_mpi, 2, [program(compiler, any_mpi, "absent.c"), how], tmp_path)
    off_cpu, for_core = [0.0, 0.0], [0.0, 0.0]
    for rank in range(2):
        (process,) = watched.select("binding", rank=rank)
        for row in history(watched, rank):
            assert 0 <= row["core_wait_time"] <= row["off_cpu_time"] <= row["duration"]
            off_cpu[rank] += row["off_cpu_time"]
            for_core[rank] += row["core_wait_time"]
        assert process["memory_max"] >= 64 << 20
    if how == "sleep":
        assert off_cpu[1] - for_core[1] > 0.29
    else:
        assert sum(for_core) > 0.1
        assert sum(row["preemptions"] for row in watched.rows("binding")) > 0


def test_a_killed_rank_has_no_known_usage(any_mpi: Mpi, talking: Path, tmp_path: Path) -> None:
    watched = busy(any_mpi, talking, tmp_path, "0.01", 10, "kill", status=None)
    (process,) = (row for row in watched.rows("binding") if row["cpu_time"] is None)
    assert process["memory_max"] is process["preemptions"] is None
