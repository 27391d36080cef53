"""Settings that are the same show no gain, though launches differ; those that gain are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haloscope.predict.bench import Sweep
from haloscope.predict.tune import Bench, Candidate, ComparisonPlan, Point, Trial, choose_from, write_rules
from support.emulated_tuning import emulated_bench

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


def test_alike_rules_do_not_hold(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    points = [Point("bcast", 4, 1 + pair) for pair in range(PAIRS)]
    # Neighbours are two rules.
    chosen = {point: Candidate(f"way{1 + point.bytes % 2}", 1 + point.bytes % 2) for point in points}

    def launches() -> Any:
        return 20e-6 * np.exp(chance.normal(0, BETWEEN, 5))

    def measured(_bench: Bench, asked: Sequence[Point], *_: object) -> dict[Point, Trial]:
        return {point: Trial(launches(), launches()) for point in asked}

    made = write_rules(
        emulated_bench(tmp_path), chosen, tmp_path / "r.conf", ComparisonPlan(), measure=measured
    )
    assert made.tried == PAIRS
    assert len(made.tuned) <= ALIKE


def test_variance_is_split() -> None:
    (within, between) = sweep({"default": 1.0}, 8, 1).spread().select("within", "between").mean().row(0)
    assert within == pytest.approx(WITHIN, rel=0.4)  # of the slower of two ranks
    assert between == pytest.approx(BETWEEN, rel=0.2)
    alone = sweep({"default": 1.0}, 1, 1).spread()
    assert alone["between"].null_count() == len(alone)
