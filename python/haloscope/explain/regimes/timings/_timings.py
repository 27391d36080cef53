"""One run's times of one region: what all of this package takes and gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from haloscope.base.units import ranks_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["REDUCED", "Reduction", "Timings"]

Reduction = Literal["max", "median", "mean"]
REDUCED = -1  # the rank of a series that stands for all ranks

_COLUMNS_AT_A_TIME = 256


@dataclass(frozen=True)
class Timings:
    """T[p, k], the seconds that instance k of a region took on rank p.

    `durations` is C-contiguous, ranks × instances, finite and not negative; NaN follows a rank's
    last instance. `counts` are the instances of each row, at least one; `ranks` and `hosts` its
    world rank and where it ran (None: unknown). `others` are further matrices of the same shape by
    name, read when they are asked for: `start` (seconds since MPI_Init), `wait`, and values that
    the program recorded, NaN where there is none. `notes` say what was left out, a line each.
    """

    name: str
    region: str | None
    durations: NDArray[np.float64]
    counts: NDArray[np.int64]
    ranks: NDArray[np.int64]
    hosts: tuple[str | None, ...]
    others: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, durations: NDArray[np.float64], name: str = "timings", region: str | None = None) -> Timings:
        """Return a matrix, ranks × instances, as timings of ranks 0, 1, …, without copying it."""
        matrix = np.ascontiguousarray(np.atleast_2d(durations), dtype=np.float64)
        ranks = len(matrix)
        # Where the last instance of a rank is there, all are: nothing else is to be searched.
        ragged = np.isnan(matrix[:, -1]).any() if matrix.shape[1] else False
        width = np.full(ranks, matrix.shape[1], dtype=np.int64)
        counts = matrix.shape[1] - _trailing(matrix) if ragged else width
        return cls(name, region, matrix, counts, np.arange(ranks), (None,) * ranks)

    @property
    def whole(self) -> bool:
        """True if all ranks have equally many instances."""
        return bool(self.counts.min() == self.durations.shape[1])

    @property
    def rows(self) -> list[NDArray[np.float64]]:
        """The durations of each rank without what follows its last one; views."""
        counts = self.counts.tolist()
        return [row[:count] for row, count in zip(self.durations, counts, strict=True)]

    def reduced(self, how: Reduction) -> Timings:
        """Return T[k] of the instances that all ranks have, as one row of rank −1 (Remark 1).

        Ranks that ended before half of the longest series are left out, and a note says so. The
        `start` is the mean over ranks; there are no other values.
        """
        kept = 2 * self.counts >= self.counts.max()
        if not kept.all():
            early = ranks_text(self.ranks[~kept].tolist())
            note = f"not in the {how} over ranks, as they ended early: {early}"
            rest = self.chosen(np.flatnonzero(kept))
            return replace(rest, notes=(*self.notes, note)).reduced(how)
        shared = int(self.counts.min())
        durations = _reduced(self.durations[:, :shared], how)
        others = {}
        if "start" in self.others:
            others["start"] = _reduced(self.others["start"][:, :shared], "mean")
        notes = self.notes
        if shared < self.durations.shape[1]:
            most = self.durations.shape[1]
            notes += (f"only the first {shared} of {most} instances are there on all ranks",)
        counts = np.array([shared], dtype=np.int64)
        ranks = np.array([REDUCED], dtype=np.int64)
        return replace(
            self, durations=durations, counts=counts, ranks=ranks, hosts=(None,), others=others, notes=notes
        )

    def chosen(self, rows: Sequence[int] | NDArray[np.int64]) -> Timings:
        """Return only these rows."""
        index = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            durations=self.durations[index],
            counts=self.counts[index],
            ranks=self.ranks[index],
            hosts=tuple(self.hosts[row] for row in index.tolist()),
            others=_Chosen(self.others, index),
        )

    def at(self, columns: NDArray[np.bool_]) -> Timings:
        """Return only these instances, which are then neighbours."""
        ends = np.arange(len(columns)) < self.counts[:, None]
        return replace(
            self,
            durations=np.ascontiguousarray(self.durations[:, columns]),
            counts=np.count_nonzero(ends & columns, axis=1),
            others=_Chosen(self.others, (slice(None), columns)),
        )


class _Chosen(Mapping[str, "NDArray[np.float64]"]):
    """Rows or columns of matrices that are read when one is asked for."""

    def __init__(
        self,
        matrices: Mapping[str, NDArray[np.float64]],
        index: NDArray[np.int64] | tuple[slice, NDArray[np.bool_]],
    ) -> None:
        self._matrices, self._index = matrices, index

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self._matrices[name][self._index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._matrices)

    def __len__(self) -> int:
        return len(self._matrices)


def _trailing(matrix: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many NaN each row ends with."""
    there = ~np.isnan(matrix[:, ::-1])
    first: NDArray[np.int64] = there.argmax(axis=1)
    return np.where(there.any(axis=1), first, matrix.shape[1])


def _reduced(matrix: NDArray[np.float64], how: Reduction) -> NDArray[np.float64]:
    """Return one row; a median copies what it sorts, so a few columns at a time."""
    functions: Mapping[Reduction, Callable[..., NDArray[np.float64]]]
    functions = {"max": np.max, "median": np.median, "mean": np.mean}
    if not len(matrix) or not matrix.shape[1]:
        return np.empty((1, 0))
    parts = [
        functions[how](matrix[:, first : first + _COLUMNS_AT_A_TIME], axis=0)
        for first in range(0, matrix.shape[1], _COLUMNS_AT_A_TIME)
    ]
    return np.concatenate(parts)[None, :]
