"""Sequences from known hidden Markov models, and hmmlearn as the other opinion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hmmlearn.hmm import GaussianHMM
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """Gaussian regimes: probabilities of the first one and of those after each (row), means, deviations."""

    start: Floats
    transition: Floats
    means: Floats
    stds: Floats

    @classmethod
    def of(cls, states: int) -> Truth:
        """Return regimes of microseconds, each of which lasts for twenty instances."""
        means: Floats = 20e-6 * 2.5 ** np.arange(states, dtype=np.float64)
        return cls(np.full(states, 1 / states), staying(states, 0.95), means, 0.15 * means)

    def draw(self, rng: np.random.Generator, length: int) -> tuple[Floats, NDArray[np.int64]]:
        """Return durations and their states."""
        states = np.empty(length, dtype=np.int64)
        state = rng.choice(len(self.means), p=self.start)
        for i in range(length):
            states[i] = state
            state = rng.choice(len(self.means), p=self.transition[state])
        return rng.normal(self.means[states], self.stds[states]), states


def staying(states: int, probability: float) -> Floats:
    """Return transitions to the same state with a probability, and to all others with equal ones."""
    transition = np.full((states, states), (1 - probability) / max(states - 1, 1))
    np.fill_diagonal(transition, probability if states > 1 else 1)
    return transition


def hmmlearn_model(truth: Truth, steps: int = 1) -> Any:
    """Return a model with these parameters and no prior; `fit` takes this number of steps from them."""
    model = GaussianHMM(
        len(truth.means),
        covariance_type="diag",
        covars_prior=0,
        covars_weight=0,
        means_weight=0,
        min_covar=1e-300,
        n_iter=steps,
        tol=-np.inf,
        init_params="",
    )
    model.startprob_, model.transmat_ = truth.start, truth.transition
    model.means_, model.covars_ = truth.means[:, None], truth.stds[:, None] ** 2
    return model
