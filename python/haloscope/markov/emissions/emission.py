"""Distributions of durations in each regime: one small class per family, with one protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from haloscope.base.arrays import Flags, Floats, Indices
from haloscope.base.errors import TimingsError

if TYPE_CHECKING:
    from typing_extensions import Self

# The smallest deviation of a state, as a share of the distance between the quartiles of all timings.
_NARROWEST = 1e-4
# The smallest deviation where nearly all timings are equal, as a share of their median.
_NARROWEST_OF_VALUE = 1e-9
EMPTY = 1e-9  # points of weight below which a state is not changed
_LOG_2_PI = float(np.log(2 * np.pi))


class Emission(Protocol):
    """A family with the parameters of each of its states. Seconds throughout."""

    name: ClassVar[str]
    n_parameters: ClassVar[int]  # number of estimated parameters per state
    n_shared: ClassVar[int]  # number of estimated parameters of all states together

    @classmethod
    def from_moments(cls, means: Floats, stds: Floats, values: Floats) -> Self:
        """Return initial states with about these means and deviations, for timings `values`.

        Raises `TimingsError` if the family cannot have such timings.
        """

    @property
    def means(self) -> Floats:
        """Mean of each state."""

    @property
    def stds(self) -> Floats:
        """Standard deviation of each state."""

    @property
    def parameters(self) -> dict[str, Floats]:
        """Parameters by name, a number a state."""

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Floats]) -> Self:
        """Return states with these `parameters`."""

    def log_density(self, values: Floats) -> Floats:
        """Return the natural logarithm of the density: (points,) → (points, states)."""

    def cdf(self, values: Floats) -> Floats:
        """Return the probability of a time that is no longer: (points,) → (points, states)."""

    def reestimate(self, values: Floats, posterior: Floats) -> Self:
        """Return states that are likelier (M-step) for `values` with weights (points, states)."""

    def reorder(self, order: Indices) -> Self:
        """Return the same states in another order."""

    def sample(self, states: NDArray[np.integer], rng: np.random.Generator) -> Floats:
        """Draw a duration for each of `states`."""

    def find_held(self) -> Flags:
        """Return which states would have shrunk to a point, and are kept from it."""


@dataclass(frozen=True)
class States:
    """The common part of families: each array is a parameter, with a number per state."""

    @property
    def parameters(self) -> dict[str, Floats]:
        """Parameters by name, a number a state."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Floats]) -> Self:
        """Return states with these `parameters`."""
        return cls(**parameters)

    def reorder(self, order: Indices) -> Self:
        """Return the same states in another order."""
        return replace(self, **{name: value[order] for name, value in self.parameters.items()})


@dataclass(frozen=True)
class Gaussian(States):
    """Normal durations; no state is narrower than `floor`."""

    name: ClassVar[str] = "gaussian"
    n_parameters: ClassVar[int] = 2
    n_shared: ClassVar[int] = 0

    mean: Floats
    std: Floats
    floor: float = 0.0

    @classmethod
    def from_moments(cls, means: Floats, stds: Floats, values: Floats) -> Gaussian:
        """Return states of these means and deviations; the floor is 1e-4 of the quartiles' distance."""
        floor = narrowest(values)
        return cls(np.array(means), np.maximum(stds, floor), floor)

    @property
    def means(self) -> Floats:
        """Mean of each state."""
        return self.mean

    @property
    def stds(self) -> Floats:
        """Standard deviation of each state."""
        return self.std

    def log_density(self, values: Floats) -> Floats:
        """Return the natural logarithm of the density: (points,) → (points, states)."""
        z = (values[:, None] - self.mean) / self.std
        density: Floats = -0.5 * (z * z + _LOG_2_PI) - np.log(self.std)
        return density

    def cdf(self, values: Floats) -> Floats:
        """Return the probability of a time that is no longer: (points,) → (points, states)."""
        return np.asarray(ndtr((values[:, None] - self.mean) / self.std))

    def reestimate(self, values: Floats, posterior: Floats) -> Gaussian:
        """Return the likeliest states for `values` with weights (points, states)."""
        off = values[:, None] - self.mean
        weighted = posterior * off
        return self.reestimate_from_sums(posterior.sum(0), weighted.sum(0), (weighted * off).sum(0))

    def reestimate_from_sums(self, weight: Floats, first: Floats, second: Floats) -> Gaussian:
        """Return the likeliest states from Σγ, Σγ(x-μ) and Σγ(x-μ)²; an empty state is not changed."""
        empty = weight < EMPTY
        weight = np.where(empty, 1, weight)
        shift = first / weight
        std = np.sqrt(np.maximum(second / weight - shift * shift, self.floor**2))
        mean = np.where(empty, self.mean, self.mean + shift)
        return replace(self, mean=mean, std=np.where(empty, self.std, std))

    def sample(self, states: NDArray[np.integer], rng: np.random.Generator) -> Floats:
        """Draw a duration for each of `states`."""
        durations: Floats = rng.normal(self.mean[states], self.std[states])
        return durations

    def find_held(self) -> Flags:
        """Return which states would have shrunk to a point, and are kept from it."""
        return self.std <= self.floor


