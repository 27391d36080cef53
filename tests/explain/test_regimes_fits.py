"""Fits of every family: robust, with intervals that cover the truth, equal to scikit-learn's mixtures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.mixture import GaussianMixture  # type: ignore[import-untyped]

from haloscope import UsageError
from haloscope.markov import RegimeModel, Timings, find_regimes, select
from haloscope.markov.emissions import Emission, Gamma, Gaussian, LogNormal, Student

Floats = NDArray[np.float64]

FAMILIES: dict[str, Emission] = {
    "gaussian": Gaussian(np.array([1.8e-3, 2.0e-3]), np.array([6e-5, 1e-4])),
    "lognormal": LogNormal(np.log([1.8e-3, 2.2e-3]), np.array([0.03, 0.3])),
    "gamma": Gamma(np.array([4.0, 2.0]), np.array([2e-5, 2e-4]), 1.7e-3),
    "student": Student(np.array([1.8e-3, 2.2e-3]), np.array([5e-5, 2e-4]), np.array([5.0, 20.0])),
}
SERIES = 20
STAYS = np.array([[0.9, 0.1], [0.2, 0.8]])  # two thirds of the time in the first state


def regimes(transition: Floats, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.intp]:
    edges, states = transition.cumsum(axis=1)[:, :-1], np.zeros(shape, np.intp)
    for k in range(1, shape[1]):
        states[:, k] = (rng.random((shape[0], 1)) > edges[states[:, k - 1]]).sum(axis=1)
    return states


def drawn(family: str, seed: int, shape: tuple[int, int] = (5, 400), chain: Floats = STAYS) -> Floats:
    rng = np.random.default_rng(seed)
    states = regimes(chain, shape, rng)
    return FAMILIES[family].sample(states.ravel(), rng).reshape(shape)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_likelihood_does_not_fall_from_step_to_step(family: str) -> None:
    x = drawn(family, 1, (3, 300))
    reached = [
        RegimeModel(3, family, n_init=1, max_iter=steps, tol=-1, threads=1).fit(x).log_likelihood_
        for steps in (1, 2, 3, 4, 6, 9, 14)
    ]
    assert min(np.diff(reached)) > -1e-9 * abs(reached[-1])
    assert reached[-1] > reached[0]


def is_covered(family: str, memory: bool, seed: int, level: float) -> list[bool]:
    """Fit a series; return which intervals of means, deviations and shares have the truth inside."""
    truth = FAMILIES[family]
    x = drawn(family, seed, chain=STAYS if memory else np.full((2, 2), [2 / 3, 1 / 3]))
    found = RegimeModel(2, family, memory=memory, threads=1, n_init=3).fit(x).intervals(x, level=level)
    bounds = np.concatenate([found.means, found.stds, found.shares])
    expected = np.concatenate([truth.means, truth.stds, [2 / 3, 1 / 3]])
    inside: list[bool] = ((bounds[:, 0] < expected) & (expected < bounds[:, 1])).tolist()
    return inside


@pytest.mark.parametrize(
    ("family", "memory"),
    [
        pytest.param(family, memory, marks=[pytest.mark.long] * (family in ("gamma", "student")))
        for family in FAMILIES
        for memory in (True, False)
    ],
)
def test_intervals_have_their_coverage(family: str, memory: bool) -> None:
    covered = np.array([is_covered(family, memory, seed, 0.9) for seed in range(SERIES)])
    # Fewer than 13 of 20 have a probability of 0.0004 if the coverage is 0.9.
    assert covered.sum(axis=0).min() >= 13
    assert 0.82 <= covered.mean() <= 0.97


@pytest.mark.parametrize("family", ["gamma", "student"])
def test_intervals_of_slower_families_are_neither_too_narrow_nor_too_wide(family: str) -> None:
    assert all(is_covered(family, True, 0, 0.9999))
    assert not any(is_covered(family, True, 0, 0.01))


def test_a_skewed_regime_has_its_deviation() -> None:
    """Its shortest durations are nearer to the shift than those of other regimes."""
    truth = Gamma(np.array([1.5, 4.0]), np.array([2e-4, 3e-4]), 1e-3)
    chain = np.array([[0.95, 0.05], [0.1, 0.9]])
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = truth.sample(regimes(chain, (5, 400), rng).ravel(), rng).reshape(5, 400)
        found.append(RegimeModel(2, "gamma", n_init=2, threads=1).fit(x).stds_)
    np.testing.assert_allclose(np.mean(found, axis=0), truth.stds, rtol=0.03)


def test_intervals_narrow_with_the_square_root_of_the_instances() -> None:
    few, many = drawn("gaussian", 3, (5, 400)), drawn("gaussian", 3, (20, 1600))
    widths = [np.ptp(RegimeModel(2).fit(x).intervals(x).means, axis=1) for x in (few, many)]
    np.testing.assert_allclose(widths[0] / widths[1], 4.0, rtol=0.25)
    with pytest.raises(UsageError, match="level"):
        RegimeModel(2).fit(few).intervals(few, level=95)


def with_outliers(seed: int) -> tuple[Floats, NDArray[np.intp]]:
    """Draw three Gaussian regimes, where 1 % of the instances take 10 to 100 times as long."""
    rng = np.random.default_rng(seed)
    chain = np.array([[0.95, 0.03, 0.02], [0.04, 0.93, 0.03], [0.03, 0.05, 0.92]])
    states = regimes(chain, (20, 500), rng)
    x = rng.normal(np.array([1.8e-3, 2.2e-3, 3e-3])[states], np.array([6e-5, 8e-5, 2e-4])[states])
    gross = rng.random(states.shape) < 0.01
    x[gross] *= rng.uniform(10, 100, int(gross.sum()))
    return x, states


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_which_families_survive_one_percent_of_gross_outliers(seed: int) -> None:
    """Student-t recovers all regimes, log-normal all but the slow mean, Gaussian needs one more regime."""
    x, states = with_outliers(seed)
    student = RegimeModel(3, "student", n_init=3).fit(x)
    np.testing.assert_allclose(student.means_, [1.8e-3, 2.2e-3, 3e-3], rtol=0.005)
    assert np.mean(student.predict(x) == states) > 0.98
    lognormal = RegimeModel(3, "lognormal", n_init=10).fit(x)
    np.testing.assert_allclose(lognormal.means_[:2], [1.8e-3, 2.2e-3], rtol=0.005)
    assert np.mean(lognormal.predict(x) == states) > 0.98
    assert np.mean(RegimeModel(3, n_init=10).fit(x).predict(x) == states) < 0.9
    gaussian = RegimeModel(4, n_init=10).fit(x)
    np.testing.assert_allclose(gaussian.means_[:3], [1.8e-3, 2.2e-3, 3e-3], rtol=0.005)


def test_a_mixture_is_scikit_learns() -> None:
    x = drawn("gaussian", 2, (1, 3000))
    ours = RegimeModel(2, memory=False, tol=0, max_iter=3000).fit(x)
    scale = 1e3  # scikit-learn's regularisation would exceed variances in s²
    theirs = GaussianMixture(
        2, tol=1e-12, max_iter=3000, reg_covar=0, means_init=scale * ours.means_[:, None]
    ).fit(scale * x.T)
    np.testing.assert_allclose(ours.means_, theirs.means_.ravel() / scale, rtol=1e-5)
    np.testing.assert_allclose(ours.stds_, np.sqrt(theirs.covariances_.ravel()) / scale, rtol=1e-3)
    np.testing.assert_allclose(ours.start_, theirs.weights_, atol=1e-3)
    likelihood = theirs.score(scale * x.T) * x.size + x.size * np.log(scale)
    assert ours.log_likelihood_ == pytest.approx(likelihood, rel=1e-9)
    agreeing = ours.predict(x)[0] == theirs.predict(scale * x.T)
    assert agreeing.mean() > 0.999
    assert ours.bic(x) == pytest.approx(theirs.bic(scale * x.T) - 2 * x.size * np.log(scale), rel=1e-8)


def test_sticky_regimes_change_less_often() -> None:
    x = drawn("gaussian", 4)
    changes = []
    for stickiness in (0.0, 100.0, 10_000.0):
        model = RegimeModel(2, stickiness=stickiness).fit(x)
        assert model.converged_
        changes.append(int((np.diff(np.asarray(model.predict(x)).astype(int)) != 0).sum()))
    assert changes[0] > changes[1] > changes[2]
    # The maximum a posteriori: expected transitions and pseudo-counts, normalised.
    model = RegimeModel(2, stickiness=100.0, tol=1e-12, max_iter=1000).fit(x)
    posterior = np.asarray(model.predict_proba(x))[:, :-1].sum(axis=(0, 1))
    stays = np.diag(model.transition_)
    assert ((stays - 100 / (posterior + 100)) > 0).all()


def test_the_number_of_regimes_is_found_with_its_curves() -> None:
    x = drawn("gaussian", 6, (4, 500))
    found = select(x, 4, n_init=3)
    assert found.model.n_regimes == 2
    assert found.table["regimes"].to_list() == [1, 2, 3, 4]
    assert found.table["parameters"].to_list() == [2, 7, 14, 23]
    assert found.table["log_likelihood"].is_sorted()
    for model, row in zip(found.models, found.table.iter_rows(named=True), strict=True):
        assert row["bic"] == pytest.approx(
            -2 * row["log_likelihood"] + row["parameters"] * np.log(2000), rel=1e-9
        )
        assert row["aic"] == pytest.approx(model.aic(x))
        paths = model.predict(x)
        assert isinstance(paths, np.ndarray)
        complete = float(np.sum(norm.logpdf(x, model.means_[paths], model.stds_[paths])))
        with np.errstate(divide="ignore"):
            complete += np.log(model.start_)[paths[:, 0]].sum()
            complete += np.log(model.transition_)[paths[:, :-1], paths[:, 1:]].sum()
        assert row["icl"] == pytest.approx(-2 * complete + row["parameters"] * np.log(2000), rel=1e-9)
    # The shift of gamma regimes counts once. Without a chain there are only weights.
    assert RegimeModel(3, "gamma").n_parameters_ == 8 + 6 + 1
    assert RegimeModel(3, "student", memory=False).n_parameters_ == 2 + 9
    assert select(x[:1, :3], 6).table.height <= 3
    with pytest.raises(UsageError, match="none of elbow, aic, bic, icl"):
        select(x, 2, "hqc")  # type: ignore[arg-type]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_comes_back_from_its_file(tmp_path: Path, family: str) -> None:
    found = find_regimes(
        Timings.from_matrix(drawn(family, 7), "run", "solve"), RegimeModel(2, family, n_init=2)
    )
    found.model.save(tmp_path / "model.json")
    back = RegimeModel.load(tmp_path / "model.json")
    np.testing.assert_array_equal(back.predict(found.timings.durations), found.states)
    assert back.score(found.timings.durations) == pytest.approx(found.model.log_likelihood_, rel=1e-6)
    assert (back.log_likelihood_, back.converged_) == (found.model.log_likelihood_, True)
    assert dict(back.source_) == {
        "name": "run",
        "region": "solve",
        "ranks": found.training.tolist(),
        "instances": 400,
    }
    with pytest.raises(UsageError, match="fit first"):
        RegimeModel(2).save(tmp_path / "model.json")
