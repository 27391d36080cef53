"""Confidence intervals of the parameters of a fitted model, from the observed information."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from haloscope.base.arrays import Flags, Floats
from haloscope.markov.emissions.emission import Emission
from haloscope.profile import kernels
from haloscope.profile.kernels import Chain, SequenceBounds

_STEP = 1e-3  # of a parameter's scale, for central differences
_SEEN = 0.5  # expected transitions below which a probability is taken as known
_SCALES = {"mean": "std", "log_mean": "log_std", "location": "scale"}  # others: their own size


@dataclass(frozen=True)
class Intervals:
    """Two-sided confidence intervals, (regimes, 2) each; NaN where the data do not determine them.

    `means` and `stds` are in seconds; `shares` are those of a long run in each regime.
    """

    level: float
    means: Floats
    stds: Floats
    shares: Floats


@dataclass(frozen=True)
class Likelihood:
    """The log-likelihood as a function of one vector, around a fitted model.

    The vector has changes of three kinds of parameters. The first are those of the emission, in units of
    their scale. The second are the logarithms of the transition probabilities, less that of each row's
    largest one. The third is the shift that gamma regimes share, in units of its distance to the shortest
    duration. The first states of sequences are taken as known.
    """

    values: Floats
    places: SequenceBounds
    emission: Emission
    chain: Chain
    memory: bool
    threads: int

    def intervals(self, level: float) -> Intervals:
        """Return Wald intervals; the covariance is the inverse of the observed information.

        The score is the expected score of the complete data (Fisher's identity; Louis 1982), one
        forward-backward pass; the information is its derivative by central differences.
        """
        free = self._free()

        def put_together(part: Floats) -> Floats:
            vector = np.zeros(free.size)
            vector[free] = part
            return vector

        origin = np.zeros(int(free.sum()))
        information = -_jacobian(lambda part: self._score(put_together(part))[free], origin)
        gradient = _jacobian(lambda part: self._quantities(put_together(part)), origin)
        variances = _variances((information + information.T) / 2, gradient)
        errors = np.sqrt(variances) * ndtri(0.5 + level / 2)
        centre = self._quantities(put_together(origin))
        means, stds, parts = np.split(np.stack([centre - errors, centre + errors], axis=1), 3)
        return Intervals(level, means, stds, np.clip(parts, 0.0, 1.0))

    def _keys(self) -> dict[str, Floats]:
        """Return the scale of each parameter of the emission that each regime has, (regimes,)."""
        named = self.emission.parameters
        return {key: np.abs(named[_SCALES.get(key, key)]) for key in named if key != "shift"}

    def _take_apart(self, vector: Floats) -> tuple[Emission, Floats]:
        states, keys = len(self.chain.start), self._keys()
        added = vector[: states * len(keys)].reshape(len(keys), states)
        named = dict(self.emission.parameters)
        for (key, scale), steps in zip(keys.items(), added, strict=True):
            named[key] = named[key] + scale * steps
        end = len(vector) - self.emission.n_shared
        for shift in vector[end:]:
            named["shift"] = named["shift"] + (self.values.min() - named["shift"]) * shift
        logits = vector[states * len(keys) : end].reshape(-1, states)
        transition = self.chain.transition * np.exp(logits)
        return type(self.emission).from_parameters(named), transition / transition.sum(1, keepdims=True)

    def _expectation(self, vector: Floats) -> tuple[Floats, Floats]:
        """Return posterior (points, regimes) and expected transitions, one row without memory."""
        emission, transition = self._take_apart(vector)
        chain = Chain(self.chain.start if self.memory else transition[0].copy(), transition)
        found = kernels.expectation(emission.log_density(self.values), self.places, chain, self.threads)
        counts = found.transition if self.memory else found.posterior.sum(axis=0, keepdims=True)
        return found.posterior, counts

    def _score(self, vector: Floats) -> Floats:
        posterior, pairs = self._expectation(vector)
        parts, states = [], len(self.chain.start)
        for number in range(len(self._keys())):
            where = slice(number * states, (number + 1) * states)
            parts.append(self._slope(vector, where, posterior))
        transition = self._take_apart(vector)[1][: len(pairs)]
        parts.append((pairs - pairs.sum(axis=1, keepdims=True) * transition).ravel())
        if self.emission.n_shared:
            parts.append(self._slope(vector, slice(-1, None), posterior).sum(keepdims=True))
        return np.concatenate(parts)

    def _slope(self, vector: Floats, where: slice, posterior: Floats) -> Floats:
        """Return the derivative of the likelihood of each regime's instances, (regimes,)."""
        step = np.zeros(len(vector))
        step[where] = _STEP
        above, below = (self._take_apart(vector + way * step)[0] for way in (1.0, -1.0))
        slope = above.log_density(self.values) - below.log_density(self.values)
        summed: Floats = np.einsum("ij,ij->j", posterior, slope) / (2 * _STEP)
        return summed

    def _free(self) -> Flags:
        """Return which entries are estimated: in each row all that were seen, except the largest."""
        states, keys, shared = len(self.chain.start), self._keys(), self.emission.n_shared
        nothing = np.zeros(states * len(keys) + states * (states if self.memory else 1) + shared)
        pairs = self._expectation(nothing)[1]
        seen = pairs > _SEEN
        seen[np.arange(len(pairs)), pairs.argmax(axis=1)] = False
        own, common = np.ones(states * len(keys), bool), np.ones(shared, bool)
        return np.concatenate([own, seen.ravel(), common])

    def _quantities(self, vector: Floats) -> Floats:
        emission, transition = self._take_apart(vector)
        return np.concatenate([emission.means, emission.stds, shares(transition)])


def shares(transition: Floats) -> Floats:
    """Return the shares of a long run in each state: the stationary distribution."""
    states = len(transition)
    system = np.vstack([transition.T - np.eye(states), np.ones(states)])
    found: Floats = np.linalg.lstsq(system, np.eye(states + 1)[-1], rcond=None)[0]
    return np.clip(found, 0.0, 1.0)


def _jacobian(function: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return the derivative of each value (rows) by each argument (columns)."""
    columns = []
    for number in range(len(at)):
        step = np.zeros(len(at))
        step[number] = _STEP
        columns.append((function(at + step) - function(at - step)) / (2 * _STEP))
    return np.stack(columns, axis=1)


def _variances(information: Floats, gradient: Floats) -> Floats:
    """Return the variance of each quantity, NaN if the data do not determine it."""
    known = np.diag(information) > 0
    size = np.sqrt(np.diag(information)[known])
    scaled = gradient[:, known] / size
    covariance = np.linalg.pinv(information[np.ix_(known, known)] / np.outer(size, size), hermitian=True)
    variances = np.einsum("ij,jk,ik->i", scaled, covariance, scaled)
    unknown = (variances <= 0) | gradient[:, ~known].any(axis=1)
    result: Floats = np.where(unknown, np.nan, variances)
    return result
