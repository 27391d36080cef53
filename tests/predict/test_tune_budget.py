"""A part of a sweep, chosen by what it should gain, brings most of what the whole does: on kept data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from haloscope.predict import Way
from haloscope.predict._budget import Launch, Measuring, expected_saving, few_calls, measure_within
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


def seconds(times: Mapping[tuple[int, int], float], launch: Launch) -> float:
    """What a launch takes."""
    return LAUNCH + CALLS * sum(times.get((launch.ranks, size), 0.0) for size in launch.sizes)


def test_savings_are_those_of_draws() -> None:
    import numpy as np

    times = np.exp(np.random.default_rng(0).normal(math.log(2.0), 0.5, 200_000))
    assert expected_saving(1.8, math.log(2.0), 0.5) == pytest.approx(
        np.maximum(0, 1.8 - times).mean(), rel=0.02
    )
    assert expected_saving(2.0, math.log(1.5), 0.0) == pytest.approx(0.5)


@pytest.mark.parametrize("collective", ["allreduce", "alltoall"])
def test_a_tenth_of_the_time_gains_most_of_it(collective: str) -> None:
    times = kept("torus", collective)
    own = times[Way(collective, "default")]
    places = [(collective, *place) for place in own]
    whole = sum(
        seconds(known, Launch(way, ranks, tuple(size for count, size in known if count == ranks)))
        for way, known in times.items()
        for ranks in {count for count, _ in known}
    )
    # Each point takes as much of the program's time as any other.
    measuring = Measuring(times, {place: 1 / own[place[1:]] for place in places}, CALLS)
    first = sum(LAUNCH + CALLS * sum(own[p] for p in own if p[0] == ranks) for ranks in {p[0] for p in own})

    def measured(launch: Launch) -> tuple[dict[int, float], float]:
        known = times[launch.way]
        found = {size: known[launch.ranks, size] for size in launch.sizes if (launch.ranks, size) in known}
        return found, seconds(known, launch)

    taken = measure_within(measuring, measured, max(0.1 * whole, first))
    assert taken < 0.2 * whole
    losses = [
        times[way][place[1:]] / min(known[place[1:]] for known in times.values() if place[1:] in known) - 1
        for place, way in measuring.chosen().items()
    ]
    kept_choice = [
        own[place[1:]] / min(known[place[1:]] for known in times.values() if place[1:] in known) - 1
        for place in places
    ]
    assert len(losses) == len(places)
    assert sum(losses) < 0.5 * sum(kept_choice)


def test_algorithms_that_share_launches_are_known_in_a_tenth_of_the_time(script: Callable[..., Any]) -> None:
    budget = script("budget", "benchmarks/predict", "benchmarks")
    times = budget.sweeps()["torus", "alltoall"]
    lost, taken = budget.losses("alltoall", times, few_calls(CALLS), 0, shared=True)
    assert taken < 0.12
    assert sum(lost) / len(lost) < 0.03
