"""Student-t regimes: gross outliers are in a regime's tails, and hardly move its mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi, stdtr

from haloscope.base.arrays import Flags, Floats
from haloscope.markov.emissions.emission import EMPTY, States, narrowest

_DEGREES = (2.1, 200.0)  # below 2 there is no variance; 200 is a Gaussian in practice
_LEAPS = (2.0, 8.0)
_FIRST = 8.0  # degrees at the start


@dataclass(frozen=True)
class Student(States):
    """x = location + scale · t(degrees of freedom), each of the state; seconds.

    A point is Gaussian with a variance divided by a latent χ²/degrees, so that distant points have small
    expected weights (Lange, Little & Taylor 1989).
    """

    name: ClassVar[str] = "student"
    n_parameters: ClassVar[int] = 3
    n_shared: ClassVar[int] = 0

    location: Floats
    scale: Floats
    degrees: Floats
    floor: float = 0.0

    @classmethod
    def from_moments(cls, means: Floats, stds: Floats, values: Floats) -> Student:
        """Return initial states with about these means and deviations, and with tails."""
        floor = narrowest(values)
        degrees = np.full(len(means), _FIRST)
        return cls(np.array(means), np.maximum(stds * np.sqrt(1 - 2 / _FIRST), floor), degrees, floor)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Floats]) -> Student:
        """Return the states that have these `parameters`."""
        return cls(parameters["location"], parameters["scale"], parameters["degrees"])

    def find_held(self) -> Flags:
        """Return which states would have shrunk to a point, and are kept from it."""
        return self.scale <= self.floor

    @property
    def means(self) -> Floats:
        """Mean of each state, seconds."""
        return self.location

    @property
    def stds(self) -> Floats:
        """Standard deviation of each state, seconds: that of the distribution, tails included."""
        stds: Floats = self.scale * np.sqrt(self.degrees / (self.degrees - 2.0))
        return stds

    def log_density(self, values: Floats) -> Floats:
        """Return (points, states)."""
        half = (self.degrees + 1.0) / 2.0
        constant = gammaln(half) - gammaln(self.degrees / 2.0)
        constant -= 0.5 * np.log(np.pi * self.degrees) + np.log(self.scale)
        density = self._squares(values)
        density /= self.degrees
        np.log1p(density, out=density)
        density *= -half
        density += constant
        return density

    def cdf(self, values: Floats) -> Floats:
        """Return the probability of a time that is no longer: (points,) → (points, states)."""
        return np.asarray(stdtr(self.degrees, (values[:, None] - self.location) / self.scale))

    def reestimate(self, values: Floats, posterior: Floats) -> Student:
        """Return states that are likelier for `values` (points,) with weights (points, states).

        Two rounds of EM over the latent weights, with the parameter expansion of Liu, Rubin and Wu (1998) for
        the scale. As the degrees converge slowly, a step several times as far is tried, and kept if it is
        likelier. The weighted likelihood never falls.
        """
        state = self._reweight(values, posterior)._reweight(values, posterior)
        best = np.einsum("ij,ij->j", posterior, state.log_density(values))
        for factor in _LEAPS:
            leap = state._extrapolate(self, factor)
            value = np.einsum("ij,ij->j", posterior, leap.log_density(values))
            better, best = value > best, np.maximum(value, best)
            state = leap._replace_states(better, state)
        return state

    def _extrapolate(self, before: Student, factor: float) -> Student:
        """Return states whose scale and degrees are extrapolated by `factor` steps from `before`."""
        with np.errstate(over="ignore"):
            scale = self.scale * (self.scale / before.scale) ** factor
            degrees = self.degrees * (self.degrees / before.degrees) ** factor
        return Student(
            self.location,
            np.clip(scale, np.maximum(self.floor, self.scale / 2), self.scale * 2),
            np.clip(degrees, *_DEGREES),
            self.floor,
        )

    def _replace_states(self, chosen: Flags, other: Student) -> Student:
        """Return the `chosen` states of this one, and the remaining ones of `other`."""
        return Student(
            np.where(chosen, self.location, other.location),
            np.where(chosen, self.scale, other.scale),
            np.where(chosen, self.degrees, other.degrees),
            self.floor,
        )

    def _reweight(self, values: Floats, posterior: Floats) -> Student:
        latent = (self.degrees + 1.0) / (self.degrees + self._squares(values))
        points = posterior.sum(axis=0)
        logs = np.einsum("ij,ij->j", posterior, np.log(latent) - latent)
        weights = posterior * latent
        totals = weights.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            location = weights.T @ values / totals
            squares = (values[:, None] - location) ** 2
            scale = np.sqrt(np.einsum("ij,ij->j", weights, squares) / totals)
            degrees = _degrees(logs / points, self.degrees)
        kept = points < EMPTY
        scale = np.maximum(scale, self.floor)
        return self._replace_states(kept, Student(location, scale, degrees, self.floor))

    def _squares(self, values: Floats) -> Floats:
        squares = values[:, None] - self.location
        squares /= self.scale
        squares *= squares
        return squares

    def sample(self, states: NDArray[np.integer], rng: np.random.Generator) -> Floats:
        """Draw a duration for each of `states`."""
        draws: Floats = rng.standard_t(self.degrees[states])
        durations: Floats = self.location[states] + self.scale[states] * draws
        return durations


def _degrees(logs: Floats, before: Floats) -> Floats:
    """Solve log(ν/2) − ψ(ν/2) + 1 + logs + ψ((ν₀+1)/2) − log((ν₀+1)/2) = 0 within the bounds.

    The left side falls with ν; bisection on the logarithm of ν, since Newton leaves the bounds.
    """
    half = (before + 1.0) / 2.0
    constant = 1.0 + logs + psi(half) - np.log(half)
    low, high = np.full_like(before, _DEGREES[0]), np.full_like(before, _DEGREES[1])
    for _ in range(40):
        middle = np.sqrt(low * high)
        rises = np.log(middle / 2.0) - psi(middle / 2.0) + constant > 0.0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    found: Floats = np.sqrt(low * high)
    return found
