"""The whole-machine model: its passes by brute force, its bound, and the truth it finds."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

from haloscope.base.errors import ProfileError, UsageError
from haloscope.explain.regimes import MachineModel, RegimeModel
from haloscope.explain.regimes.fitting._coupled import Chains, evidence, expectation, viterbi


def some_chains(rng: np.random.Generator, machine: int = 2, states: int = 3) -> Chains:
    return Chains(
        rng.dirichlet(np.ones(machine)),
        rng.dirichlet(np.ones(machine), machine),
        rng.dirichlet(np.ones(states)),
        rng.dirichlet(np.ones(states), (machine, states)),
    )


def enumerated(
    density: NDArray[np.float64], start: NDArray[np.float64], transitions: NDArray[np.float64]
) -> tuple[list[tuple[int, ...]], NDArray[np.float64]]:
    """All paths of one rank, (T, K) log-densities, with their log-probabilities."""
    length, states = density.shape
    paths = list(product(range(states), repeat=length))
    scores = []
    for path in paths:
        score = np.log(start[path[0]]) + density[0, path[0]]
        for k in range(1, length):
            score += np.log(transitions[k, path[k - 1], path[k]]) + density[k, path[k]]
        scores.append(score)
    return paths, np.array(scores)


@pytest.mark.parametrize("seed", range(4))
def test_passes_agree_with_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = np.array([5, 3, 1])
    density = rng.normal(0, 3, (5, 3, 3))
    start, transitions = rng.dirichlet(np.ones(3)), rng.random((5, 3, 3))
    posterior, pairs, total = np.zeros((5, 3, 3)), np.zeros((5, 3, 3)), 0.0
    best = viterbi(density, start, transitions)
    for rank, length in enumerate(lengths):
        paths, scores = enumerated(density[:length, rank], start, transitions)
        total += logsumexp(scores)
        for path, weight in zip(paths, np.exp(scores - logsumexp(scores)), strict=True):
            for k in range(length):
                posterior[k, rank, path[k]] += weight
                if k:
                    pairs[k, path[k - 1], path[k]] += weight
        if length == len(density):
            assert tuple(best[:length, rank]) == paths[int(scores.argmax())]
    found = expectation(density, lengths, start, transitions)
    assert found.log_likelihood == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(found.posterior, posterior, atol=1e-12)
    np.testing.assert_allclose(found.pairs, pairs, atol=1e-12)


def exactly(
    chains: Chains, density: NDArray[np.float64], lengths: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64]]:
    """The log-likelihood and the posterior of the machine's states, over all its paths."""
    length = len(density)
    paths = list(product(range(len(chains.machine)), repeat=length))
    scores = []
    for path in paths:
        score = np.log(chains.machine_start[path[0]])
        score += sum(np.log(chains.machine[path[k - 1], path[k]]) for k in range(1, length))
        ranks = expectation(density, lengths, chains.start, chains.ranks[list(path)])
        scores.append(score + ranks.log_likelihood)
    total = float(logsumexp(scores))
    weights = np.exp(np.array(scores) - total)
    posterior = np.zeros((length, len(chains.machine)))
    for path, weight in zip(paths, weights, strict=True):
        posterior[np.arange(length), path] += weight
    return total, posterior


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_rises_to_just_below_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chains, ranks = some_chains(rng), 30
    truth = np.array([0, 0, 1, 1, 0, 1])
    states = np.zeros((6, ranks), int)
    for k in range(1, 6):
        edges = chains.ranks[truth[k]][states[k - 1]].cumsum(axis=1)[:, :-1]
        states[k] = (rng.random((ranks, 1)) > edges).sum(axis=1)
    density = np.where(states[..., None] == np.arange(3), 0.0, -2.0) + rng.normal(0, 1, (6, ranks, 3))
    lengths = np.array([6] * 25 + [4] * 5)
    likelihood, posterior = exactly(chains, density, lengths)
    belief, bounds = np.full((6, 2), 0.5), []
    for _ in range(15):
        believed = evidence(chains, density, lengths, belief)
        belief = believed.machine
        bounds.append(believed.bound)
    assert (np.diff(bounds) > -1e-9 * abs(likelihood)).all()
    assert bounds[-1] <= likelihood + 1e-9 * abs(likelihood)
    assert bounds[-1] > likelihood - 3.0
    sure = posterior[1:].max(axis=1) > 0.95  # the first instance has no transition to tell from
    np.testing.assert_array_equal(belief[1:].argmax(1)[sure], posterior[1:].argmax(1)[sure])


