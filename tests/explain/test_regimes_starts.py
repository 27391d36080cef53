"""Starts of fits: overlapping regimes are found, and starts that disagree are reported."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from haloscope import UsageError
from haloscope.explain import RegimeModel
from haloscope.markov import Selection, select

Floats = NDArray[np.float64]


def drawn(seed: int, means: list[float], stds: list[float], staying: float, slow: float) -> Floats:
    """Draw 10 × 1024 normal times in ms, with a share of `slow` in the last regime."""
    random = np.random.default_rng(seed)
    shares = np.full(len(means), (1 - slow) / (len(means) - 1))
    shares[-1] = slow
    anew = random.random((10, 1024)) > staying
    anew[:, 0] = True
    states = random.choice(len(means), anew.shape, p=shares)
    last = np.maximum.accumulate(np.where(anew, np.arange(1024), 0), axis=1)
    states = np.take_along_axis(states, last, axis=1)
    return np.abs(random.normal(np.array(means)[states], np.array(stds)[states])) * 1e-3


@pytest.mark.parametrize(
    ("means", "stds", "staying", "slow"),
    [
        ([1.79, 1.89, 2.89], [0.059, 0.055, 0.62], 0.91, 1 / 3),  # Table 1 of the paper
        ([1.79, 1.89, 2.89], [0.059, 0.055, 0.62], 0.98, 0.05),
        ([1.8, 2.0], [0.06, 0.3], 0.8, 0.5),
        ([1.7, 1.8, 1.9, 2.8], [0.03, 0.03, 0.04, 0.6], 0.9, 0.25),
        ([1.7, 1.8, 1.9, 2.3, 3.2], [0.02, 0.02, 0.03, 0.12, 0.6], 0.9, 0.1),
    ],
)
def test_overlapping_regimes_are_found(
    means: list[float], stds: list[float], staying: float, slow: float
) -> None:
    model = RegimeModel(len(means)).fit(drawn(0, means, stds, staying, slow))
    np.testing.assert_allclose(1e3 * model.means_, means, rtol=0.05)


# Data without regimes, whose likelihood has many maxima.
SHAPELESS = np.random.default_rng(0).random((1, 200))


@pytest.mark.slow
def test_the_seed_draws_the_later_starts() -> None:
    """The first three starts do not depend on the seed, the others do."""

    def reached(starts: int, seed: int) -> float:
        return RegimeModel(6, n_init=starts, random_state=seed).fit(SHAPELESS).log_likelihood_

    assert reached(3, 0) == reached(3, 1)
    assert reached(10, 0) == reached(10, 0)
    assert reached(10, 0) != pytest.approx(reached(10, 1), abs=1)


def test_starts_that_disagree_are_reported() -> None:
    (line,) = [line for line in RegimeModel(6).fit(SHAPELESS).warnings_ if "disagree" in line]
    assert line.startswith("starts disagree: of the best 3 of 10 only one ended here, the next end is ")
    assert line.endswith(" less likely (logarithm): try more starts, or doubt these regimes")
    single = RegimeModel(6, n_init=1).fit(SHAPELESS)
    assert not [line for line in single.warnings_ if "disagree" in line]


def test_starts_that_agree_are_silent() -> None:
    x = drawn(1, [1.79, 1.89, 2.89], [0.059, 0.055, 0.62], 0.91, 1 / 3)
    assert RegimeModel(3).fit(x).warnings_ == ()


def chosen(likelihoods: list[float], criterion: str) -> Selection:
    """Return the selection for 1000 instances from these likelihoods."""
    parameters = [2, 7, 14, 23, 34, 47][: len(likelihoods)]
    bic = [p * np.log(1000) - 2 * value for p, value in zip(parameters, likelihoods, strict=True)]
    table = pl.DataFrame(
        {
            "regimes": range(1, len(likelihoods) + 1),
            "log_likelihood": likelihoods,
            "parameters": parameters,
            "bic": bic,
        }
    )
    models = []
    for number in range(len(likelihoods)):
        model = RegimeModel(number + 1)
        model.n_points_ = 1000
        models.append(model)
    return Selection(criterion, table, tuple(models))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("likelihoods", "regimes", "ceiling"),
    [
        ([0, 1000, 1700, 1710, 1715, 1720], 3, False),
        ([0, 1000, 1700, 1800, 1900, 2000], 3, True),  # each regime improves the fit: no model is right
        ([0, 5, 9, 12, 15, 17], 1, False),
        ([0, 1000, 1005], 2, False),
        ([0, 1000], 2, True),
        ([0], 1, False),
    ],
)
def test_the_elbow_and_the_ceiling(likelihoods: list[float], regimes: int, ceiling: bool) -> None:
    found = chosen(likelihoods, "elbow")
    assert found.model.n_regimes == regimes
    assert found.at_ceiling == ceiling
    assert chosen(likelihoods, "bic").at_ceiling == ceiling


def test_drifting_regimes_are_three_and_the_ceiling_is_reported() -> None:
    x = drawn(2, [1.8, 2.1, 2.9], [0.05, 0.06, 0.25], 0.925, 1 / 3)[:4]
    found = select(x * (1 + 0.05 * np.linspace(-1, 1, x.shape[1])), 5)
    assert found.model.n_regimes == 3
    assert found.at_ceiling
    with pytest.raises(UsageError, match="none of elbow, aic, bic, icl"):
        select(x, criterion="hqc")  # type: ignore[arg-type]
