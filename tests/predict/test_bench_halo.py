"""`haloscope bench halo`: grids, parts, columns, mistakes."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haloscope import UsageError
from haloscope.hide import build_shm_library_for
from haloscope.predict.bench import HaloMethod, HaloResult, halo, write_halo
from support.cluster import Cluster
from support.command import Command
from support.emulated_mpi import emulated_mpi
from support.mpi import Mpi
from support.mpis import tools

BETWEEN_NODES = """\
import sys
from haloscope.predict.bench import HaloMethod, halo, write_halo
method = HaloMethod(sizes=(65536,), ranks=4, iterations=6, warmup=1, pause=0.001)
write_halo(halo(method, launcher=sys.argv[1:]), "json", False, sys.stdout)
"""
FEW = ("-i", "6", "-x", "1")
Bench = Callable[..., str]
Measured = Callable[[HaloMethod], list[dict[str, Any]]]


@pytest.fixture
def bench(command: Command) -> Bench:
    """`bench("halo", …)` is what the command prints with the MPI in use."""

    def run(*words: str) -> str:
        done = command("bench", *words)
        assert done.stderr == ""
        return done.stdout

    return run


@pytest.fixture
def measured(any_used: Mpi) -> Measured:
    """`measured(method)` are the records of a few exchanges, measured here with the MPI in use."""

    def run(method: HaloMethod) -> list[dict[str, Any]]:
        told = io.StringIO()
        few = replace(method, iterations=6, warmup=1)
        write_halo(halo(few, build_shm=build_shm_library_for), "json", False, told)
        return json.loads(told.getvalue())  # type: ignore[no-any-return]

    return run


def rows(text: str) -> list[list[float]]:
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return [[float(word) for word in line.split()] for line in lines]


@pytest.mark.usefixtures("used")
def test_on_one_node_all_neighbours_are_near(bench: Bench) -> None:
    text = bench("halo", "-n", "2", "-m", "1024:4096", "-f", *FEW)
    assert "halo: 2 × 1 × 1 ranks on 1 node, " in text
    assert "Inter (us)" not in text
    table = rows(text)
    assert [row[0] for row in table] == [1024, 2048, 4096]
    for _, total, intra, ideal, ratio, low, high, least, most, iterations in table:
        assert ideal == intra
        assert 0 < low <= ratio <= high
        assert 0 < least <= total <= most
        assert iterations == 6


def test_four_dimensions(bench: Bench, measured: Measured) -> None:
    """All samples, of odd sizes too; a periodic grid of two has each neighbour on both sides."""
    method = HaloMethod(sizes=(1001, 65537), ranks=4, dims=4, periodic=True, memory="malloc")
    records = measured(method)
    assert [one["bytes"] for one in records] == [1001, 65537]
    for one in records:
        assert one["sides"] == [2, 2, 1, 1]
        assert (one["shm"], one["protocol"], one["memory"]) == ("off", None, "malloc")
        assert {part: len(times[0]) for part, times in one["samples"].items()} == {"total": 6, "intra": 6}
    words = ("-n", "4", "--dims", "4", "-m", "1001,65537", *FEW)
    found = list(csv.DictReader(bench("halo", *words, "--format", "csv").splitlines()))
    assert len(found) == 2 * 2 * 6
    assert all(float(row["time"]) > 0 for row in found)


@pytest.mark.usefixtures("any_used")
def test_what_a_computation_hides(bench: Bench) -> None:
    words = ("halo", "--overlap", "-n", "2", "-m", "65536:65536", "-i", "20", "-x", "2", "--rounds", "2")
    (record,) = json.loads(bench(*words, "--format", "json"))
    assert {part: (len(v), len(v[0])) for part, v in record["samples"].items()} == dict.fromkeys(
        ("communication", "computation", "both"), (2, 20)
    )
    samples = {part: np.array(times) for part, times in record["samples"].items()}
    both, computation, exchange = (samples[part] for part in ("both", "computation", "communication"))
    hidden = np.median(np.median(100 * (1 - (both - computation) / exchange), axis=1))
    assert record["overlap"] == pytest.approx(min(max(hidden, 0), 100), abs=0.1)


def test_between_nodes(two_nodes: Cluster, any_mpi: Mpi) -> None:
    """A square of ranks: each has a neighbour on its node, and one on the other node."""
    hosts = ",".join(f"{host}:2" for host in two_nodes.hosts)
    launcher = [str(any_mpi.mpiexec), "--host", hosts, "--bind-to", "none"]
    done = two_nodes.run(any_mpi, [sys.executable, "-c", BETWEEN_NODES, *launcher], env=tools(any_mpi))
    (record,) = json.loads(done.stdout)
    assert record["nodes"] == 2
    assert set(record["samples"]) == {"total", "inter", "intra"}
    total, inter, intra = (np.array(record["samples"][part][0]) for part in ("total", "inter", "intra"))
    assert record["ideal"] == pytest.approx(np.median(np.maximum(inter, intra)), rel=1e-4)
    assert record["ratio"] == pytest.approx(np.median(total / np.maximum(inter, intra)), rel=1e-4)


@pytest.fixture
def exchanged(used: Mpi) -> HaloResult:
    """A measured result, whose samples a test replaces."""
    return halo(HaloMethod(sizes=(1024,), ranks=2, iterations=1, warmup=0))


def test_the_total_is_not_below_its_parts(exchanged: HaloResult) -> None:
    """Links have two speeds. If no total is below a part of its turn, nor is the ratio below 1."""
    random = np.random.default_rng(1)
    for rounds, iterations in ((1, 7), (5, 4), (2, 1)):
        shape = (rounds, iterations)
        inter, intra = random.choice([1.0, 2.0], shape), random.uniform(0.5, 2.5, shape)
        total = np.maximum(inter, intra) * random.uniform(1, 1.4, shape)
        series = replace(exchanged.series[0], samples={"total": total, "inter": inter, "intra": intra})
        ratio, low, _ = series.figures()["ratio"]
        assert 1 <= low <= ratio
        assert not series.is_contradictory()


def test_a_total_below_its_parts_is_reported(exchanged: HaloResult) -> None:
    inter = np.full((1, 9), 1e-3)
    for factor, reported in ((0.79, True), (1.0, False), (1.3, False)):
        series = replace(exchanged.series[0], samples={"total": factor * inter, "inter": inter})
        told = io.StringIO()
        write_halo(replace(exchanged, series=[series]), "table", False, told)
        assert ("the total is below the ideal, which it includes" in told.getvalue()) == reported


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("halo", "-n", "1"), 2, "1 is not in the range"),
        (("halo", "-m", "4294967296:4294967296"), 2, "more than an MPI call can count"),
        (("halo", "--overlap", "--", "no-such-launcher"), 1, "no-such-launcher: not found"),
        (("halo", "--", "env", "-i", "true"), 1, "env printed 0 records"),
    ],
)
def test_mistakes(
    command: Command,
    tmp_path: Path,
    words: tuple[str, ...],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in emulated_mpi(tmp_path / "mpi").items():
        monkeypatch.setenv(name, value)
    told = command("bench", *words, status=status)
    assert told.stdout == ""
    assert said in told.stderr


@pytest.mark.usefixtures("any_used")
def test_with_and_without_the_shm_library(bench: Bench) -> None:
    words = ("-n", "2", "-m", "65536,1048576", "--shm", "both", "--rounds", "1", *FEW)
    text = bench("halo", *words)
    tables = [line.rpartition(", ")[2] for line in text.splitlines() if "bench halo" in line]
    assert tables[:2] == ["shm off", "shm on"]
    found = rows(text)
    assert [row[0] for row in found] == [65536, 1048576] * 3
    for off, on, (_, gain, low, high) in zip(found[:2], found[2:4], found[4:], strict=True):
        assert low <= gain <= high
        assert gain == pytest.approx(off[1] / on[1], rel=0.01, abs=0.001)


def test_buffers_of_the_shm_library(measured: Measured) -> None:
    """Contents are checked in every exchange; the shm library's own buffers hold them too."""
    base = HaloMethod(sizes=(524288,), ranks=2, shm=("on",))
    library = replace(base, test="overlap", null_buffers=True, protocol="static", late=True)
    (record,) = measured(library)
    assert (record["shm"], record["protocol"], record["null_buffers"]) == ("on", "static", True)
    assert record["late"]
    (record,) = measured(replace(base, memory="share-heap"))
    assert (record["memory"], record["null_buffers"]) == ("share-heap", False)


@pytest.mark.parametrize("more", [{"null_buffers": True}, {"protocol": "steal"}])
def test_what_only_the_shm_library_has(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="measure with it"):
        HaloMethod(ranks=2, **more).complete()