def slowed(
    seed: int, ranks: int, instances: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Durations, regimes and machine states: slowdowns of all ranks, and of some on their own."""
    rng = np.random.default_rng(seed)
    machine, states = np.zeros(instances, np.int64), np.zeros((instances, ranks), np.int64)
    slow = np.array([[[0.99], [0.4]], [[0.05], [0.05]]])  # to stay fast, or become it
    for k in range(1, len(states)):
        machine[k] = rng.random() > (0.96, 0.4)[machine[k - 1]]
        states[k] = (rng.random((ranks, 1)) > slow[machine[k]][states[k - 1]]).sum(axis=1)
    x = rng.normal(np.array([1.8e-3, 1.92e-3])[states], np.array([8e-5, 1.2e-4])[states])
    return x.T.copy(), states.T, machine


def test_machine_wide_and_isolated_slowdowns_are_told_apart() -> None:
    x, states, machine = slowed(1, 40, 700)
    alone = np.asarray(RegimeModel(2).fit(x).predict(x))
    together = MachineModel(2).fit(x)
    found = together.decode(x)
    assert together.converged_
    assert min(np.diff(together.bounds_)) > -1e-9 * abs(together.bounds_[-1])
    errors_alone, errors = (alone != states).mean(), (found.ranks != states).mean()
    assert errors < 0.6 * errors_alone
    guessed = (alone == 1).mean(axis=0) > 0.5
    assert (found.machine != machine).mean() < 0.2 * (guessed != machine).mean()
    assert (found.machine != machine).mean() < 0.01
    np.testing.assert_allclose(together.means_, [1.8e-3, 1.92e-3], rtol=0.005)
    np.testing.assert_allclose(together.transitions_[0], [[0.99, 0.01], [0.4, 0.6]], atol=0.04)
    np.testing.assert_allclose(together.machine_transition_, [[0.96, 0.04], [0.4, 0.6]], atol=0.15)


def test_ranks_may_end_early_and_a_hole_is_refused() -> None:
    x, states, machine = slowed(3, 12, 300)
    x[4, 150:] = np.nan
    found = MachineModel(2, max_iter=20).fit(x).decode(x)
    assert (found.ranks[4, 150:] == 255).all()
    assert (found.ranks[4, :150] == states[4, :150]).mean() > 0.9
    assert (found.machine == machine).mean() > 0.95
    x[4, 200] = 1e-3
    with pytest.raises(UsageError, match="missing between others"):
        MachineModel(2).fit(x)


def test_a_machine_model_comes_back_from_its_file(tmp_path: Path) -> None:
    x, _, _ = slowed(4, 10, 200)
    model = MachineModel(2, max_iter=10).fit(x)
    model.save(tmp_path / "model.json")
    back = MachineModel.load(tmp_path / "model.json")
    np.testing.assert_array_equal(back.decode(x).machine, model.decode(x).machine)
    np.testing.assert_array_equal(back.decode(x).ranks, model.decode(x).ranks)
    # Who knows of no machines reads independent ranks.
    single = RegimeModel.load(tmp_path / "model.json")
    np.testing.assert_allclose(single.transition_.sum(axis=1), 1.0)
    np.testing.assert_allclose(single.means_, model.means_)
    RegimeModel(2).fit(x).save(tmp_path / "single.json")
    with pytest.raises(ProfileError, match="no machine"):
        MachineModel.load(tmp_path / "single.json")
