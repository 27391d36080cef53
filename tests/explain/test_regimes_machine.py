"""The whole-machine model: its passes against brute force, its bound, and recovered parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm

from haloscope import ProfileError, UsageError
from haloscope.markov import MachineModel, RegimeModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """A model with known parameters, and times, (ranks, instances)."""

    model: MachineModel
    x: Floats

    @cached_property
    def density(self) -> Floats:
        """Log-densities, (ranks, instances, regimes)."""
        return np.asarray(norm.logpdf(self.x[..., None], self.model.means_, self.model.stds_))

    def alphas(self, machine: Sequence[int]) -> Floats:
        """Return the log-probabilities, (ranks, regimes), of all times given a path of the machine."""
        transitions = np.log(self.model.transitions_)
        score = np.log(self.model.start_) + self.density[:, 0]
        for k in range(1, self.x.shape[1]):
            score = logsumexp(score[:, :, None] + transitions[machine[k]], axis=1)
            # A rank that has ended has no more observations.
            score = score + np.nan_to_num(self.density[:, k])
        return np.asarray(score)

    def of_machine(self) -> tuple[float, Floats]:
        """Return the log-likelihood and the posterior of the machine's states, over all of its paths."""
        instances, states = self.x.shape[1], len(self.model.machine_start_)
        paths = list(product(range(states), repeat=instances))
        scores = []
        for path in paths:
            score = np.log(self.model.machine_start_[path[0]])
            score += sum(np.log(self.model.machine_transition_[a, b]) for a, b in pairwise(path))
            scores.append(score + logsumexp(self.alphas(path), axis=1).sum())
        total = float(logsumexp(scores))
        posterior = np.zeros((instances, states))
        for path, weight in zip(paths, np.exp(np.array(scores) - total), strict=True):
            posterior[np.arange(instances), path] += weight
        return total, posterior

    def likeliest(self, rank: int, machine: Sequence[int]) -> tuple[int, ...]:
        """Return the likeliest regimes of a rank given a path of the machine, from all paths of regimes."""
        density = self.density[rank, ~np.isnan(self.x[rank])]
        transitions = np.log(self.model.transitions_)

        def score(path: tuple[int, ...]) -> float:
            steps = sum(transitions[machine[k], a, b] for k, (a, b) in enumerate(pairwise(path), 1))
            return float(np.log(self.model.start_[path[0]]) + density[range(len(path)), path].sum() + steps)

        return max(product(range(len(self.model.means_)), repeat=len(density)), key=score)


def known(path: Path, seed: int, machine: int = 2, ranks: int = 30) -> Known:
    """Draw parameters, and six instances of each rank. Some ranks end after four."""
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.ones(3), (machine, 3))
    record = {
        "format": "haloscope-regimes",
        "version": 1,
        "unit": "s",
        "family": "gaussian",
        "regimes": [{"mean": mean, "std": 0.5} for mean in (1.0, 2.0, 3.0)],
        "start": rng.dirichlet(np.ones(3)).tolist(),
        "transition": np.full((3, 3), 1 / 3).tolist(),
        "machine": {
            "start": rng.dirichlet(np.ones(machine)).tolist(),
            "transition": rng.dirichlet(np.ones(machine), machine).tolist(),
            "transitions": transitions.tolist(),
        },
    }
    path.write_text(json.dumps(record))
    truth, states = (0, 0, machine - 1, machine - 1, 0, machine - 1), np.zeros((ranks, 6), int)
    for k in range(1, 6):
        edges = transitions[truth[k]][states[:, k - 1]].cumsum(axis=1)[:, :-1]
        states[:, k] = (rng.random((ranks, 1)) > edges).sum(axis=1)
    x = rng.normal(1.0 + states, 0.5)
    x[-5:, 4:] = np.nan
    return Known(MachineModel.load(path), x)


@pytest.mark.parametrize("seed", range(4))
def test_decoding_agrees_with_all_paths(tmp_path: Path, seed: int) -> None:
    one = known(tmp_path / "model.json", seed)
    found = one.model.decode(one.x)
    posterior = one.of_machine()[1]
    sure = posterior[1:].max(axis=1) > 0.95  # the first instance has no transition
    assert sure.any()
    np.testing.assert_array_equal(found.machine[1:][sure], posterior[1:].argmax(axis=1)[sure])
    np.testing.assert_array_equal(found.posterior[1:].argmax(1)[sure], posterior[1:].argmax(axis=1)[sure])
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)


@pytest.mark.parametrize("seed", range(4))
def test_ranks_of_a_machine_with_one_state_are_decoded_alone(tmp_path: Path, seed: int) -> None:
    one = known(tmp_path / "model.json", seed, machine=1, ranks=8)
    found = one.model.decode(one.x)
    assert (found.machine == 0).all()
    for rank, row in enumerate(found.ranks):
        assert tuple(row[~np.isnan(one.x[rank])]) == one.likeliest(rank, [0] * 6)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_rises_to_just_below_the_likelihood(tmp_path: Path, seed: int) -> None:
    x = known(tmp_path / "model.json", seed).x
    model = MachineModel(3, max_iter=400, tol=1e-9).fit(x)
    likelihood, _ = Known(model, x).of_machine()
    assert model.converged_
    assert len(model.bounds_) == model.n_iter_ > 1
    assert min(np.diff(model.bounds_)) > -1e-9 * abs(likelihood)
    assert likelihood - 3.0 < model.bounds_[-1] <= likelihood + 1e-9 * abs(likelihood)


def test_with_one_state_the_bound_is_the_likelihood(tmp_path: Path) -> None:
    x = known(tmp_path / "model.json", 0).x
    model = MachineModel(3, 1, max_iter=400, tol=1e-9).fit(x)
    model.save(tmp_path / "model.json")
    alone = RegimeModel.load(tmp_path / "model.json")
    assert alone.score(x) == pytest.approx(model.bounds_[-1], rel=1e-9)
    np.testing.assert_allclose(alone.transition_, model.transitions_[0])


def slowed(seed: int, ranks: int, instances: int) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Draw durations, regimes and machine states: slowdowns of all ranks, and of single ranks."""
    rng = np.random.default_rng(seed)
    machine, states = np.zeros(instances, np.int64), np.zeros((instances, ranks), np.int64)
    slow = np.array([[[0.99], [0.4]], [[0.05], [0.05]]])  # probabilities to stay fast, or to become fast
    for k in range(1, len(states)):
        machine[k] = rng.random() > (0.96, 0.4)[machine[k - 1]]
        states[k] = (rng.random((ranks, 1)) > slow[machine[k]][states[k - 1]]).sum(axis=1)
    x = rng.normal(np.array([1.8e-3, 1.92e-3])[states], np.array([8e-5, 1.2e-4])[states])
    return x.T.copy(), states.T, machine


@pytest.mark.slow
def test_machine_wide_and_isolated_slowdowns_are_distinguished() -> None:
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
    # RegimeModel reads the file as a model of independent ranks.
    single = RegimeModel.load(tmp_path / "model.json")
    np.testing.assert_allclose(single.transition_.sum(axis=1), 1.0)
    np.testing.assert_allclose(single.means_, model.means_)
    RegimeModel(2).fit(x).save(tmp_path / "single.json")
    with pytest.raises(ProfileError, match="no machine"):
        MachineModel.load(tmp_path / "single.json")
