"""The native kernels against hmmlearn, brute force, and their other instruction sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp

from haloscope.profile import kernels
from haloscope.profile.kernels import Chain, SequenceBounds
from support.chains import Truth, hmmlearn_model, staying

Floats = NDArray[np.float64]
ALIKE = Chain(np.full(2, 0.5), staying(2, 0.9))


def chain_of(truth: Truth) -> Chain:
    return Chain(truth.start, truth.transition)


def places_of(lengths: NDArray[np.int64]) -> SequenceBounds:
    """Return the slices of consecutive sequences of these lengths."""
    return SequenceBounds(np.cumsum(lengths) - lengths, lengths)


@pytest.fixture(params=range(len(kernels.instruction_sets())), ids=kernels.instruction_sets())
def instructions(request: pytest.FixtureRequest) -> Iterator[None]:
    kernels._instruction_set = request.param
    yield
    kernels._instruction_set = 0


def ragged(states: int, lengths: list[int]) -> tuple[Truth, Floats, NDArray[np.int64]]:
    truth, rng = Truth.of(states), np.random.default_rng(states)
    values = np.concatenate([truth.draw(rng, length)[0] for length in lengths])
    return truth, values, np.array(lengths)


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("states", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("lengths", [[60] * 11, [1, 100, 2, 17, 16, 15, 99, 8, 33], [50]])
def test_agrees_with_hmmlearn(states: int, lengths: list[int]) -> None:
    truth, values, sizes = ragged(states, lengths)
    places, column = places_of(sizes), values[:, None]
    oracle = hmmlearn_model(truth)
    likelihood, posterior = oracle.score_samples(column, sizes)
    density = np.ascontiguousarray(oracle._compute_log_likelihood(column))
    gaussian = (values, places, chain_of(truth), truth.means, truth.stds)
    counts = kernels.gaussian_expectation(*gaussian)
    general = kernels.expectation(density, places, chain_of(truth))
    for found in (counts.log_likelihood, general.log_likelihood):
        assert found.sum() == pytest.approx(likelihood, rel=1e-10)
    np.testing.assert_allclose(general.posterior, posterior, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(kernels.gaussian_posterior(*gaussian), posterior, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(counts.weight, posterior.sum(0), rtol=1e-8)
    np.testing.assert_allclose(counts.transition, general.transition, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(counts.start, posterior[places.begins].sum(0), rtol=1e-8)
    path = oracle.predict(column, sizes)
    np.testing.assert_array_equal(kernels.gaussian_viterbi(*gaussian), path)
    np.testing.assert_array_equal(kernels.viterbi(density, places, chain_of(truth)), path)


@pytest.mark.parametrize("states", [2, 3, 6])
def test_one_step_is_hmmlearns(states: int) -> None:
    truth, values, sizes = ragged(states, [700, 30, 500])
    counts = kernels.gaussian_expectation(values, places_of(sizes), chain_of(truth), truth.means, truth.stds)
    oracle = hmmlearn_model(truth).fit(values[:, None], sizes)
    shift = counts.first / counts.weight
    variance = counts.second / counts.weight - shift**2
    np.testing.assert_allclose(truth.means + shift, oracle.means_[:, 0], rtol=1e-9)
    np.testing.assert_allclose(variance, oracle.covars_[:, 0, 0], rtol=1e-8)
    transition = counts.transition / counts.transition.sum(1, keepdims=True)
    np.testing.assert_allclose(transition, oracle.transmat_, rtol=1e-8)
    np.testing.assert_allclose(counts.start / len(sizes), oracle.startprob_, rtol=1e-8)


@st.composite
def short_problems(draw: st.DrawFn) -> tuple[Floats, Chain]:
    states, length = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    density = rng.normal(0, draw(st.sampled_from([1.0, 30.0, 2000.0])), (length, states))
    start, transition = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    for _ in range(draw(st.integers(0, 3))):  # impossible transitions
        transition[rng.integers(states), rng.integers(states)] = 0
    transition += np.eye(states) * (transition.sum(1, keepdims=True) == 0)
    return density, Chain(start, transition / transition.sum(1, keepdims=True))


# The likeliest initial state cannot be reached again from any state.
LEFT_BEHIND = (
    np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -0.5, 0.0], [0.0, 0.0, -0.5]]),
    Chain(np.array([0.8, 0.1, 0.1]), np.array([[0.0, 0.2, 0.8], [0.0, 0.1, 0.9], [0.0, 0.8, 0.2]])),
)


# The state with the worst fit at first is the only one that stays possible.
LATE = (
    np.array([[-2800.0, 200.0], [-2200.0, -2450.0], [2900.0, 1600.0], [-1950.0, -3800.0]]),
    Chain(np.array([0.9, 0.1]), np.eye(2)),
)


@example(LEFT_BEHIND)
@example(LATE)
@settings(max_examples=150)
@given(short_problems())
def test_results_equal_those_of_all_paths(problem: tuple[Floats, Chain]) -> None:
    density, chain = problem
    length, states = density.shape
    paths = np.array(list(itertools.product(range(states), repeat=length)))
    with np.errstate(divide="ignore"):
        scores = np.log(chain.start)[paths[:, 0]] + density[np.arange(length), paths].sum(1)
        scores += np.log(chain.transition)[paths[:, :-1], paths[:, 1:]].sum(1)
    places = places_of(np.array([length]))
    found = kernels.expectation(density, places, chain)
    total = logsumexp(scores)
    np.testing.assert_allclose(found.log_likelihood[0], total, rtol=1e-11, atol=1e-11)
    weights = np.exp(scores - total)
    expected = [[weights[paths[:, t] == j].sum() for j in range(states)] for t in range(length)]
    np.testing.assert_allclose(found.posterior, expected, rtol=1e-8, atol=1e-11)
    best = kernels.viterbi(density, places, chain)
    np.testing.assert_allclose(scores[(paths == best).all(1)], scores.max(), rtol=1e-12)


@pytest.mark.usefixtures("instructions")
def test_a_million_instances_do_not_underflow() -> None:
    """This includes distant regimes, and the limits of the blocks of a history."""
    truth, rng = Truth.of(3), np.random.default_rng(0)
    part, states = truth.draw(rng, 10_000)
    values = np.tile(part, 100)
    arguments = (values, places_of(np.array([len(values)])), chain_of(truth), truth.means, truth.stds)
    counts = kernels.gaussian_expectation(*arguments)
    short = kernels.gaussian_log_likelihood(part, places_of(np.array([len(part)])), *arguments[2:])
    # Each part is followed by the next one, which costs one transition.
    assert counts.log_likelihood[0] == pytest.approx(100 * short[0], rel=1e-3)
    assert counts.weight.sum() == pytest.approx(len(values), rel=1e-9)
    assert counts.transition.sum() == pytest.approx(len(values) - 1, rel=1e-9)
    np.testing.assert_allclose(kernels.gaussian_posterior(*arguments).sum(1), 1, rtol=1e-12)
    assert (kernels.gaussian_viterbi(*arguments) == np.tile(states, 100)).mean() > 0.99


@pytest.mark.usefixtures("instructions")
def test_times_that_no_state_explains() -> None:
    """Impossible instants and transitions: logarithms give their likelihood, without underflow."""
    chain = Chain(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    values = np.array([0.0, 0.1, 2000.0, 0.0])
    arguments = (values, places_of(np.array([4])), chain, np.array([0.0, 2000.0]), np.ones(2))
    expected = -2 * np.log(2 * np.pi) - 0.5 * (0.01 + 4e6)
    found = kernels.gaussian_expectation(*arguments)
    assert found.log_likelihood[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(found.weight, [4, 0], atol=1e-12)
    np.testing.assert_array_equal(kernels.gaussian_viterbi(*arguments), 0)
    nowhere = np.full((5, 2), -np.inf)
    general = kernels.expectation(nowhere, places_of(np.array([5])), ALIKE)
    assert general.log_likelihood[0] == -np.inf
    np.testing.assert_allclose(general.posterior.sum(1), 1)
    assert set(kernels.viterbi(nowhere, places_of(np.array([5])), ALIKE)) <= {0, 1}


def test_neither_threads_nor_instruction_set_matter() -> None:
    truth, values, sizes = ragged(3, [500] * 40 + [3, 77])
    arguments = (values, places_of(sizes), chain_of(truth), truth.means, truth.stds)
    results = []
    for chosen, threads in itertools.product(range(len(kernels.instruction_sets())), (1, 2, 3)):
        kernels._instruction_set = chosen
        try:
            found = kernels.gaussian_expectation(*arguments, threads)
        finally:
            kernels._instruction_set = 0
        results.append((chosen, found))
    for (chosen, found), (before, other) in itertools.pairwise(results):
        np.testing.assert_allclose(found.second, other.second, rtol=1e-11)
        np.testing.assert_allclose(found.log_likelihood, other.log_likelihood, rtol=1e-12)
        if chosen == before:
            np.testing.assert_array_equal(found.transition, other.transition)


def test_invalid_batches_are_refused() -> None:
    truth, values, sizes = ragged(2, [10])
    rest = (chain_of(truth), truth.means, truth.stds)
    with pytest.raises(ValueError, match="not within the points"):
        kernels.gaussian_viterbi(values, SequenceBounds(np.array([1]), sizes), *rest)
    with pytest.raises(ValueError, match="contiguous array of float64"):
        kernels.gaussian_viterbi(values[::2], places_of(sizes), *rest)
    with pytest.raises(ValueError, match="33 states"):
        kernels.viterbi(np.zeros((10, 33)), places_of(sizes), Chain(np.full(33, 1 / 33), staying(33, 0.9)))


@pytest.mark.usefixtures("instructions")
def test_a_sequence_that_ends_waits_for_longer_ones() -> None:
    """Sequences have the same paths in a batch as alone, though states change all the time."""
    lengths = [3, 40, 17, 8, 1, 24, 9, 33]
    density = np.random.default_rng(5).normal(size=(sum(lengths), 2))
    chain = Chain(np.array([0.5, 0.5]), np.array([[0.05, 0.95], [0.95, 0.05]]))
    alone = [
        kernels.viterbi(part, places_of(np.array([len(part)])), chain)
        for part in np.split(density, np.cumsum(lengths)[:-1])
    ]
    together = kernels.viterbi(density, places_of(np.array(lengths)), chain)
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_medians_are_exact() -> None:
    """This includes two equal halves, of which a sample of every second value has only the higher one."""
    halves, many = np.tile([3.0, 1.0], 1024), np.random.default_rng(0).normal(size=4001)
    values, sizes = np.concatenate([halves, many, many[:6]]), np.array([2048, 4001, 6])
    found = kernels.medians(values, places_of(sizes), 1)
    np.testing.assert_array_equal(found, [2, np.median(many), np.median(many[:6])])
