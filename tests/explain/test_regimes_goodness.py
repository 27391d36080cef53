"""Goodness of fit: a right model passes, and the defect of a wrong one is named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from haloscope.markov.statistics import Goodness, goodness

Floats = NDArray[np.float64]

START = np.array([0.4, 0.3, 0.3])
MEANS = np.array([1.79e-3, 1.89e-3, 2.89e-3])
STICKY = 0.94 * np.eye(3) + 0.02
ALIKE = np.tile(START, (3, 1))


@dataclass(frozen=True)
class Gaussian:
    """Three normal states."""

    stds: Floats
    name: str = "gaussian"

    def log_density(self, values: Floats) -> Floats:
        return np.asarray(norm.logpdf(values[:, None], MEANS, self.stds))

    def cdf(self, values: Floats) -> Floats:
        return np.asarray(norm.cdf(values[:, None], MEANS, self.stds))

    def sample(self, states: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        return rng.normal(MEANS[states], self.stds[states])


NARROW = Gaussian(np.array([2e-5, 2e-5, 3e-4]))
WIDE = Gaussian(np.array([2e-5, 2e-5, 6.19e-3]))


def drawn(random: np.random.Generator, transition: Floats, shape: tuple[int, int] = (12, 1600)) -> Floats:
    """Return sequences of the narrow regimes with these transitions."""
    states = np.empty(shape, dtype=np.int64)
    states[:, 0] = random.choice(3, shape[0], p=START)
    edges = transition.cumsum(axis=1)[:, :-1]
    for k in range(1, shape[1]):
        states[:, k] = (random.random((shape[0], 1)) > edges[states[:, k - 1]]).sum(axis=1)
    return NARROW.sample(states, random)


def judged(durations: Floats, emission: Gaussian, draws: int = 19, transition: Floats = ALIKE) -> Goodness:
    """Return the goodness of fit for independent states, where each point has its likeliest state."""

    def decode(series: Floats) -> NDArray[np.uint8]:
        there = ~np.isnan(series)
        states = np.full(series.shape, 255, dtype=np.uint8)
        states[there] = (emission.log_density(series[there]) + np.log(START)).argmax(axis=1)
        return states

    return goodness(durations, START, transition, emission, decode, draws=draws)


def test_a_right_model_passes() -> None:
    random = np.random.default_rng(0)
    found = judged(drawn(random, ALIKE), NARROW)
    assert found.verdicts == ()
    fits = found.regimes
    assert (fits["distance"] < 0.04).all()
    assert (fits["negative"] == 0).all()
    inside = (found.checks["low"] <= found.checks["observed"]) & (
        found.checks["observed"] <= found.checks["high"]
    )
    assert inside.sum() >= len(inside) - 2
    np.testing.assert_allclose(found.residuals["residual"], found.residuals["normal"], atol=0.08)
    outside = found.correlation["correlation"].abs() > found.correlation["band"]
    assert outside.sum() <= 8
    for row in found.quantiles.filter(regime=2).to_dicts():
        assert row["observed"] == pytest.approx(row["drawn"], abs=5e-6)


def test_a_gaussian_that_draws_negative_times_is_named() -> None:
    """The third regime of Table 1, whose deviation is twice its mean."""
    random = np.random.default_rng(1)
    states = random.choice(3, (12, 1600), p=START)
    variance = np.log1p((WIDE.stds / MEANS) ** 2)
    durations = np.exp(
        np.log(MEANS)[states]
        - variance[states] / 2
        + np.sqrt(variance)[states] * random.normal(size=states.shape)
    )
    found = judged(durations, WIDE)
    assert len(found.verdicts) == 1
    assert found.verdicts[0].startswith("gaussian is a bad model of regime 3: 3")
    assert "of the times that it draws are negative" in found.verdicts[0]
    assert found.regimes["negative"][2] == pytest.approx(norm.cdf(-2.89 / 6.19), abs=0.05)
    minimum = found.checks.filter(statistic="minimum").row(0, named=True)
    assert minimum["high"] < 0 < minimum["observed"]


def test_the_defect_of_a_model_is_named() -> None:
    random = np.random.default_rng(2)
    found = judged(drawn(random, STICKY), NARROW)
    assert any("depend on each other" in line for line in found.verdicts)
    assert any("regime 3 lasts" in line for line in found.verdicts)
    assert found.correlation["correlation"][0] > 0.3


def test_the_residuals_of_the_true_model_are_normal_and_independent() -> None:
    durations = drawn(np.random.default_rng(3), STICKY)
    durations[3, 100:] = np.nan
    found = judged(durations, NARROW, 3, STICKY)
    np.testing.assert_allclose(found.residuals["residual"], found.residuals["normal"], atol=0.06)
    outside = found.correlation["correlation"].abs() > found.correlation["band"]
    assert outside.sum() <= 8


def test_the_correlation_follows_its_definition() -> None:
    """The residuals of standard normal times are the times themselves."""

    @dataclass(frozen=True)
    class Standard:
        name: str = "standard"

        def log_density(self, values: Floats) -> Floats:
            return np.asarray(norm.logpdf(values[:, None]))

        def cdf(self, values: Floats) -> Floats:
            return np.asarray(norm.cdf(values[:, None]))

        def sample(self, states: NDArray[np.int64], rng: np.random.Generator) -> Floats:
            return rng.normal(size=states.shape)

    series = np.random.default_rng(7).normal(size=301).cumsum() / 10
    centred = series - series.mean()
    expected = [centred[: 301 - lag] @ centred[lag:] / (centred @ centred) for lag in range(1, 51)]
    one = np.ones((1, 1))
    found = goodness(series, one[0], one, Standard(), lambda x: np.zeros(x.shape, np.uint8), draws=1)
    np.testing.assert_allclose(found.correlation["correlation"], expected, atol=1e-9)
    assert found.correlation["lag"].to_list() == list(range(1, 51))


def test_drawn_series_have_the_chains_statistics() -> None:
    durations = drawn(np.random.default_rng(4), STICKY)
    found = judged(durations, NARROW, 3, STICKY)
    slow = found.regimes.row(2, named=True)
    # 25 instances in a row, apart from those decoded as another regime.
    assert slow["drawn_run_length"] == pytest.approx(slow["run_length"], rel=0.1)
    assert slow["drawn_run_length"] == pytest.approx(25, rel=0.15)
    row = found.checks.filter(statistic="share of regime 3").row(0, named=True)
    assert row["median"] == pytest.approx(1 / 3, abs=0.05)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 6)])
def test_a_few_times_give_no_verdict(shape: tuple[int, int]) -> None:
    found = judged(np.full(shape, 1.8e-3), NARROW)
    assert found.verdicts == ()
    assert found.correlation.is_empty()
    assert found.regimes["instances"].to_list() == [shape[0] * shape[1], 0, 0]


@pytest.mark.slow
def test_long_series_are_tested_in_windows() -> None:
    random = np.random.default_rng(5)
    series = NARROW.sample(random.choice(3, (1, 270_000), p=START), random)
    found = judged(series, NARROW, draws=1)
    assert 200_000 < found.regimes["instances"].sum() <= 1 << 18
    assert found.verdicts == ()
