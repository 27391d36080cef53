"""RegimeModel: against hmmlearn, on data with known regimes, and on data without regimes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from haloscope import TimingsError, UsageError
from haloscope.explain import RegimeModel
from haloscope.markov import Timings, find_regimes, representative
from haloscope.markov.emissions import LogNormal
from support.chains import Truth, hmmlearn_model

Floats = NDArray[np.float64]


def drawn(seed: int, sequences: int = 20, length: int = 500, states: int = 3) -> Floats:
    rng = np.random.default_rng(seed)
    return np.stack([Truth.of(states).draw(rng, length)[0] for _ in range(sequences)])


def as_hmmlearn(model: RegimeModel) -> Any:
    return hmmlearn_model(Truth(model.start_, model.transition_, model.means_, model.stds_))


def test_fitted_model_is_hmmlearns() -> None:
    """Scores, paths and posteriors are the same, and hmmlearn cannot improve the fit."""
    x = drawn(0)
    column, lengths = x.reshape(-1, 1), [x.shape[1]] * len(x)
    model = RegimeModel(3, tol=1e-12, max_iter=500).fit(x)
    oracle = as_hmmlearn(model)
    assert model.score(x) == pytest.approx(oracle.score(column, lengths), rel=1e-8)
    assert model.log_likelihood_ == model.score(x)
    assert model.bic(x) == pytest.approx(oracle.bic(column, lengths), rel=1e-8)
    assert model.aic(x) == pytest.approx(oracle.aic(column, lengths), rel=1e-8)
    path = oracle.predict(column, lengths)
    np.testing.assert_array_equal(model.predict(x), path.reshape(x.shape))
    posterior = oracle.predict_proba(column, lengths)
    np.testing.assert_allclose(model.predict_proba(x), posterior.reshape(*x.shape, 3), atol=1e-9)
    again = oracle.fit(column, lengths)
    np.testing.assert_allclose(again.means_[:, 0], model.means_, rtol=1e-5)
    np.testing.assert_allclose(np.sqrt(again.covars_[:, 0, 0]), model.stds_, rtol=1e-5)
    np.testing.assert_allclose(again.transmat_, model.transition_, rtol=1e-4)
    np.testing.assert_allclose(again.startprob_, model.start_, atol=1e-5)
    assert model.converged_
    assert model.warnings_ == ()


def test_parameters_are_recovered() -> None:
    truth = Truth.of(3)
    errors = []
    for seed in range(5):
        model = RegimeModel(3, n_init=3, random_state=seed).fit(drawn(seed))
        assert model.converged_
        np.testing.assert_allclose(model.means_, truth.means, rtol=0.02)
        np.testing.assert_allclose(model.stds_, truth.stds, rtol=0.06)
        np.testing.assert_allclose(model.transition_, truth.transition, atol=0.02)
        errors.append(model.means_ / truth.means - 1)
    assert np.abs(np.mean(errors, axis=0)).max() < 0.008  # no bias compared with the scatter


@pytest.mark.parametrize("emission", ["gaussian", "lognormal"])
def test_shape_of_x_is_kept(emission: str) -> None:
    rows = [row[:n] for row, n in zip(drawn(1, 4), (500, 3, 1, 77), strict=True)]
    padded = np.full((4, 500), np.nan)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    model = RegimeModel(3, emission).fit(rows)
    same = RegimeModel(3, emission).fit(padded)
    assert same.log_likelihood_ == model.log_likelihood_ == model.score(padded)
    parts, matrix = model.predict(rows), model.predict(padded)
    assert isinstance(matrix, np.ndarray)
    for part, row, values in zip(parts, matrix, rows, strict=True):
        np.testing.assert_array_equal(part, row[: len(values)])
        assert (row[len(values) :] == 255).all()
    one = model.predict_proba(rows[0])
    assert isinstance(one, np.ndarray)
    assert one.shape == (500, 3)
    np.testing.assert_allclose(one.sum(1), 1)


def test_log_normal_is_gaussian_of_logarithms() -> None:
    x = drawn(2)
    model, logs = RegimeModel(3, "lognormal").fit(x), RegimeModel(3).fit(np.log(x))
    np.testing.assert_allclose(model.parameters_["log_mean"], logs.means_, rtol=1e-6)
    assert model.score(x) == pytest.approx(logs.score(np.log(x)) - np.log(x).sum(), rel=1e-8)
    general = LogNormal(model.parameters_["log_mean"], model.parameters_["log_std"])
    assert general.means == pytest.approx(model.means_)
    states, rng = np.repeat([0, 1, 2], 100_000), np.random.default_rng(0)
    sample = general.sample(states, rng).reshape(3, -1)
    np.testing.assert_allclose(sample.mean(1), model.means_, rtol=0.01)
    np.testing.assert_allclose(sample.std(1), model.stds_, rtol=0.02)


@pytest.mark.slow
def test_seed_decides_and_threads_do_not() -> None:
    x = drawn(3, 30)
    fits = [RegimeModel(4, n_init=4, random_state=7, threads=n).fit(x) for n in (1, 2, 5)]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.means_, fits[0].means_)
        assert fit.log_likelihood_ == fits[0].log_likelihood_
    single = RegimeModel(4, random_state=7).fit(x)
    assert fits[0].log_likelihood_ >= single.log_likelihood_


def test_a_sample_has_the_regimes_of_the_model() -> None:
    model = RegimeModel(3).fit(drawn(4))
    values, states = model.sample(20_000)
    again = RegimeModel(3).fit(values)
    np.testing.assert_allclose(again.means_, model.means_, rtol=0.05)
    np.testing.assert_allclose(again.transition_, model.transition_, atol=0.02)
    assert (model.predict(values) == states).mean() > 0.97  # type: ignore[union-attr]


def test_without_memory_regimes_are_independent() -> None:
    model = RegimeModel(3, memory=False).fit(drawn(5))
    np.testing.assert_array_equal(model.transition_, np.tile(model.start_, (3, 1)))
    assert model.n_parameters_ == 8
    sticky = RegimeModel(3, stickiness=1e5).fit(drawn(5))
    assert np.diag(sticky.transition_).min() > np.diag(RegimeModel(3).fit(drawn(5)).transition_).max()


@pytest.mark.parametrize(
    ("x", "regimes", "warning"),
    [
        (np.full((3, 50), 1e-5), 2, "one regime"),
        (np.array([1.0, 2.0, 3.0, 4.0]), 3, "mean little"),
        (np.repeat([1e-5, 2e-5, 2e-5], 50), 2, "kept from zero"),
        (np.full(1, 1e-5), 1, "one regime"),
        (np.zeros((2, 9)), 2, "one regime"),
    ],
)
def test_degenerate_data_have_an_answer_and_a_warning(x: Floats, regimes: int, warning: str) -> None:
    model = RegimeModel(regimes).fit(x)
    assert np.isfinite(model.means_).all()
    assert (model.stds_ > 0).all()
    assert np.isfinite(model.log_likelihood_)
    assert any(warning in line for line in model.warnings_)
    np.testing.assert_allclose(model.transition_.sum(1), 1)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([], "no instances"),
        ([1.0, 2.0], "2 instances are too few for 3 regimes"),
        ([[1.0, np.nan, 2.0, 3.0]], "NaN before its end"),
        ([[1.0, np.inf, 2.0, 3.0]], "cannot be seconds"),
        ([[1.0, 1e200, 2.0, 3.0]], "cannot be seconds"),
        (np.zeros((2, 2, 2)), "3 axes"),
    ],
)
def test_bad_data_are_one_line(x: Floats, message: str) -> None:
    with pytest.raises(TimingsError, match=message):
        RegimeModel(3).fit(x)


def test_bad_options_are_one_line() -> None:
    with pytest.raises(UsageError, match="0 regimes"):
        RegimeModel(0)
    with pytest.raises(UsageError, match="'poisson' is none of gaussian"):
        RegimeModel(2, "poisson")
    with pytest.raises(UsageError, match="call fit first"):
        RegimeModel(2).predict([1.0])
    with pytest.raises(TimingsError, match="cannot be log-normal"):
        RegimeModel(2, "lognormal").fit([0.0, 1.0, 2.0, 3.0])
    with pytest.raises(TimingsError, match="cannot be log-normal"):
        RegimeModel(2, "lognormal").fit([1.0, 1.1, 2.0, 2.2]).score([0.0, 1.0])


def test_outliers_leave_the_regimes() -> None:
    """1 % of the times are 1000 times as long: the other regimes do not change."""
    truth, x = Truth.of(2), drawn(6, states=2)
    x[np.random.default_rng(0).random(x.shape) < 0.01] *= 1000
    model = RegimeModel(3, n_init=5).fit(x)
    np.testing.assert_allclose(model.means_[:2], truth.means, rtol=0.03)


def test_algorithm_1() -> None:
    x = drawn(7, 50) * np.linspace(1, 1.05, 50)[::-1, None]
    timings = Timings.from_matrix(x)
    chosen = representative(timings, 5)
    order = np.argsort(np.median(x, axis=1), kind="stable")
    np.testing.assert_array_equal(chosen, order[[0, 12, 24, 37, 49]])
    found = find_regimes(timings, RegimeModel(3), ranks=5, instances=slice(100, 400))
    alone = RegimeModel(3).fit(x[chosen, 100:400])
    np.testing.assert_array_equal(found.training, chosen)
    np.testing.assert_allclose(found.model.means_, alone.means_)
    np.testing.assert_array_equal(found.states, alone.predict(x))
    numbers = np.arange(100, 400)
    same = find_regimes(timings, RegimeModel(3), ranks=5, instances=numbers)
    np.testing.assert_array_equal(same.states, found.states)
    assert len(find_regimes(timings, RegimeModel(3)).training) == 20
    with pytest.raises(UsageError, match="choose others"):
        find_regimes(timings, RegimeModel(3), instances=slice(900, None))


def test_algorithm_1_on_short_ranks_and_on_a_reduced_series() -> None:
    x = drawn(8, 12)
    x[3, 200:] = np.nan
    timings = Timings.from_matrix(x)
    found = find_regimes(timings, RegimeModel(3), ranks=4)
    np.testing.assert_array_equal(found.states == 255, np.isnan(x))
    reduced = find_regimes(timings.reduce("max"), RegimeModel(2))
    assert reduced.states.shape == (1, 500)
    np.testing.assert_array_equal(reduced.training, [0])
