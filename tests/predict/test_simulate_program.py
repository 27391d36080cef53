"""`haloscope simulate` of several profiles: a program at other numbers of ranks, and its simulation there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import haloscope
from haloscope import UsageError
from haloscope.explain.ensembles import extrapolate_laws
from haloscope.predict.simulate import Simulation
from support.processes import run_program
from support.profiles import Draft, draft, path_rows, process_rows

pytestmark = pytest.mark.usefixtures("simgrid")

KNOWN = (6, 9, 12, 18, 27)
HELD_OUT = 96
CLOSE = 0.05


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose ranks sleep for simulated time, by laws that are known."""
    folder = tmp_path_factory.mktemp("growing")
    source = Path(__file__).parent / "programs" / "growing.c"
    include = Path(__file__).parents[2] / "include"
    command = ["smpicc", "-I", str(include), str(source), "-o", "growing", "-lm"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "growing"


@pytest.fixture(scope="module")
def profiles(growing: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("growing-profiles")
    return [run(growing, ranks, folder / f"{ranks}.halo") for ranks in KNOWN]


def run(program: Path, ranks: int, output: Path, bandwidth: float = 1.0) -> Path:
    simulation = Simulation(
        program, "torus", ranks, compute_factor=0, eager=0, bandwidth_factor=bandwidth, time_limit=200
    )
    return simulation.run(output)


def times(profile: Path) -> dict[str, float]:
    with haloscope.open(profile) as opened:
        return dict(opened.table("regions").select("path", "time_mean").iter_rows())


@pytest.mark.parametrize("bandwidth", [1.0, 0.25])
def test_regions_take_what_is_predicted(
    growing: Path, profiles: list[Path], tmp_path: Path, bandwidth: float
) -> None:
    """Also on a network that is slower than that of the profiles."""
    truth = times(run(growing, HELD_OUT, tmp_path / "truth.halo", bandwidth))
    simulation = Simulation(profiles, "torus", HELD_OUT, bandwidth_factor=bandwidth)
    frame = simulation.prediction(tmp_path / "predicted.halo")
    rows = {row["path"]: row for row in frame.to_dicts()}
    assert rows.keys() == truth.keys()
    for path, row in rows.items():
        assert row["time"] == pytest.approx(truth[path], rel=CLOSE), path
        assert row["low"] <= row["time"] <= row["high"]
        parts = row["computing"] + row["messages"] + row["waiting"]
        assert row["time"] == pytest.approx(parts, rel=1e-9)
    assert rows["work"]["law"] == "(0.004 + 0.0008 · log2(p)) s"
    # The order of a wave is no part of a pattern; that of an exchange is.
    assert rows["wave"]["waiting"] > 0.8 * rows["wave"]["time"]
    assert rows["exchange"]["messages"] > 0.8 * rows["exchange"]["time"]
    with haloscope.open(tmp_path / "predicted.halo") as opened:
        assert opened.info["ranks"] == HELD_OUT
        assert "by models of 5 profiles of 6 to 27 ranks" in opened.info["command"]


def test_on_another_network_nobody_knows_of_waiting(profiles: list[Path], tmp_path: Path) -> None:
    """Waiting may stay the same or grow like messages do, here with 100 times the latency."""
    intervals = []
    for factor in (1.0, 100.0):
        simulation = Simulation(profiles, "torus", 32, latency_factor=factor)
        frame = simulation.prediction(tmp_path / f"{factor}.halo")
        (row,) = frame.filter(path="wave").to_dicts()
        intervals.append(row["high"] / row["time"])
    assert intervals[0] < 1.5
    assert intervals[1] > 10


def test_the_command_prints_it(haloscope: Path, profiles: list[Path], tmp_path: Path) -> None:
    words = ["simulate", *map(str, profiles), "-n", "32", "--platform", "torus", "-o", "32.halo"]
    rows = json.loads(run_program([haloscope, *words, "--format", "json"], cwd=tmp_path).stdout)
    assert [row["path"] for row in rows] == ["<program>", "work", "exchange", "wave", "sum"]
    assert rows[0]["time"] > rows[1]["time"] > 0
    assert (tmp_path / "32.halo").exists()


def test_where_profiles_ran_elsewhere_waiting_is_not_known(tmp_path: Path) -> None:
    places = [sleeping(ranks).write(tmp_path / f"{ranks}.halo") for ranks in KNOWN]
    frame = Simulation(places, "torus", 32).prediction(tmp_path / "32.halo")
    assert frame["waiting"].to_list() == [None, None]
    # Times in calls without a message do not predict another machine.
    assert frame["time"].to_list() == pytest.approx([32e-3, 32e-3], rel=0.01)


def sleeping(ranks: int, name: str = "sleeping") -> Draft:
    """A profile whose region computes a millisecond for each rank, and is as long in calls of no message."""
    seconds = 1e-3 * ranks
    rows = [
        {"path": path, "rank": rank, "instances": 1, "time": 2 * seconds, "p2p_time": path * seconds}
        for path in range(2)
        for rank in range(ranks)
    ]
    return draft(
        {"ranks": ranks, "program": name},
        paths=path_rows("solve"),
        processes=process_rows(*["a"] * ranks),
        ranks=rows,
    )


def test_what_cannot_be_predicted_is_said(tmp_path: Path) -> None:
    places = [sleeping(ranks).write(tmp_path / f"{ranks}.halo") for ranks in KNOWN]
    other = sleeping(5, "another").write(tmp_path / "another.halo")
    for asked, ranks, words in (
        (places, None, "-n N"),
        (places[:4], 32, "6, 9, 12, 18 ranks: scaling models need 5"),
        ([*places, other], 32, "are of different programs"),
        (places[:1], 32, "five numbers of ranks"),
    ):
        with pytest.raises(UsageError, match=words):
            Simulation(asked, "torus", ranks).prediction(tmp_path / "no.halo")
    assert not (tmp_path / "no.halo").exists()


def test_a_pattern_without_grid_is_set_side_by_side(tmp_path: Path) -> None:
    """Ranks 0 and 3 talk, which no grid of a prime number has: a message for each rank that there is."""

    def talking(ranks: int) -> Draft:
        made = sleeping(ranks)
        row = {"path": 1, "rank": 0, "partner": 3, "sends": ranks, "bytes_sent": 20 * ranks}
        return draft(
            made.info,
            paths=path_rows("solve"),
            processes=process_rows(*["a"] * ranks),
            ranks=[
                {"path": path, "rank": rank, "instances": 1, "time": 1.0}
                for path in range(2)
                for rank in range(ranks)
            ],
            partners=[row],
        )

    places = [talking(ranks).write(tmp_path / f"{ranks}.halo") for ranks in (5, 7, 11, 17, 23)]
    Simulation(places, "torus", 46).prediction(tmp_path / "twice.halo")
    with haloscope.open(tmp_path / "twice.halo") as opened:
        found = opened.table("partners").filter(pl.col("sends") > 0)
        sent = found.filter(region="solve").select("rank", "partner", "sends", "bytes_sent").sort("rank")
    assert sent.rows() == [(0, 3, 23, 460), (23, 26, 23, 460)]


def test_what_rises_to_a_bound_stays_below_it() -> None:
    points = (8, 18, 27, 36, 64)
    found = extrapolate_laws(points, np.array([[2 - 3 / ranks for ranks in points]]), 4096)
    assert found.value[0] == pytest.approx(2 - 3 / 4096)
    assert found.without[0] == pytest.approx([2 - 3 / 4096] * 5)
    assert found.omitted[0] == pytest.approx([2 - 3 / ranks for ranks in points])
    assert found.laws.text(0, "s") == "(2 - 3 · p^(-1)) s"
