"""Families of emissions: their densities and their weighted maximum likelihood, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from haloscope.markov.emissions import Emission, Gamma, Gaussian, LogNormal, Student
from haloscope.markov.fitting.family_choice import choose_family

GAMMA = Gamma(np.array([4.0, 0.8]), np.array([2e-5, 3e-3]), 1.5e-3)
STUDENT = Student(np.array([1.8e-3, 2.9e-3]), np.array([5e-5, 3e-4]), np.array([4.0, 30.0]))


def one_hot(states: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.eye(2)[states]


def drawn(
    family: Gamma | Student, seed: int, points: int = 4000
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    states = rng.integers(0, 2, points)
    return family.sample(states, rng), states


def test_densities_are_scipys() -> None:
    values = np.array([1e-4, 1.4e-3, 1.51e-3, 1.8e-3, 3e-3, 0.1])
    shifted = [stats.gamma(k, loc=1.5e-3, scale=s) for k, s in ((4.0, 2e-5), (0.8, 3e-3))]
    expected = np.stack([one.logpdf(values[2:]) for one in shifted], axis=1)
    np.testing.assert_allclose(GAMMA.log_density(values)[2:], expected, rtol=1e-12, atol=1e-12)
    assert np.isfinite(GAMMA.log_density(values)).all()  # also below the shift
    np.testing.assert_allclose(GAMMA.means, [one.mean() for one in shifted])
    np.testing.assert_allclose(GAMMA.stds, [one.std() for one in shifted])
    tails = [stats.t(4, 1.8e-3, 5e-5), stats.t(30, 2.9e-3, 3e-4)]
    expected = np.stack([one.logpdf(values) for one in tails], axis=1)
    np.testing.assert_allclose(STUDENT.log_density(values), expected, rtol=1e-12)
    np.testing.assert_allclose(STUDENT.stds, [one.std() for one in tails])


@pytest.mark.parametrize("shape", [0.1, 0.5, 1.0, 30.0, 1e3, 1e5])
def test_a_gammas_shape_solves_the_digamma_equation(shape: float) -> None:
    rng = np.random.default_rng(3)
    values = 1e-3 + 1e-4 * rng.gamma(shape, size=500)
    fitted = Gamma(np.ones(1), np.ones(1), 1e-3).reestimate(values, np.ones((500, 1)))
    expected = stats.gamma.fit(values - fitted.shift, floc=0.0)
    np.testing.assert_allclose(fitted.shape, expected[0], rtol=1e-6)
    np.testing.assert_allclose(fitted.scale, expected[2], rtol=1e-6)


@pytest.mark.parametrize(
    ("truth", "begin"),
    [
        (GAMMA, Gamma(np.ones(2), np.full(2, 1e-3), 0.0)),
        (STUDENT, Student(np.full(2, 2e-3), np.full(2, 1e-3), np.full(2, 10.0))),
    ],
    ids=["gamma", "student"],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_weighted_likelihood_does_not_fall(
    truth: Gamma | Student, begin: Gamma | Student, seed: int
) -> None:
    values, states = drawn(truth, seed)
    # Weights as in an E-step: mostly the right state, but never exactly 1.
    weights = 0.8 * one_hot(states) + 0.2 * np.random.default_rng(seed).dirichlet([1, 1], 4000)
    family, last = begin, -np.inf
    for _ in range(30):
        family = family.reestimate(values, weights)
        likelihood = float((weights * family.log_density(values)).sum())
        assert likelihood > last - 1e-9 * abs(likelihood)
        last = likelihood
    assert likelihood > (weights * truth.log_density(values)).sum()


def test_parameters_are_recovered_from_their_own_draws() -> None:
    values, states = drawn(GAMMA, 5, 20_000)
    gamma = Gamma(np.ones(2), np.full(2, 1e-3), 0.0)
    for _ in range(30):
        gamma = gamma.reestimate(values, one_hot(states))
    assert gamma.shift == pytest.approx(GAMMA.shift, abs=3e-6)
    np.testing.assert_allclose(gamma.means, GAMMA.means, rtol=0.05)
    np.testing.assert_allclose(gamma.shape, GAMMA.shape, rtol=0.15)
    values, states = drawn(STUDENT, 5, 20_000)
    student = Student(np.full(2, 2e-3), np.full(2, 1e-3), np.full(2, 10.0))
    for _ in range(30):
        student = student.reestimate(values, one_hot(states))
    np.testing.assert_allclose(student.location, STUDENT.location, rtol=0.005)
    np.testing.assert_allclose(student.scale, STUDENT.scale, rtol=0.05)
    assert student.degrees[0] == pytest.approx(4.0, rel=0.15)


def test_a_state_without_weight_stays_as_it_is() -> None:
    values, _ = drawn(GAMMA, 1)
    weights = np.zeros((4000, 2))
    weights[:, 0] = 1.0
    assert GAMMA.reestimate(values, weights).shape[1] == GAMMA.shape[1]
    assert STUDENT.reestimate(values, weights).location[1] == STUDENT.location[1]


@pytest.mark.parametrize(
    ("name", "emission"),
    [
        ("gaussian", Gaussian(np.array([1e-3, 2e-3]), np.array([5e-5, 1e-4]))),
        ("lognormal", LogNormal(np.log([1e-3, 4e-3]), np.array([0.15, 0.9]))),
    ],
)
def test_the_family_of_the_times_is_chosen(name: str, emission: Emission) -> None:
    rng = np.random.default_rng(6)
    states = np.repeat(rng.integers(0, 2, 60), 10)
    runs = [[emission.sample(states, rng) for _ in range(4)] for _ in range(2)]
    assert choose_family(runs, 2) == name


def test_a_family_that_does_not_allow_the_times_is_not_chosen() -> None:
    rng = np.random.default_rng(7)
    assert choose_family([[rng.normal(0.0, 1e-3, 400)]], 2) == "gaussian"
    assert choose_family([[np.full(1, 1e-3)]], 3) == "gaussian"
