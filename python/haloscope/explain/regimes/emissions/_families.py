"""The families of emissions by name, and their distribution functions, which judge a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainc, ndtr, stdtr

from haloscope.base.errors import UsageError
from haloscope.explain.regimes.emissions._emissions import Gaussian, LogNormal
from haloscope.explain.regimes.emissions._gamma import Gamma
from haloscope.explain.regimes.emissions._student import Student

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from haloscope.explain.regimes.emissions._emissions import Emission

    Floats = NDArray[np.float64]
    Parameters = Mapping[str, Floats]

__all__ = ["Foreseen", "family"]

FAMILIES: dict[str, type[Emission]] = {kind.name: kind for kind in (Gaussian, LogNormal, Gamma, Student)}


def family(name: str) -> type[Emission]:
    """The class that goes by that name. Raises `UsageError`."""
    if name not in FAMILIES:
        raise UsageError(f"emission {name!r} is none of {', '.join(FAMILIES)}")
    return FAMILIES[name]


@dataclass(frozen=True)
class Foreseen:
    """An emission with the probability of times that are no longer, as `goodness` takes it."""

    emission: Emission

    @property
    def name(self) -> str:
        """The family's name."""
        return self.emission.name

    def log_density(self, values: Floats) -> Floats:
        """(points,) → (points, states)."""
        return self.emission.log_density(values)

    def cdf(self, values: Floats) -> Floats:
        """(points,) → (points, states): the probability of no more."""
        return _CDFS[self.name](values[:, None], self.emission.parameters)

    def sample(self, states: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Draw a duration for each of `states`."""
        return self.emission.sample(states, rng)


def _gaussian(values: Floats, of: Parameters) -> Floats:
    return np.asarray(ndtr((values - of["mean"]) / of["std"]))


def _lognormal(values: Floats, of: Parameters) -> Floats:
    return np.asarray(ndtr((np.log(values) - of["log_mean"]) / of["log_std"]))


def _gamma(values: Floats, of: Parameters) -> Floats:
    beyond = np.maximum(values - of["shift"], 0)
    return np.asarray(gammainc(of["shape"], beyond / of["scale"]))


def _student(values: Floats, of: Parameters) -> Floats:
    return np.asarray(stdtr(of["degrees"], (values - of["location"]) / of["scale"]))


_CDFS: Mapping[str, Callable[[Floats, Parameters], Floats]] = {
    "gaussian": _gaussian,
    "lognormal": _lognormal,
    "gamma": _gamma,
    "student": _student,
}
