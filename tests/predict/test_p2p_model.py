"""From points with a known truth to a machine model, its file and its page."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from haloscope import MachineError, OutputError, predict
from haloscope.predict import bench
from haloscope.predict.bench import BenchSystem, P2pMeasured, P2pMethod, Pair, Shared, Topology
from haloscope.predict.bench import P2pPoint as Point
from support.emulated_mpi import emulated_mpi
from support.missing import missing
from support.pages import Look

SIZES = [1 << power for power in range(21)]
HOSTILE = "<b>L3</b></script>{{data}}"
# Two nodes of eight cores with two threads each: seconds of a small message at each level.
NODE = Topology(tuple((2 * i, 2 * i + 1) for i in range(8)), (Shared(HOSTILE, 4), Shared("all", 8)))
SYSTEM = BenchSystem(NODE, cast(bench.Library, SimpleNamespace(name="none")), nodes=2)
LATENCY = {"SMT": 1e-7, HOSTILE: 2e-7, "node": 5e-7, "network": 2e-6}


def truth(level: str, size: int) -> float:
    """Eager below 4096 bytes; from there on three latencies more."""
    latency = LATENCY[level]
    return latency + size * 1e-10 if size < 4096 else 4 * latency + size * 1e-10


def made() -> list[Point]:
    random = np.random.default_rng(3)
    points = []

    def point(test: str, pair: Pair, size: int, time: float, receive: float = 0.0) -> None:
        samples, other = (abs(random.normal(t, 0.01 * t, 100)) for t in (time, receive or time))
        points.append(Point(test, pair, size, samples, receive=other if receive else np.empty(0)))

    for pair in SYSTEM.representatives():
        for size in SIZES:
            point("latency", pair, size, truth(pair.level, size))
            point("bw", pair, size, 5e-8 + (size - 1) * 2e-10)
            point("overhead", pair, size, 3e-8, 5e-8)
    for size in SIZES:
        point("reduce", SYSTEM.pair(0, 1), size, 1e-8 + size / 4e9)
    for pair in SYSTEM.all_pairs():
        point("latency", pair, 1, truth(pair.level, 1))
    return points


POINTS = made()


@pytest.fixture(scope="module", autouse=True)
def _no_mpi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A machine's description is without its noise, which a real compiler would be needed for."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in emulated_mpi(tmp_path_factory.mktemp("mpi")).items():
            patch.setenv(name, value)
        yield


def machine(name: str, points: list[Point]) -> predict.Machine:
    return P2pMeasured(SYSTEM, points).machine(name)


# A launcher that measures on a machine whose message times are known, and slower by a factor from the second
# launch on.
KNOWN = """
import json, os, sys
words = dict(zip(sys.argv, sys.argv[1:]))
factor = 1.0 if not os.path.exists("launched") else FACTOR
open("launched", "w").close()
for size in map(int, words["--sizes"].split(",")):
    time = factor * (200 + size / 10 if size < 4096 else 800 + size / 10)
    about = {"record": "point", "test": "latency", "pair": [0, 1], "bytes": size, "batch": 1, "valid": None}
    print(json.dumps({**about, "samples_ns": [time] * 5}), flush=True)
