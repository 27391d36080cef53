"""Timing series as one flat array: what the kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import TimingsError
from haloscope.explain._kernels import Places

if TYPE_CHECKING:
    from typing import TypeGuard

    from numpy.typing import ArrayLike, NDArray

    from haloscope.explain.regimes.timings._timings import Timings

    Series = ArrayLike | Sequence[ArrayLike]

__all__ = ["NONE", "Sequences"]

_LARGEST = 1e150  # its square is a number, too
NONE = 255  # the state where there is no instance


@dataclass(frozen=True)
class Sequences:
    """Sequence s is `values[begins[s] : begins[s] + lengths[s]]`, all of them finite.

    `shape` is that of a matrix or of one series, None for a list.
    """

    values: NDArray[np.float64]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]
    shape: tuple[int, ...] | None

    @classmethod
    def of(cls, x: Series) -> Sequences:
        """Take (sequences, instances), one series, or 1-D arrays; a C-contiguous one is not copied.

        NaN at the end of a row means that it has ended. Raises `TimingsError` if NaN is elsewhere,
        or anything is infinite.
        """
        if not _is_list_of_series(x):
            return cls._of_matrix(np.ascontiguousarray(x, dtype=np.float64))
        parts = [np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in x]
        if any(part.ndim != 1 for part in parts):
            raise TimingsError("a list of series needs 1-D arrays; pass a matrix as one array")
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        found = cls(np.concatenate(parts), np.cumsum(lengths) - lengths, lengths, None)
        return found._checked()

    @classmethod
    def _of_matrix(cls, matrix: NDArray[np.float64]) -> Sequences:
        if matrix.ndim not in {1, 2}:
            raise TimingsError(f"timings with {matrix.ndim} axes; pass (sequences, instances)")
        rows = np.atleast_2d(matrix)
        lengths = np.full(len(rows), rows.shape[1], dtype=np.int64)
        if rows.size and np.isnan(rows[:, -1]).any():
            there = ~np.isnan(rows[:, ::-1])
            lengths -= np.where(there.any(axis=1), there.argmax(axis=1), rows.shape[1])
        begins = np.arange(len(rows), dtype=np.int64) * rows.shape[1]
        return cls(rows.reshape(-1), begins, lengths, matrix.shape)._checked()

    @classmethod
    def of_timings(cls, timings: Timings) -> Sequences:
        """Take all ranks; timings have been looked at when they were read."""
        ranks, width = timings.durations.shape
        begins = np.arange(ranks, dtype=np.int64) * width
        return cls(timings.durations.reshape(-1), begins, timings.counts, (ranks, width))

    @property
    def places(self) -> Places:
        """Where the sequences are."""
        return Places(self.begins, self.lengths)

    def packed(self) -> Sequences:
        """The same with nothing between the sequences."""
        begins = np.cumsum(self.lengths) - self.lengths
        return Sequences(self.inside, begins, self.lengths, None)

    @property
    def points(self) -> int:
        """Instances in all."""
        return int(self.lengths.sum())

    @property
    def inside(self) -> NDArray[np.float64]:
        """The values of all sequences without what is between them."""
        if self.points == len(self.values):
            return self.values
        return np.concatenate([self.values[b : b + n] for b, n in self._bounds()])

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over each sequence of something laid out as `values`."""
        return np.array([values[b : b + n].sum() for b, n in self._bounds()])

    def with_values(self, values: NDArray[np.float64]) -> Sequences:
        """The same sequences of other values."""
        return replace(self, values=values)

    def some(self, rows: NDArray[np.int64]) -> Sequences:
        """Only these sequences, as a list."""
        return replace(self, begins=self.begins[rows], lengths=self.lengths[rows], shape=None)

    def restored(self, flat: NDArray[np.uint8]) -> NDArray[np.uint8] | list[NDArray[np.uint8]]:
        """Put something laid out as `values` into the form that the timings came in."""
        if self.shape is not None:
            return flat.reshape(self.shape)
        return [flat[b : b + n] for b, n in self._bounds()]

    def restored_rows(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """The same for several numbers a point, which are the last axis."""
        if self.shape is not None:
            return rows.reshape(*self.shape, rows.shape[1])
        return [rows[b : b + n] for b, n in self._bounds()]

    def _bounds(self) -> list[tuple[int, int]]:
        return list(zip(self.begins.tolist(), self.lengths.tolist(), strict=True))

    def _checked(self) -> Sequences:
        values = self.inside
        if not len(values):
            raise TimingsError("no instances: there is nothing to find regimes in")
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(values.sum())
        if abs(total) < _LARGEST:
            return self
        low, high = float(values.min()), float(values.max())
        if np.isnan(low):
            raise TimingsError("a series has NaN before its end; leave it out, or cut it there")
        raise TimingsError(f"timings from {low:g} to {high:g}: no seconds that a clock shows")


def _is_list_of_series(x: Series) -> TypeGuard[Sequence[ArrayLike]]:
    """False for plain numbers and for a nested list that is a matrix."""
    if not isinstance(x, Sequence) or isinstance(x, str) or not len(x) or np.isscalar(x[0]):
        return False
    return any(isinstance(part, np.ndarray) for part in x) or len({np.size(p) for p in x}) > 1
