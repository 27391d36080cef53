"""Episodes: planted slowdowns are found, and runs without slowdowns have none."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from haloscope.markov.statistics import episodes

RANKS, INSTANCES = 64, 3000
HOSTS = tuple(f"node{rank // 16}" for rank in range(RANKS))
PERIOD = 1e-2


def calm(persistence: float, seed: int = 0) -> NDArray[np.uint8]:
    """Draw states of ranks that are slow independently, 10 % of the time."""
    random = np.random.default_rng(seed)
    states = np.zeros((RANKS, INSTANCES), dtype=np.uint8)
    now = np.zeros(RANKS, dtype=np.uint8)
    for instance in range(INSTANCES):
        another = random.choice([0, 1, 2], RANKS, p=[0.5, 0.4, 0.1])
        now = np.where(random.random(RANKS) < persistence, now, another)
        states[:, instance] = now
    return states


def found(states: NDArray[np.uint8], hosts: tuple[str | None, ...] = HOSTS) -> pl.DataFrame:
    durations = np.array([1e-3, 2e-3, 5e-3, np.nan])[np.minimum(states, 3)]
    starts = PERIOD * np.arange(states.shape[1]) + np.zeros((len(states), 1))
    starts[np.isnan(durations)] = np.nan
    ranks = 100 + np.arange(len(states))
    return episodes(durations, states, 3, ranks=ranks, hosts=hosts[: len(states)], starts=starts)


@pytest.mark.parametrize("persistence", [0, 0.9])
def test_calm_runs_have_no_episodes(persistence: float) -> None:
    assert sum(len(found(calm(persistence, seed))) for seed in range(3)) == 0


@pytest.mark.parametrize("persistence", [0, 0.9])
def test_planted_episodes_are_found(persistence: float) -> None:
    states = calm(persistence)
    random = np.random.default_rng(1)
    states[:, 1000:1200] = np.where(random.random((RANKS, 200)) < 0.8, 2, 0)
    states[:, 77] = 2
    states[16:32, 2000:2400] = 2
    states[5, 300:900] = 2
    states[40] = 2  # slow all the time
    states[7, 1500:] = 255  # died
    table = found(states)
    assert table["kind"].to_list() == ["machine", "machine", "host", "rank"]
    assert table["who"].to_list() == [None, None, "node1", "105"]
    places = list(zip(table["first"], table["last"], strict=True))
    for (first, last), planted in zip(
        places, [(1000, 1199), (77, 77), (2000, 2399), (300, 899)], strict=True
    ):
        assert first == pytest.approx(planted[0], abs=8)
        assert last == pytest.approx(planted[1], abs=30 if persistence else 8)
    firsts = table["first"].to_numpy()
    np.testing.assert_allclose(table["start"].to_numpy(), PERIOD * firsts)
    lengths = table["last"].to_numpy() - firsts
    np.testing.assert_allclose(table["duration"].to_numpy(), PERIOD * lengths + 5e-3)
    assert table["share"].to_list() == pytest.approx([0.8, 1, 1, 1], abs=0.03)
    # The usual time is 1 ms or 2 ms, the slow one 5 ms.
    seconds = np.array([200 * 0.8, 1, 400, 600])
    assert (table["lost"].to_numpy() > 2.4e-3 * seconds).all()
    assert (table["lost"].to_numpy() < 4.2e-3 * seconds).all()


def test_one_bad_host_of_two_is_not_the_machine() -> None:
    states = calm(0)[:32]
    states[16:, 500:800] = 2
    table = found(states)
    assert table["kind"].to_list() == ["host"]
    assert table["who"].to_list() == ["node1"]


def test_a_host_that_is_bad_all_the_time_is_named() -> None:
    states = calm(0)
    states[32:48] = 2
    row = found(states).row(0, named=True)
    assert (row["kind"], row["who"], row["first"], row["last"]) == ("host", "node2", 0, 2999)


def test_episodes_of_a_reduced_series_are_machine_wide() -> None:
    """Figure 12: one long slowdown, and single slow instances."""
    states = np.zeros((1, 8192), dtype=np.uint8)
    states[0, 3000:4500] = 2
    states[0, ::97] = 2
    table = found(states, hosts=(None,))
    assert table.select("kind", "who", "first", "last").rows() == [("machine", None, 3000, 4499)]
    assert table["lost"][0] == pytest.approx(1500 * 4e-3)


def test_few_slowdowns_are_found_and_many_equal_ones_are_normal() -> None:
    few, many = np.zeros((2, 1, 8192), dtype=np.uint8)
    for first in (100, 2000, 4000, 6000):
        few[0, first : first + 300] = 2
    assert sorted(found(few, hosts=(None,))["first"]) == [100, 2000, 4000, 6000]
    for first in range(0, 8192, 64):
        many[0, first : first + 16] = 2
    assert found(many, hosts=(None,)).is_empty()


def test_without_start_times_or_instances_or_regimes() -> None:
    states = calm(0)
    states[:, 100:150] = 2
    durations = np.array([1e-3, 2e-3, 5e-3])[states]
    row = without_hosts(durations, states, 3).row(0, named=True)
    assert (row["first"], row["last"]) == (100, 149)
    assert row["start"] is None
    assert row["duration"] is None
    assert without_hosts(durations[:, :0], states[:, :0], 3).is_empty()
    assert without_hosts(durations, np.zeros_like(states), 1).is_empty()
    gone = np.full_like(states, 255)
    assert without_hosts(np.full(states.shape, np.nan), gone, 3).is_empty()


def without_hosts(durations: NDArray[np.float64], states: NDArray[np.uint8], regimes: int) -> pl.DataFrame:
    hosts = (None,) * len(states)
    return episodes(durations, states, regimes, ranks=np.arange(len(states)), hosts=hosts)


@pytest.mark.parametrize(
    ("ranks", "trials", "most"),
    [
        (2, 20, 3),
        (20, 20, 3),
        *(pytest.param(ranks, 40, 5, marks=pytest.mark.long) for ranks in (2, 8, 20, 64)),
    ],
)
def test_independent_ranks_that_stay_have_no_machine_wide_episode(ranks: int, trials: int, most: int) -> None:
    """At most 5 % of short runs may have one; at most 5 of 40 do."""
    random, runs = np.random.default_rng(ranks), 0
    for _ in range(trials):
        anew = random.random((ranks, 400)) > 0.95
        anew[:, 0] = True
        drawn = random.choice(3, anew.shape, p=[0.45, 0.4, 0.15]).astype(np.uint8)
        last = np.maximum.accumulate(np.where(anew, np.arange(400), 0), axis=1)
        table = found(np.take_along_axis(drawn, last, axis=1))
        runs += "machine" in table["kind"].to_list()
    assert runs <= most


def test_ranks_that_are_slow_together_are_the_machine() -> None:
    """A few ranks are enough, if they are slow often or long enough."""
    states = calm(0.9)[:8, :1000]
    states[:, 400:460] = 2
    machine = found(states).filter(pl.col("kind") == "machine")
    assert machine["first"].to_list() == [pytest.approx(400, abs=16)]


def test_few_slow_stretches_are_no_episodes() -> None:
    states = np.zeros((2, 400), dtype=np.uint8)
    states[0, 100:200] = 2
    assert found(states).is_empty()
