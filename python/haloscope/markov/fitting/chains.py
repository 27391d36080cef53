"""Timing series as one flat array, and their decoding by a chain of regimes.

Gaussian regimes have special kernels. Log-normal regimes use them with logarithms. Any other family uses its
log densities, some sequences at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from haloscope.base.arrays import Bytes, Floats, Indices, Integers
from haloscope.base.errors import TimingsError
from haloscope.markov.emissions.emission import Emission, Gaussian, LogNormal
from haloscope.markov.timings import Timings
from haloscope.profile import kernels
from haloscope.profile.kernels import Chain, SequenceBounds

Series = ArrayLike | Sequence[ArrayLike]

_LARGEST = 1e150  # so that its square is finite, too
NONE = 255  # the state where there is no instance


@dataclass(frozen=True)
class Sequences:
    """Sequence s is `values[begins[s] : begins[s] + lengths[s]]`, all of them finite.

    `shape` is that of a matrix or of one series, None for a list.
    """

    values: Floats
    begins: Integers
    lengths: Integers
    shape: tuple[int, ...] | None

    @classmethod
    def from_series(cls, x: Series) -> Sequences:
        """Take (sequences, instances), one series, or 1-D arrays; a C-contiguous one is not copied.

        NaN at the end of a row means that it has ended. Raises `TimingsError` if NaN is elsewhere,
        or anything is infinite.
        """
        if not _is_list_of_series(x):
            return cls._from_matrix(np.ascontiguousarray(x, dtype=np.float64))
        parts = [np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in x]
        if any(part.ndim != 1 for part in parts):
            raise TimingsError("a list of series needs 1-D arrays; pass a matrix as one array")
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        found = cls(np.concatenate(parts), np.cumsum(lengths) - lengths, lengths, None)
        return found._check()

    @classmethod
    def _from_matrix(cls, matrix: Floats) -> Sequences:
        if matrix.ndim not in {1, 2}:
            raise TimingsError(f"timings with {matrix.ndim} axes; pass (sequences, instances)")
        rows = np.atleast_2d(matrix)
        lengths = np.full(len(rows), rows.shape[1], dtype=np.int64)
        if rows.size and np.isnan(rows[:, -1]).any():
            there = ~np.isnan(rows[:, ::-1])
            lengths -= np.where(there.any(axis=1), there.argmax(axis=1), rows.shape[1])
        begins = np.arange(len(rows), dtype=np.int64) * rows.shape[1]
        return cls(rows.reshape(-1), begins, lengths, matrix.shape)._check()

    @classmethod
    def from_timings(cls, timings: Timings) -> Sequences:
        """Take all ranks; timings are checked when they are read."""
        ranks, width = timings.durations.shape
        begins = np.arange(ranks, dtype=np.int64) * width
        return cls(timings.durations.reshape(-1), begins, timings.counts, (ranks, width))

    @property
    def places(self) -> SequenceBounds:
        """The bounds of the sequences."""
        return SequenceBounds(self.begins, self.lengths)

    def pack(self) -> Sequences:
        """Return the same sequences with nothing between them."""
        begins = np.cumsum(self.lengths) - self.lengths
        return Sequences(self.inside, begins, self.lengths, None)

    @property
    def points(self) -> int:
        """The number of instances."""
        return int(self.lengths.sum())

    @property
    def inside(self) -> Floats:
        """The values of all sequences, without the values between them."""
        if self.points == len(self.values):
            return self.values
        return np.concatenate([self.values[b : b + n] for b, n in self._bounds()])

    def sums(self, values: Floats) -> Floats:
        """Return the sum over each sequence of an array laid out as `values`."""
        return np.array([values[b : b + n].sum() for b, n in self._bounds()])

    def select(self, rows: Integers) -> Sequences:
        """Return only these sequences, as a list."""
        return replace(self, begins=self.begins[rows], lengths=self.lengths[rows], shape=None)

    def restore(self, flat: Bytes) -> Bytes | list[Bytes]:
        """Return an array laid out as `values` in the form of the timings passed by the caller."""
        if self.shape is not None:
            return flat.reshape(self.shape)
        return [flat[b : b + n] for b, n in self._bounds()]

    def restore_rows(self, rows: Floats) -> Floats | list[Floats]:
        """Return rows, (points, numbers), in the form of the timings passed by the caller.

        The numbers are the last axis.
        """
        if self.shape is not None:
            return rows.reshape(*self.shape, rows.shape[1])
        return [rows[b : b + n] for b, n in self._bounds()]

    def _bounds(self) -> list[tuple[int, int]]:
        return list(zip(self.begins.tolist(), self.lengths.tolist(), strict=True))

    def _check(self) -> Sequences:
        values = self.inside
        if not len(values):
            raise TimingsError("no instances: regimes need at least one")
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(values.sum())
        if abs(total) < _LARGEST:
            return self
        low, high = float(values.min()), float(values.max())
        if np.isnan(low):
            raise TimingsError("a series has NaN before its end; leave it out, or cut it there")
        raise TimingsError(f"timings from {low:g} to {high:g} cannot be seconds of a clock")


def _is_list_of_series(x: Series) -> TypeGuard[Sequence[ArrayLike]]:
    """Return whether `x` is a list of series: not plain numbers, nor a nested list that is a matrix."""
    if not isinstance(x, Sequence) or isinstance(x, str) or not len(x) or np.isscalar(x[0]):
        return False
    return any(isinstance(part, np.ndarray) for part in x) or len({np.size(p) for p in x}) > 1


NATIVE: tuple[type[Emission], ...] = (Gaussian, LogNormal)  # through kernels of their own

_POINTS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class Parameters:
    """A chain, and the distributions of durations in its states."""

    chain: Chain
    emission: Emission

    def reorder(self, order: Indices) -> Parameters:
        """Return the same states in another order."""
        chain = Chain(
            np.ascontiguousarray(self.chain.start[order]),
            np.ascontiguousarray(self.chain.transition[np.ix_(order, order)]),
        )
        return Parameters(chain, self.emission.reorder(order))


@dataclass(frozen=True)
class Expected:
    """The expected counts of one step of expectation-maximisation; `emission` is the updated one."""

    log_likelihood: float
    start: Floats
    transition: Floats
    weight: Floats
    emission: Emission


class PreparedSequences:
    """Sequences prepared once for a family, and evaluated with many of its parameters."""

    def __init__(self, sequences: Sequences, emission: type[Emission], threads: int) -> None:
        """Prepare the sequences. Raises `TimingsError` if the family does not allow these timings."""
        self.sequences, self.threads = sequences, threads
        self._offset = np.zeros(len(sequences.lengths))
        if emission is LogNormal:
            LogNormal.check(sequences.inside)
            with np.errstate(invalid="ignore", divide="ignore"):
                self.sequences = replace(sequences, values=np.log(sequences.values))
            self._offset = -self.sequences.sums(self.sequences.values)

    def log_likelihoods(self, parameters: Parameters) -> Floats:
        """Return the natural log likelihood of each sequence."""
        if normal := _normal(parameters.emission):
            return self._offset + kernels.gaussian_log_likelihood(*self._arguments(parameters.chain, normal))
        likelihoods = [
            kernels.log_likelihood(*self._densities(part, parameters)) for _, part in self._parts()
        ]
        return np.concatenate(likelihoods)

    def compute_expected(self, parameters: Parameters) -> Expected:
        """Return the expected counts and the likelier emission."""
        normal = _normal(parameters.emission)
        if normal is None:
            return self._compute_expected(parameters)
        counts = kernels.gaussian_expectation(*self._arguments(parameters.chain, normal))
        moved = normal.reestimate_from_sums(counts.weight, counts.first, counts.second)
        emission = parameters.emission
        return Expected(
            float((counts.log_likelihood + self._offset).sum()),
            counts.start,
            counts.transition,
            counts.weight,
            emission.replace_logarithms(moved) if isinstance(emission, LogNormal) else moved,
        )

    def posterior(self, parameters: Parameters) -> Floats:
        """Return probabilities, (points, states), laid out as the values; NaN outside."""
        if normal := _normal(parameters.emission):
            return kernels.gaussian_posterior(*self._arguments(parameters.chain, normal))
        rows = np.full((len(self.sequences.values), len(parameters.chain.start)), np.nan)
        for places, part in self._parts():
            rows[places] = kernels.expectation(*self._densities(part, parameters)).posterior
        return rows

    def decode(self, parameters: Parameters) -> Bytes:
        """Return the most likely states (Viterbi), laid out as the values; `NONE` outside."""
        if normal := _normal(parameters.emission):
            return kernels.gaussian_viterbi(*self._arguments(parameters.chain, normal))
        states = np.full(len(self.sequences.values), NONE, dtype=np.uint8)
        for places, part in self._parts():
            states[places] = kernels.viterbi(*self._densities(part, parameters))
        return states

    def _compute_expected(self, parameters: Parameters) -> Expected:
        parts = [
            (part.values, kernels.expectation(*self._densities(part, parameters)))
            for _, part in self._parts()
        ]
        posterior = np.concatenate([found.posterior for _, found in parts])
        values = np.concatenate([values for values, _ in parts])
        return Expected(
            float(sum(found.log_likelihood.sum() for _, found in parts)),
            np.sum([found.start for _, found in parts], axis=0),
            np.sum([found.transition for _, found in parts], axis=0),
            posterior.sum(axis=0),
            parameters.emission.reestimate(values, posterior),
        )

    def _arguments(
        self, chain: Chain, normal: Gaussian
    ) -> tuple[Floats, SequenceBounds, Chain, Floats, Floats, int]:
        s = self.sequences
        return s.values, s.places, chain, normal.mean, normal.std, self.threads

    def _densities(
        self, part: Sequences, parameters: Parameters
    ) -> tuple[Floats, SequenceBounds, Chain, int]:
        density = np.ascontiguousarray(parameters.emission.log_density(part.values))
        return density, part.places, parameters.chain, self.threads

    def _parts(self) -> Iterator[tuple[Integers, Sequences]]:
        """Yield some sequences at a time, and the indices of their values."""
        s = self.sequences
        after = np.cumsum(s.lengths) // _POINTS_AT_A_TIME
        for part in np.unique(after).tolist():
            rows = np.flatnonzero(after == part)
            lengths = s.lengths[rows]
            begins = np.cumsum(lengths) - lengths
            places = np.arange(lengths.sum()) + np.repeat(s.begins[rows] - begins, lengths)
            yield places, Sequences(s.values[places], begins, lengths, None)


def _normal(emission: Emission) -> Gaussian | None:
    """Return the normal distribution for the kernels; None for a family without one."""
    if isinstance(emission, LogNormal):
        return emission.logarithms
    return emission if isinstance(emission, Gaussian) else None