"""


@pytest.mark.parametrize(("factor", "kept"), [(1.0, True), (1.5, False)])
def test_a_change_is_looked_at_closely_if_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, kept: bool
) -> None:
    """`factor`: how much slower the machine is in the second launch."""
    if len(os.sched_getaffinity(0)) < 2:
        missing("messages need two processors: give the machine, or the container, another one")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.py").write_text(KNOWN.replace("FACTOR", str(factor)))
    launcher = [sys.executable, str(tmp_path / "known.py")]
    method = P2pMethod(tuple(SIZES), for_model=True)
    points = bench.p2p(["latency"], method, pairs=[(0, 1)], launcher=launcher).points
    assert [one.bytes for one in points[: len(SIZES)]] == SIZES
    more = [one.bytes for one in points[len(SIZES) :]]
    assert bool(more) == kept
    assert all(2048 < size < 4096 for size in more)


def test_the_truth_comes_out_and_survives_its_file(tmp_path: Path) -> None:
    output = tmp_path / "own.yaml"
    built = machine("own", POINTS)
    predict.write_machine(built, output, ["Made by: a\ntest"])
    found = predict.load_machine(output)
    assert found == built
    assert [(level.name, level.cores) for level in found.levels] == [
        (HOSTILE, 4),
        ("node", 8),
        ("network", 16),
    ]
    for level in (*found.levels, found.smt):
        assert level is not None
        name = getattr(level, "name", "SMT")
        assert float(level.latency) == pytest.approx(LATENCY[name], rel=0.02)
        assert [one.first for one in level.protocols] == [0, 4096]
        for size in (1, 100, 4095, 4096, 1 << 20):
            assert level.message_time(size) == pytest.approx(truth(name, size), rel=0.05)
        assert level.loggp is not None
        assert level.hockney is not None
        assert float(level.loggp.o) == pytest.approx(4e-8, rel=0.02)
        assert float(level.loggp.g) == pytest.approx(5e-8, rel=0.02)
        assert float(level.loggp.G) == pytest.approx(2e-10, rel=0.02)
        assert float(level.loggp.L) == pytest.approx(LATENCY[name] - 8e-8, rel=0.2)
        assert [row.bytes for row in level.plogp] == SIZES
        assert float(level.plogp[5].receive) == pytest.approx(5e-8, rel=0.02)
    assert float(found.arithmetic or 0) == pytest.approx(4e9, rel=0.02)
    assert found.matrix is not None
    assert found.matrix.microseconds[2][9] == pytest.approx(2.0, rel=0.05)
    assert found.ranks_on_cores("node", 3) == [0, 8, 1]


def test_machines_that_were_written_by_hand_survive_too(tmp_path: Path) -> None:
    for name in predict.machines():
        shipped = predict.load_machine(name)
        predict.write_machine(shipped, tmp_path / f"{name}.yaml")
        assert predict.load_machine(tmp_path / f"{name}.yaml") == shipped
    assert "latency: 150 ns" in (tmp_path / "orfeo.yaml").read_text()


def test_latency_alone_makes_a_machine() -> None:
    few = [one for one in POINTS if one.test == "latency" and one.bytes == 1]
    level = machine("few", few).levels[0]
    assert (level.bandwidth, level.loggp, level.protocols) == (None, None, ())
    assert level.latency_interval is not None
    assert level.latency_interval[0] < level.latency < level.latency_interval[1]


def test_without_the_farthest_cores_there_is_no_model() -> None:
    near = [one for one in POINTS if one.pair.level != "network"]
    with pytest.raises(MachineError, match="farthest cores was not measured"):
        machine("near", near)


def test_a_time_of_nothing_is_not_written() -> None:
    flat = [replace(one, samples=np.full(20, 1e-6)) for one in POINTS if one.test == "latency"]
    level = machine("flat", flat).levels[-1]
    assert level.bandwidth is None
    assert level.message_time(1 << 20) == pytest.approx(1e-6)
    assert level.latency == Decimal("1e-6")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    built = machine("own", POINTS)
    with pytest.raises(OutputError, match="is not a file"):
        predict.write_machine(built, tmp_path)
    with pytest.raises(OutputError, match=r"no/m.yaml: cannot be written: No such file"):
        predict.write_machine(built, tmp_path / "no" / "m.yaml")
    assert list(tmp_path.iterdir()) == []


def test_the_page_shows_levels_lines_and_the_matrix(look: Look, tmp_path: Path) -> None:
    predict.write_machine(machine(HOSTILE, POINTS), tmp_path / "m.yaml")
    predict.write_machine_page(predict.load_machine(tmp_path / "m.yaml"), tmp_path / "p.html")
    page = look(tmp_path / "p.html", 1100)
    page.wait_for_selector("#sections[data-waiting='0']")
    assert page.locator("h1").inner_text().endswith(", none")
    assert HOSTILE in page.locator("#command").inner_text()
    assert page.locator("#levels .barlayer .point").count() == 4
    assert HOSTILE in str(page.locator("#levels .xaxislayer-above").text_content())
    # Points and a line for each of four levels; one switch each.
    assert page.locator("#times .scatterlayer .trace").count() == 8
    assert page.locator("#times .shapelayer path").count() == 4
    assert page.locator("#bandwidth .scatterlayer .trace").count() == 4
    assert page.locator("#matrix .heatmaplayer image").count() == 1
    assert "protocols:" in page.locator("#yaml pre").inner_text()
