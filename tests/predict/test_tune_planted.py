"""Settings that are the same show no gain, though launches differ; those that gain are found."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from haloscope.predict.bench import Sweep
from haloscope.predict.bench._grid import Unit, shuffled
from haloscope.predict.bench._launches import measure
from haloscope.predict.bench._method import Method
from haloscope.predict.bench._mpi_library import Algorithm, library
from haloscope.predict.bench._surroundings import surroundings
from haloscope.predict.bench._sweep import Journal
from haloscope.predict.tune import Candidate, Point, Trial, choose_from
from haloscope.predict.tune._trial import not_holding
from support.mpi import Mpi
from support.mpis import tools

PAIRS = 100
BETWEEN, WITHIN = 0.05, 0.05  # relative deviations of launches, and of iterations in one
ALIKE = 5  # of 100 alike pairs, at most so many may be said to differ


def sweep(gains: Mapping[str, float], launches: int, seed: int) -> Sweep:
    """A hundred sizes at which candidates differ by known gains, in launches that differ by chance."""
    chance = np.random.default_rng(seed)
    records: list[dict[str, Any]] = []
    for pair in range(PAIRS):
        for number, (name, gain) in enumerate(gains.items()):
            for launch in range(launches):
                middle = 20e-6 / gain * np.exp(chance.normal(0, BETWEEN))
                times = middle * np.exp(chance.normal(0, WITHIN, (2, 90)))
                records.append(
                    {
                        "record": "point",
                        "collective": "bcast",
                        "algorithm": name,
                        "number": number,
                        "ranks": 4,
                        "bytes": 1 + pair,
                        "status": "ok",
                        "launch": launch,
                        "samples_ns": (1e9 * times).astype(int).tolist(),
                    }
                )
    return Sweep.of({"record": "environment"}, records)


def differing(made: Sweep) -> int:
    """How many of the pairs are said to differ, by however little."""
    return sum(one != Candidate() for one in choose_from(made, margin=0.0).values())


@pytest.mark.parametrize("launches", [2, 3, 5])
def test_alike_pairs_do_not_differ(launches: int) -> None:
    assert differing(sweep({"default": 1.0, "alike": 1.0}, launches, launches)) <= ALIKE


def test_one_launch_of_each_tells_launches_apart_not_settings() -> None:
    """Why there are several: iterations of one launch are alike, so that its luck looks like a gain."""
    assert differing(sweep({"default": 1.0, "alike": 1.0}, 1, 0)) > ALIKE


def test_gains_are_found() -> None:
    made = choose_from(sweep({"default": 1.0, "alike": 1.0, "quick": 1.5}, 4, 7))
    assert sum(one.name == "quick" for one in made.values()) > 0.9 * PAIRS


def test_alike_rules_do_not_hold() -> None:
    chance = np.random.default_rng(5)
    points = [Point("bcast", 4, 1 + pair) for pair in range(PAIRS)]
    chosen = {point: Candidate("chain", 1 + point.bytes % 2) for point in points}  # neighbours are two rules

    def launches() -> Any:
        return 20e-6 * np.exp(chance.normal(0, BETWEEN, 5))

    trials = {point: Trial(launches(), launches()) for point in points}
    assert PAIRS - len(not_holding(chosen, trials)) <= ALIKE


def test_variance_is_split() -> None:
    (within, between) = sweep({"default": 1.0}, 8, 1).spread().select("within", "between").mean().row(0)
    assert within == pytest.approx(WITHIN, rel=0.4)  # of the slower of two ranks
    assert between == pytest.approx(BETWEEN, rel=0.2)
    alone = sweep({"default": 1.0}, 1, 1).spread()
    assert alone["between"].null_count() == len(alone)


@pytest.mark.alone
@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_the_same_settings_in_real_runs_do_not_differ(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in tools(mpi).items():
        monkeypatch.setenv(name, value)
    ours, method = library(), Method(iterations=100, warmup=10, launches=3)
    sizes = (8, 1024, 65536)
    ways = [Algorithm("bcast"), Algorithm("bcast", "alike", 1)]
    units = [
        unit
        for launch in range(method.launches)
        for unit in shuffled([Unit(way, 0, 0, 2, None, sizes, launch) for way in ways], random.Random(launch))
    ]
    kept = Journal(surroundings(ours.name, "", method.words()), None)
    measure(units, ours, method, kept)
    made = Sweep.of(kept.environment, list(kept.points.values()))
    assert len(made.points) == len(ways) * len(sizes) * method.launches
    assert {one.name for one in choose_from(made).values()} == {"default"}
