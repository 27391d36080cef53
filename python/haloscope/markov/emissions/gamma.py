"""Shifted gamma regimes: a fixed minimal time, plus a random latency of the regime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln, polygamma, psi

from haloscope.base.arrays import Flags, Floats, Indices
from haloscope.markov.emissions.emission import EMPTY, States, positive

_SHAPES = (1e-2, 1e8)  # above the largest, a gamma is a Gaussian in all digits that timings have
# Smallest distance of the shift from the shortest duration: this times (median − minimum), over the root of
# the number of durations. A larger distance makes the deviation of a skewed regime too small. With a smaller
# one, mixtures without memory have a false maximum at the edge.
_MARGIN = 0.8
_NEAREST = 1e-12  # of the largest mean latency: the latency of durations up to the shift


@dataclass(frozen=True)
class Gamma(States):
    """x = shift + latency, latency ~ Gamma(shape of the state, scale of the state).

    The shift (seconds) is common to all states: it is the work of the region, and the states differ in the
    time that the machine adds. One shift per state is not identifiable in practice. A state whose shift has
    passed a point gives it no weight, and never takes the shift back. The likelihood grows without bound as a
    shift reaches the smallest point of a state with shape < 1. For the same reason the common shift keeps a
    distance from the shortest duration, which shrinks with the number of durations. Closer to it there is a
    likelier maximum that is farther from the truth.
    """

    name: ClassVar[str] = "gamma"
    n_parameters: ClassVar[int] = 2
    n_shared: ClassVar[int] = 1

    shape: Floats
    scale: Floats
    shift: float

    @classmethod
    def from_moments(cls, means: Floats, stds: Floats, values: Floats) -> Gamma:
        """Return initial states with about these moments. Raises `TimingsError` for values ≤ 0."""
        smallest = float(positive(values, cls.name).min())
        shift = max(0.0, smallest - (float(np.median(values)) - smallest))
        shift = min(shift, 0.999 * float(np.min(means)))
        shape = np.clip(((means - shift) / np.maximum(stds, 1e-9 * means)) ** 2, *_SHAPES)
        return cls(shape, (means - shift) / shape, shift)

    @property
    def parameters(self) -> dict[str, Floats]:
        """Parameters by name, a number a state; all shifts are the same."""
        shifts = np.full_like(self.shape, self.shift)
        return {"shape": self.shape, "scale": self.scale, "shift": shifts}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Floats]) -> Gamma:
        """Return the states that have these `parameters`."""
        shape, scale, shifts = (parameters[name] for name in ("shape", "scale", "shift"))
        return cls(shape, scale, float(shifts[0]))

    def reorder(self, order: Indices) -> Gamma:
        """Return the same states in another order."""
        return replace(self, shape=self.shape[order], scale=self.scale[order])

    def find_held(self) -> Flags:
        """Return which states would have shrunk to a point, and are kept from it."""
        held: Flags = self.shape >= 0.999 * _SHAPES[1]
        return held

    @property
    def means(self) -> Floats:
        """Mean of each state, seconds."""
        return self.shift + self.shape * self.scale

    @property
    def stds(self) -> Floats:
        """Standard deviation of each state, seconds."""
        stds: Floats = np.sqrt(self.shape) * self.scale
        return stds

    def log_density(self, values: Floats) -> Floats:
        """Return (points, states). Durations up to the shift count as if just above it."""
        means = self.shape * self.scale
        latency = np.maximum(values - self.shift, _NEAREST * means.max())
        ratio = latency[:, None] / means
        constant = self.shape * np.log(self.shape) - self.shape - gammaln(self.shape)
        density: Floats = np.log(ratio)
        density -= ratio
        density += 1.0
        density *= self.shape
        density += constant
        density -= np.log(latency)[:, None]
        return density

    def cdf(self, values: Floats) -> Floats:
        """Return the probability of a time that is no longer: (points,) → (points, states)."""
        latency = np.maximum(values[:, None] - self.shift, 0)
        return np.asarray(gammainc(self.shape, latency / self.scale))

    def reestimate(self, values: Floats, posterior: Floats) -> Gamma:
        """Return states that are likelier for `values` (points,) with weights (points, states).

        Shape and scale are the likeliest for a shift (Newton's method on the digamma equation). The shift
        changes its distance to the shortest duration by at most a factor of two at a time, and only if that
        increases the weighted likelihood. So the likelihood never falls.
        """
        from scipy.optimize import minimize_scalar  # slow to import, and seldom needed

        weights = posterior.sum(axis=0)
        smallest, median = float(values.min()), float(np.median(values))
        farthest = smallest  # the shift is not negative
        margin = min(_MARGIN / np.sqrt(len(values)) * ((median - smallest) or smallest), farthest)
        distance = float(np.clip(smallest - self.shift, margin, farthest))

        def evaluate(distance: float) -> tuple[float, Gamma]:
            latency = values - (smallest - distance)
            return self._fit_at_shift(smallest - distance, latency, weights, posterior)

        best = evaluate(distance)
        low, high = max(margin, distance / 2), min(farthest, 2 * distance)
        if low < high:
            found = minimize_scalar(
                lambda logarithm: -evaluate(float(np.exp(logarithm)))[0],
                bounds=(np.log(low), np.log(high)),
                method="bounded",
                options={"maxiter": 5},
            )
            best = max(best, evaluate(float(np.exp(found.x))), key=lambda pair: pair[0])
        return best[1]

    def _fit_at_shift(
        self, shift: float, latency: Floats, weights: Floats, posterior: Floats
    ) -> tuple[float, Gamma]:
        """Return the weighted log-likelihood of the likeliest states with this shift, and these states."""
        logs = posterior.T @ np.log(latency)
        with np.errstate(divide="ignore", invalid="ignore"):
            means, mean_logs = posterior.T @ latency / weights, logs / weights
            shape = _shape(np.log(means) - mean_logs)
            scale = means / shape
            terms = shape * weights * (mean_logs - np.log(means)) - logs
            terms += weights * (shape * (np.log(shape) - 1.0) - gammaln(shape))
        kept = weights < EMPTY
        shape, scale = np.where(kept, self.shape, shape), np.where(kept, self.scale, scale)
        return float(terms[~kept].sum()), Gamma(shape, scale, shift)

    def sample(self, states: NDArray[np.integer], rng: np.random.Generator) -> Floats:
        """Draw a duration for each of `states`."""
        drawn: Floats = rng.gamma(self.shape[states], self.scale[states])
        return self.shift + drawn


def _shape(excess: Floats) -> Floats:
    """Solve log(shape) − ψ(shape) = excess, the log of the mean over the geometric mean.

    Newton on the inverse of the shape, from Minka's (2002) approximation, which is right to 1.5 %.
    """
    excess = np.maximum(excess, 0.5 / _SHAPES[1])
    shape = (3.0 - excess + np.sqrt((excess - 3.0) ** 2 + 24.0 * excess)) / (12.0 * excess)
    for _ in range(4):
        error = np.log(shape) - psi(shape) - excess
        slope = shape - shape**2 * polygamma(1, shape)
        shape = 1.0 / (1.0 / shape + error / np.minimum(slope, -1e-300))
    clipped: Floats = np.clip(shape, *_SHAPES)
    return clipped