@dataclass(frozen=True)
class LogNormal(States):
    """Durations whose logarithm is normal; no state's logarithms are narrower than `floor`."""

    name: ClassVar[str] = "lognormal"
    n_parameters: ClassVar[int] = 2
    n_shared: ClassVar[int] = 0

    log_mean: Floats
    log_std: Floats
    floor: float = 0.0

    @classmethod
    def from_moments(cls, means: Floats, stds: Floats, values: Floats) -> LogNormal:
        """Return states of these means and deviations. Raises `TimingsError` unless all are positive."""
        cls.check(values)
        floor = narrowest(np.log(values))
        variance = np.log1p((stds / means) ** 2)
        return cls(np.log(means) - variance / 2, np.maximum(np.sqrt(variance), floor), floor)

    @property
    def means(self) -> Floats:
        """Mean of each state, exp(μ + σ²/2)."""
        means: Floats = np.exp(self.log_mean + self.log_std**2 / 2)
        return means

    @property
    def stds(self) -> Floats:
        """Standard deviation of each state."""
        stds: Floats = self.means * np.sqrt(np.expm1(self.log_std**2))
        return stds

    @classmethod
    def check(cls, values: Floats) -> None:
        """Check that all values are positive. Raises `TimingsError`."""
        positive(values, "log-normal")

    @property
    def logarithms(self) -> Gaussian:
        """The distribution of the durations' logarithms."""
        return Gaussian(self.log_mean, self.log_std, self.floor)

    def replace_logarithms(self, logarithms: Gaussian) -> LogNormal:
        """Return the states whose logarithms have this distribution."""
        return replace(self, log_mean=logarithms.mean, log_std=logarithms.std)

    def log_density(self, values: Floats) -> Floats:
        """Return the natural logarithm of the density: (points,) → (points, states)."""
        logs = np.log(values)
        return self.logarithms.log_density(logs) - logs[:, None]

    def cdf(self, values: Floats) -> Floats:
        """Return the probability of a time that is no longer: (points,) → (points, states)."""
        return np.asarray(ndtr((np.log(values)[:, None] - self.log_mean) / self.log_std))

    def reestimate(self, values: Floats, posterior: Floats) -> LogNormal:
        """Return the likeliest states for `values` with weights (points, states)."""
        return self.replace_logarithms(self.logarithms.reestimate(np.log(values), posterior))

    def sample(self, states: NDArray[np.integer], rng: np.random.Generator) -> Floats:
        """Draw a duration for each of `states`."""
        durations: Floats = rng.lognormal(self.log_mean[states], self.log_std[states])
        return durations

    def find_held(self) -> Flags:
        """Return which states would have shrunk to a point, and are kept from it."""
        return self.log_std <= self.floor


def positive(values: Floats, name: str) -> Floats:
    """Return the same values. Raises `TimingsError` unless all are positive, as family `name` needs."""
    if (smallest := float(values.min())) <= 0:
        raise TimingsError(f"a duration of {smallest:g} s cannot be {name}; leave it out, or take gaussian")
    return values


def narrowest(values: Floats) -> float:
    """Return the smallest deviation that a state of `values` may have."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    spread = _NARROWEST * (high - low or values.std())
    return float(max(spread, _NARROWEST_OF_VALUE * abs(middle), np.finfo(float).tiny ** 0.25))
