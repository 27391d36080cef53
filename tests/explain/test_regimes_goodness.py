"""Goodness of fit: a right model passes, and what is wrong with a wrong one is said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest, norm

from haloscope.explain.regimes.statistics._goodness import Goodness, drawn, goodness, pseudo_residuals
from haloscope.explain.regimes.statistics._samples import autocorrelation

Floats = NDArray[np.float64]

START = np.array([0.4, 0.3, 0.3])
MEANS = np.array([1.79e-3, 1.89e-3, 2.89e-3])
STICKY = 0.94 * np.eye(3) + 0.02
ALIKE = np.tile(START, (3, 1))
TEMPLATE = np.zeros((20, 3000))


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


def judged(durations: Floats, emission: Gaussian, draws: int = 19) -> Goodness:
    """Without memory, the likeliest path is each point's likeliest state."""

    def decode(series: Floats) -> NDArray[np.uint8]:
        there = ~np.isnan(series)
        states = np.full(series.shape, 255, dtype=np.uint8)
        states[there] = (emission.log_density(series[there]) + np.log(START)).argmax(axis=1)
        return states

    return goodness(durations, START, ALIKE, emission, decode, draws=draws)


def test_a_right_model_passes() -> None:
    random = np.random.default_rng(0)
    found = judged(drawn(TEMPLATE, START, ALIKE, NARROW, random), NARROW)
    assert found.verdicts == ()
    fits = found.regimes
    assert (fits["distance"] < 0.03).all()
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
    """Table 1's third regime: its deviation is twice its mean."""
    random = np.random.default_rng(1)
    states = random.choice(3, TEMPLATE.shape, p=START)
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


def test_what_the_model_does_not_foresee_is_named() -> None:
    random = np.random.default_rng(2)
    found = judged(drawn(TEMPLATE, START, STICKY, NARROW, random), NARROW)
    assert any("depend on each other" in line for line in found.verdicts)
    assert any("regime 3 lasts" in line for line in found.verdicts)
    assert found.correlation["correlation"][0] > 0.3


def test_the_residuals_of_the_true_model_are_normal_and_independent() -> None:
    random = np.random.default_rng(3)
    durations = drawn(TEMPLATE, START, STICKY, NARROW, random)
    durations[3, 100:] = np.nan
    residuals = pseudo_residuals(durations, START, STICKY, NARROW)
    assert np.isnan(residuals).sum() == np.isnan(durations).sum()
    values = residuals[~np.isnan(residuals)]
    assert kstest(values, "norm").statistic < 0.01
    assert abs(autocorrelation(residuals[0], 1)[1]) < 0.06


def test_drawn_series_have_the_chains_statistics() -> None:
    random = np.random.default_rng(4)
    like = TEMPLATE.copy()
    like[5, 10:] = np.nan
    series = drawn(like, np.array([1.0, 0, 0]), STICKY, NARROW, random)
    np.testing.assert_array_equal(np.isnan(series), np.isnan(like))
    slow = series > 2.1e-3
    slow = slow[~np.isnan(like[:, -1])]
    assert not slow[:, 0].any()
    stays = (slow[:, 1:] & slow[:, :-1]).sum() / slow[:, :-1].sum()
    assert stays == pytest.approx(0.96, abs=0.015)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 6)])
def test_next_to_nothing_gives_no_verdict(shape: tuple[int, int]) -> None:
    found = judged(np.full(shape, 1.8e-3), NARROW)
    assert found.verdicts == ()
    assert found.correlation.is_empty()
    assert found.regimes["instances"].to_list() == [shape[0] * shape[1], 0, 0]


def test_long_series_are_looked_at_in_windows() -> None:
    random = np.random.default_rng(5)
    series = drawn(np.zeros((1, 300_000)), START, ALIKE, NARROW, random)
    found = judged(series, NARROW, draws=3)
    assert 200_000 < found.regimes["instances"].sum() <= 1 << 18
    assert found.verdicts == ()
