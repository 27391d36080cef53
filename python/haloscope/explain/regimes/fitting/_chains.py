"""What a chain of regimes makes of sequences: likelihoods, posteriors, paths, expected counts.

Gaussian regimes, and log-normal ones, which are Gaussian for logarithms, go through kernels of
their own; any other family through its log densities, some sequences at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain import _kernels
from haloscope.explain._kernels import Chain, Places
from haloscope.explain.regimes.emissions._emissions import Emission, Gaussian, LogNormal
from haloscope.explain.regimes.fitting._sequences import NONE, Sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["NATIVE", "Expected", "Parameters", "Work"]

NATIVE: tuple[type[Emission], ...] = (Gaussian, LogNormal)  # through kernels of their own

_POINTS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class Parameters:
    """A chain, and how long instances last in its states."""

    chain: Chain
    emission: Emission

    def ordered(self, order: NDArray[np.intp]) -> Parameters:
        """The same states in another order."""
        chain = Chain(
            np.ascontiguousarray(self.chain.start[order]),
            np.ascontiguousarray(self.chain.transition[np.ix_(order, order)]),
        )
        return Parameters(chain, self.emission.ordered(order))


@dataclass(frozen=True)
class Expected:
    """What one step of expectation-maximisation needs; `emission` is already the likelier one."""

    log_likelihood: float
    start: Floats
    transition: Floats
    weight: Floats
    emission: Emission


class Work:
    """Sequences made ready for a family once, to be looked at with many parameters of it."""

    def __init__(self, sequences: Sequences, emission: type[Emission], threads: int) -> None:
        """Raises `TimingsError` if the family cannot have such timings."""
        self.sequences, self.threads = sequences, threads
        self._offset = np.zeros(len(sequences.lengths))
        if emission is LogNormal:
            LogNormal.check(sequences.inside)
            with np.errstate(invalid="ignore", divide="ignore"):
                self.sequences = sequences.with_values(np.log(sequences.values))
            self._offset = -self.sequences.sums(self.sequences.values)

    def log_likelihoods(self, parameters: Parameters) -> Floats:
        """The natural log likelihood of each sequence."""
        if normal := _normal(parameters.emission):
            return self._offset + _kernels.gaussian_log_likelihood(*self._arguments(parameters.chain, normal))
        likelihoods = [
            _kernels.log_likelihood(*self._densities(part, parameters)) for _, part in self._parts()
        ]
        return np.concatenate(likelihoods)

    def expected(self, parameters: Parameters) -> Expected:
        """The counts and the likelier emission."""
        normal = _normal(parameters.emission)
        if normal is None:
            return self._expected(parameters)
        counts = _kernels.gaussian_expectation(*self._arguments(parameters.chain, normal))
        moved = normal.moved(counts.weight, counts.first, counts.second)
        emission = parameters.emission
        return Expected(
            float((counts.log_likelihood + self._offset).sum()),
            counts.start,
            counts.transition,
            counts.weight,
            emission.of(moved) if isinstance(emission, LogNormal) else moved,
        )

    def posterior(self, parameters: Parameters) -> Floats:
        """Probabilities, (points, states), laid out as the values; NaN outside."""
        if normal := _normal(parameters.emission):
            return _kernels.gaussian_posterior(*self._arguments(parameters.chain, normal))
        rows = np.full((len(self.sequences.values), len(parameters.chain.start)), np.nan)
        for places, part in self._parts():
            rows[places] = _kernels.expectation(*self._densities(part, parameters)).posterior
        return rows

    def decoded(self, parameters: Parameters) -> NDArray[np.uint8]:
        """The most likely states (Viterbi), laid out as the values; `NONE` outside."""
        if normal := _normal(parameters.emission):
            return _kernels.gaussian_viterbi(*self._arguments(parameters.chain, normal))
        states = np.full(len(self.sequences.values), NONE, dtype=np.uint8)
        for places, part in self._parts():
            states[places] = _kernels.viterbi(*self._densities(part, parameters))
        return states

    def _expected(self, parameters: Parameters) -> Expected:
        parts = [
            (part.values, _kernels.expectation(*self._densities(part, parameters)))
            for _, part in self._parts()
        ]
        posterior = np.concatenate([found.posterior for _, found in parts])
        values = np.concatenate([values for values, _ in parts])
        return Expected(
            float(sum(found.log_likelihood.sum() for _, found in parts)),
            np.sum([found.start for _, found in parts], axis=0),
            np.sum([found.transition for _, found in parts], axis=0),
            posterior.sum(axis=0),
            parameters.emission.updated(values, posterior),
        )

    def _arguments(self, chain: Chain, normal: Gaussian) -> tuple[Floats, Places, Chain, Floats, Floats, int]:
        s = self.sequences
        return s.values, s.places, chain, normal.mean, normal.std, self.threads

    def _densities(self, part: Sequences, parameters: Parameters) -> tuple[Floats, Places, Chain, int]:
        density = np.ascontiguousarray(parameters.emission.log_density(part.values))
        return density, part.places, parameters.chain, self.threads

    def _parts(self) -> Iterator[tuple[NDArray[np.int64], Sequences]]:
        """Some sequences, one after the other, and where their values are among all."""
        s = self.sequences
        after = np.cumsum(s.lengths) // _POINTS_AT_A_TIME
        for part in np.unique(after).tolist():
            rows = np.flatnonzero(after == part)
            lengths = s.lengths[rows]
            begins = np.cumsum(lengths) - lengths
            places = np.arange(lengths.sum()) + np.repeat(s.begins[rows] - begins, lengths)
            yield places, Sequences(s.values[places], begins, lengths, None)


def _normal(emission: Emission) -> Gaussian | None:
    """Of what the kernels take for themselves."""
    if isinstance(emission, LogNormal):
        return emission.logarithms
    return emission if isinstance(emission, Gaussian) else None
