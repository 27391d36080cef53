"""Tests between runs and methods, and means with intervals: their error rates and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import ks_2samp, sem
from scipy.stats import t as student

from haloscope.markov.statistics import Sample, compare_distributions, regime_means, sentences

Floats = NDArray[np.float64]


def autoregressive(random: np.random.Generator, memory: float, shape: tuple[int, int]) -> Floats:
    """Draw standard normal series, where each value has correlation `memory` with the previous one."""
    new = random.normal(size=(shape[0], shape[1] + 300)) * np.sqrt(1 - memory**2)
    series: Floats = lfilter([1], [1, -memory], new, axis=1)[:, 300:]
    return series


def ranks_in_step(random: np.random.Generator, memory: float, instances: int) -> Floats:
    """Draw four ranks' times that are correlated in time and between ranks."""
    shared = autoregressive(random, memory, (1, instances))
    own = autoregressive(random, memory, (4, instances))
    return np.exp(0.2 * (0.8 * shared + 0.6 * own))


@pytest.mark.parametrize(
    ("trials", "least", "most"), [(60, 0, 0.12), pytest.param(300, 0.003, 0.09, marks=pytest.mark.long)]
)
def test_the_corrected_test_keeps_its_level_where_the_plain_one_does_not(
    trials: int, least: float, most: float
) -> None:
    random = np.random.default_rng(0)
    rejected = np.zeros(2)
    for _ in range(trials):
        samples = [Sample(name, ranks_in_step(random, 0.9, 1000)) for name in "ab"]
        row = compare_distributions(samples).row(0, named=True)
        rejected += [row["p_plain"] < 0.05, row["p_corrected"] < 0.05]
    plain, corrected = rejected / trials
    assert plain > 0.7
    assert least < corrected < most


def test_a_difference_is_found() -> None:
    random = np.random.default_rng(1)
    slower = 1.2 * ranks_in_step(random, 0.7, 2000)
    samples = [Sample("a", ranks_in_step(random, 0.7, 2000)), Sample("b", slower)]
    assert compare_distributions(samples)["p_corrected"][0] < 1e-6


@given(st.integers(0, 1000), st.booleans())
@settings(max_examples=40)
def test_the_plain_test_is_scipys(seed: int, tied: bool) -> None:
    random = np.random.default_rng(seed)
    first, second = random.normal(size=(2, 50, 20))
    if tied:
        first, second = first.round(), second.round()
    row = compare_distributions([Sample("a", first), Sample("b", second)]).row(0, named=True)
    peer = ks_2samp(first.ravel(), second.ravel(), method="asymp")
    assert row["statistic"] == pytest.approx(peer.statistic)
    assert row["p_plain"] == pytest.approx(peer.pvalue, rel=0.1, abs=0.02)


def test_long_samples_may_be_compressed() -> None:
    random = np.random.default_rng(2)
    first, second = random.normal(size=(2, 100, 2000))
    second += 0.05
    found = compare_distributions([Sample("a", first), Sample("b", second)])["statistic"][0]
    exact = ks_2samp(first.ravel(), second.ravel(), method="asymp").statistic
    assert exact - 1.6e-5 <= found <= exact


def test_samples_of_a_coarse_clock_may_be_compressed() -> None:
    """A coarse clock gives many equal times: a distribution has at most a value per tick."""
    random = np.random.default_rng(8)
    geometric = random.geometric(0.2, size=(2, 100_000)).astype(np.float64)
    for first, second in (geometric, (np.arange(2e5), np.full(200_000, 99_999.0))):
        exact = ks_2samp(first, second, method="asymp").statistic
        samples = [Sample(name, times[np.newaxis]) for name, times in (("a", first), ("b", second))]
        found = compare_distributions(samples)["statistic"][0]
        assert exact - 1.6e-5 <= found <= exact + 1e-12


def test_the_effective_size_of_independent_times_and_of_copies() -> None:
    random = np.random.default_rng(3)
    times = random.lognormal(size=(8, 4000))
    copies = np.repeat(times[:1], 8, axis=0)
    table = compare_distributions([Sample("own", times), Sample("copies", copies)])
    assert table["effective_first"][0] == pytest.approx(32000, rel=0.15)
    assert table["effective_second"][0] == pytest.approx(4000, rel=0.15)


