"""On stored data, the part of a sweep with the largest expected gain brings most of the gain of the whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from haloscope.predict import Measuring, TrialLaunch, Way, measure_within, reduce_calls
from support.mpi import CHECKOUT

KEPT = CHECKOUT / "benchmarks" / "predict" / "kept" / "simulated.parquet"
CALLS, LAUNCH = 1100, 1.0  # calls of a point, and seconds that a launch takes by itself


def kept(platform: str, collective: str) -> dict[Way, dict[tuple[int, int], float]]:
    """Times on up to 64 ranks; the selector for Open MPI is the library's own choice."""
    rows = pl.read_parquet(KEPT).filter(
        (pl.col("platform") == platform) & (pl.col("collective") == collective) & (pl.col("ranks") <= 64)
    )
    times: dict[Way, dict[tuple[int, int], float]] = {}
    for algorithm, ranks, size, last in rows.select("algorithm", "ranks", "bytes", "last").iter_rows():
        if algorithm not in ("mpich", "mvapich2"):
            way = Way(collective, "default" if algorithm == "ompi" else algorithm)
            known = times.setdefault(way, {})
            if last:
                known[ranks, size] = last
    return times


def seconds(times: Mapping[tuple[int, int], float], launch: TrialLaunch) -> float:
    """What a launch takes."""
    return LAUNCH + CALLS * sum(times.get((launch.ranks, size), 0.0) for size in launch.sizes)


def test_what_should_save_most_is_measured_first() -> None:
    """First the library's own choice, then the most frequent collective, at sizes worth a launch."""
    names = ("bcast", "reduce")
    ways = [Way(name, algorithm) for name in names for algorithm in ("default", "chain")]
    weights = {
        (name, 4, size): often for name, often in zip(names, (1e3, 1e5), strict=True) for size in (8, 64)
    }
    measuring = Measuring(ways, weights, CALLS)
    order = []
    while (launch := measuring.next()) is not None:
        order.append((launch.way.collective, launch.way.algorithm))
        assert set(launch.sizes) <= {8, 64}
        times = dict.fromkeys(launch.sizes, 1e-3 if launch.way.algorithm == "default" else 5e-4)
        measuring.add(launch, times, LAUNCH + CALLS * sum(times.values()))
    assert {order[0], order[1]} == {("bcast", "default"), ("reduce", "default")}
    assert order[2] == ("reduce", "chain")
    assert measuring.choose_fastest()["reduce", 4, 8] == Way("reduce", "chain")


def test_what_cannot_save_enough_is_not_measured() -> None:
    """The library's own choice takes 1 % of the time of another point, so that half of it is nothing."""
    ways = [Way(name, algorithm) for name in ("bcast", "reduce") for algorithm in ("default", "chain")]
    measuring = Measuring(ways, {("bcast", 4, 8): 1.0, ("reduce", 4, 8): 1e7}, CALLS)
    found = []
    while (launch := measuring.next()) is not None:
        found.append((launch.way.collective, launch.way.algorithm))
        measuring.add(launch, {8: 1e-3}, LAUNCH)
    assert ("bcast", "chain") not in found
    assert ("reduce", "chain") in found


def test_what_is_slow_where_it_was_measured_is_not_measured_on() -> None:
    """By their laws one algorithm takes half as long as the library's own choice, another ten times."""
    factors = {"default": 1.0, "quick": 0.5, "slow": 10.0}
    ranks = (2, 4, 8, 16, 32, 64)
    places = {("bcast", count, size): 1e4 for count in ranks for size in (8, 4096)}
    measuring = Measuring([Way("bcast", name) for name in factors], places, CALLS)
    measured: dict[str, set[int]] = {name: set() for name in factors}
    while (launch := measuring.next()) is not None:
        name = launch.way.algorithm
        measured[name].add(launch.ranks)
        times = {
            size: factors[name] * (1e-3 * math.log2(launch.ranks) + 1e-7 * size) for size in launch.sizes
        }
        measuring.add(launch, times, LAUNCH + CALLS * sum(times.values()))
    assert measured["default"] == measured["quick"] == set(ranks)
    assert measured["slow"] < set(ranks)
    assert {way.algorithm for way in measuring.choose_fastest().values()} == {"quick"}


@pytest.mark.parametrize("collective", ["allreduce", "alltoall"])
def test_a_tenth_of_the_time_gains_most_of_it(collective: str) -> None:
    times = kept("torus", collective)
    own = times[Way(collective, "default")]
    places = [(collective, *place) for place in own]
    whole = sum(
        seconds(known, TrialLaunch(way, ranks, tuple(size for count, size in known if count == ranks)))
        for way, known in times.items()
        for ranks in {count for count, _ in known}
    )
    # Each point takes as much of the program's time as any other.
    measuring = Measuring(times, {place: 1 / own[place[1:]] for place in places}, CALLS)
    first = sum(LAUNCH + CALLS * sum(own[p] for p in own if p[0] == ranks) for ranks in {p[0] for p in own})

    def measured(launch: TrialLaunch) -> tuple[dict[int, float], float]:
        known = times[launch.way]
        found = {size: known[launch.ranks, size] for size in launch.sizes if (launch.ranks, size) in known}
        return found, seconds(known, launch)

    taken = measure_within(measuring, measured, max(0.1 * whole, first))
    assert taken < 0.2 * whole
    losses = [
        times[way][place[1:]] / min(known[place[1:]] for known in times.values() if place[1:] in known) - 1
        for place, way in measuring.choose_fastest().items()
    ]
    kept_choice = [
        own[place[1:]] / min(known[place[1:]] for known in times.values() if place[1:] in known) - 1
        for place in places
    ]
    assert len(losses) == len(places)
    assert sum(losses) < 0.5 * sum(kept_choice)


@pytest.mark.slow
def test_algorithms_that_share_launches_are_known_in_a_tenth_of_the_time(script: Callable[..., Any]) -> None:
    budget = script("budget", "benchmarks/predict", "benchmarks")
    times = budget.sweeps()["torus", "alltoall"]
    lost, taken = budget.losses("alltoall", times, reduce_calls(CALLS), 0, shared=True)
    assert taken < 0.12
    assert sum(lost) / len(lost) < 0.03
