"""What a hidden Markov model did not foresee: pseudo-residuals, and series drawn from the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Emission", "Floats", "drawn", "pseudo_residuals"]

if TYPE_CHECKING:
    Floats = NDArray[np.float64]

_NEAREST = 1e-12  # to 0 and 1 that a probability is taken to be: 7 standard deviations


class Emission(Protocol):
    """What is needed of a family of distributions, one for each state."""

    @property
    def name(self) -> str:
        """The family's name."""

    def log_density(self, values: Floats) -> Floats:
        """(points,) -> (points, states)."""

    def cdf(self, values: Floats) -> Floats:
        """(points,) -> (points, states): the probability of no more."""

    def sample(self, states: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Draw a value for each of these states."""


def pseudo_residuals(
    durations: Floats, start: Floats, transition: Floats, emission: Emission
) -> Floats:
    """Return normal pseudo-residuals, (sequences, instances), NaN where there is no instance.

    The forecast ones of Zucchini, MacDonald and Langrock (Hidden Markov Models for Time Series,
    2nd edition 2016, section 6.3): the probability, given all earlier times, of one that is no
    longer than what came, as the quantile of a standard normal distribution. If the model is right
    they are independent and standard normal.
    """
    residuals = np.full(durations.shape, np.nan)
    belief = np.tile(start, (len(durations), 1))
    for instance, values in enumerate(np.ascontiguousarray(durations.T)):
        there = ~np.isnan(values)
        if not there.any():
            break
        now = values[there]
        chances = np.einsum("ij,ij->i", belief[there], emission.cdf(now))
        residuals[there, instance] = ndtri(np.clip(chances, _NEAREST, 1 - _NEAREST))
        density = emission.log_density(now)
        weight = belief[there] * np.exp(density - density.max(axis=1, keepdims=True))
        total = weight.sum(axis=1, keepdims=True)
        known = np.where(total > 0, weight / np.where(total > 0, total, 1), belief[there])
        belief[there] = known @ transition
    return residuals


def drawn(
    like: Floats, start: Floats, transition: Floats, emission: Emission, rng: np.random.Generator
) -> Floats:
    """Return sequences drawn from the model, each as long as its counterpart in `like`."""
    sequences, instances = like.shape
    states = np.empty((instances, sequences), dtype=np.int64)
    bounds = np.tile(np.cumsum(start)[:-1], (sequences, 1))
    after: Floats = np.cumsum(transition, axis=1)[:, :-1]
    for instance, chances in enumerate(rng.random((instances, sequences))):
        states[instance] = (chances[:, None] > bounds).sum(axis=1)
        bounds = after[states[instance]]
    values = emission.sample(states.T.ravel(), rng).reshape(sequences, instances)
    return np.where(np.isnan(like), np.nan, values)