def test_samples_that_cannot_be_compared_give_null() -> None:
    none = Sample("none", np.full((2, 30), np.nan), np.full((2, 30), 255, dtype=np.uint8))
    short = Sample("short", np.ones((5, 3)) + np.arange(3), np.zeros((5, 3), dtype=np.uint8))
    same = Sample("same", np.ones((5, 30)), np.zeros((5, 30), dtype=np.uint8))
    table = compare_distributions([none, short, same], 0)
    assert table["regime"].to_list() == [1, 1, 1]
    assert table["statistic"].to_list()[:2] == [None, None]
    assert table["p_plain"][2] is not None
    assert table["p_corrected"].to_list() == [None] * 3
    assert compare_distributions([same, same])["p_corrected"][0] == 1
    assert compare_distributions([same]).is_empty()
    means = regime_means([none, short, same], regime=0, baseline=1)
    assert means["mean"].to_list() == [None, 2.0, 1.0]
    assert means["mean_low"].to_list() == [None, None, 1.0]
    assert means["faster"].to_list() == [None, None, 50.0]
    lines = sentences(means, baseline=1)
    assert lines[0] == "none cannot be compared with short in the fast regime: one has no times"
    assert lines[1].endswith("in the fast regime; too few instances for an interval")


@pytest.mark.parametrize(
    ("memory", "trials"), [(0.8, 80), *(pytest.param(one, 300, marks=pytest.mark.long) for one in (0.0, 0.8))]
)
def test_intervals_have_their_coverage(memory: float, trials: int) -> None:
    random = np.random.default_rng(4)
    mean = float(np.exp(0.02))  # the mean of exp(0.2 × a standard normal)
    covered = np.zeros(2)
    for _ in range(trials):
        series = [ranks_in_step(random, memory, 1500), 0.958 * ranks_in_step(random, memory, 1500)]
        # Times of a slow regime are missing.
        states = [autoregressive(random, memory, (4, 1500)) > 0.5 for _ in series]
        found = regime_means(
            [
                Sample(name, times, slow.astype(np.uint8))
                for name, times, slow in zip("ab", series, states, strict=True)
            ]
        )
        low, high = found["mean_low"][0], found["mean_high"][0]
        covered += [low < mean < high, found["faster_low"][1] < 4.2 < found["faster_high"][1]]
    # 95 %, less 2.5 standard deviations of this number of trials, and the bias of the correlation time.
    scatter = 2.5 * (0.05 * 0.95 / trials) ** 0.5
    assert (covered / trials > 0.94 - scatter).all()
    assert (covered / trials < 0.955 + scatter).all()


def test_the_sentence() -> None:
    random = np.random.default_rng(5)
    base = 1 + 0.01 * random.random((1, 4000))
    names = {"A": 1.0, "B": 0.958, "C": 1.05, "D": 1.0}
    samples = [Sample(name, base * factor) for name, factor in names.items()]
    states = np.zeros(base.shape, dtype=np.uint8)
    samples = [Sample(one.name, one.durations, states) for one in samples]
    b, c, d = sentences(regime_means(samples))
    assert b == "in these two runs B was 4.2 % [4.2, 4.2] faster than A in the fast regime"
    assert c == "in these two runs C was 5.0 % [5.0, 5.0] slower than A in the fast regime"
    same = "in these two runs D was not significantly faster or slower than A in the fast regime"
    assert d == f"{same}: +0.0 % [+0.0, +0.0]"
    assert sentences(regime_means(samples, regime=None))[0].endswith("faster than A")


def worth(series: Floats) -> float | None:
    """Return the effective sample size of a series."""
    effective = regime_means([Sample("a", series[np.newaxis])], regime=None)["effective"][0]
    return None if effective is None else float(effective)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregressive_series(memory: float) -> None:
    series = autoregressive(np.random.default_rng(6), memory, (30, 8192))
    mean = np.mean([8192 / (worth(row) or np.nan) for row in series])
    assert mean == pytest.approx((1 + memory) / (1 - memory), rel=0.12)


def test_the_effective_size_of_a_few_instances_is_unknown() -> None:
    assert worth(np.arange(7.0)) is None
    assert worth(np.arange(8.0)) is not None
    assert worth(np.ones(100)) == 100


def test_few_instances_have_students_interval() -> None:
    """An alternating series has at most the effective sample size of an independent one."""
    times = np.tile([1.0, 2.0], 4)
    row = regime_means([Sample("a", times[np.newaxis])], regime=None).row(0, named=True)
    low, high = student.interval(0.95, times.size - 1, times.mean(), sem(times))
    assert (row["effective"], row["mean_low"], row["mean_high"]) == pytest.approx((8, low, high))


def test_the_effective_size_of_times_of_two_ticks() -> None:
    """Most values are one tick, the minimum, and each occurs ten times in a row."""
    random = np.random.default_rng(4)
    times = np.repeat(1.0 + (random.random(400) < 0.04), 10)[np.newaxis]
    row = compare_distributions([Sample("a", times), Sample("b", times)]).row(0, named=True)
    assert 200 < row["effective_first"] < 800
