"""Sequences from known hidden Markov models, and hmmlearn as the other opinion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hmmlearn.hmm import GaussianHMM
from numpy.typing import NDArray

from haloscope.explain._kernels import Chain, Places

__all__ = ["Truth", "chain_of", "hmmlearn_model", "places_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """Gaussian regimes of microseconds, each of which lasts for twenty instances."""

    chain: Chain
    means: Floats
    stds: Floats

    @classmethod
    def of(cls, states: int) -> Truth:
        means: Floats = 20e-6 * 2.5 ** np.arange(states, dtype=np.float64)
        return cls(chain_of(states, 0.95), means, 0.15 * means)

    def draw(self, rng: np.random.Generator, length: int) -> tuple[Floats, NDArray[np.int64]]:
        """Durations and their states."""
        states = np.empty(length, dtype=np.int64)
        state = rng.choice(len(self.means), p=self.chain.start)
        for i in range(length):
            states[i] = state
            state = rng.choice(len(self.means), p=self.chain.transition[state])
        return rng.normal(self.means[states], self.stds[states]), states


def chain_of(states: int, staying: float) -> Chain:
    """All other states are equally likely."""
    transition = np.full((states, states), (1 - staying) / max(states - 1, 1))
    np.fill_diagonal(transition, staying if states > 1 else 1)
    return Chain(np.full(states, 1 / states), transition)


def places_of(lengths: NDArray[np.int64]) -> Places:
    """Sequences of these lengths, one after the other."""
    return Places(np.cumsum(lengths) - lengths, lengths)


def hmmlearn_model(truth: Truth, steps: int = 1) -> Any:
    """A model with these parameters that has no prior; `fit` takes so many steps from them."""
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
    model.startprob_, model.transmat_ = truth.chain.start, truth.chain.transition
    model.means_, model.covars_ = truth.means[:, None], truth.stds[:, None] ** 2
    return model
