"""One series from several: the instances of a region that is in several paths, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.profile.tables import Instances


class MergedInstances:
    """Where each instance of `parts` is in a matrix of all of them, rank × instance, by their starts.

    `ranks` are the rows. A solver that applies one operator in different regions, such as a smoother and a
    residual, has a series for each; together they are the operator's.
    """

    def __init__(self, parts: Sequence[Instances]) -> None:
        self.ranks = np.unique(np.concatenate([part.ranks for part in parts]))
        self._there = [np.arange(part.counts.max()) < part.counts[:, None] for part in parts]
        rows = [
            np.repeat(np.searchsorted(self.ranks, part.ranks), part.counts).astype(np.int64) for part in parts
        ]
        self._rows = np.concatenate(rows)
        order = np.lexsort((self.merge_flat([part.start for part in parts]), self._rows))
        firsts = np.searchsorted(self._rows[order], np.arange(len(self.ranks)))
        self._columns = np.empty(len(order), dtype=np.int64)
        self._columns[order] = np.arange(len(order)) - firsts[self._rows[order]]
        self.shape = len(self.ranks), int(self._columns.max()) + 1

    def merge_flat(self, matrices: Sequence[Floats]) -> Floats:
        """Return the values of all instances, part by part and row by row."""
        return np.concatenate([matrix[chosen] for matrix, chosen in zip(matrices, self._there, strict=True)])

    def merge(self, matrices: Sequence[Floats]) -> Floats:
        """Return one matrix from a matrix for each part; NaN follows a rank's last instance."""
        merged = np.full(self.shape, np.nan)
        merged[self._rows, self._columns] = self.merge_flat(matrices)
        return merged


class MergedValues(Mapping[str, Floats]):
    """Values of merged instances by name. NaN where a part has no such value."""

    def __init__(
        self,
        merge: Callable[[Sequence[Floats]], Floats],
        parts: Sequence[tuple[Mapping[str, Floats], Floats]],
    ) -> None:
        """Take the function that merges, and the values and durations of each part."""
        self._merge, self._parts = merge, parts

    def __getitem__(self, name: str) -> Floats:
        known = [name in set(values) for values, _ in self._parts]
        if not any(known):
            raise KeyError(name)
        return self._merge(
            [
                values[name] if has_it else np.full_like(durations, np.nan)
                for has_it, (values, durations) in zip(known, self._parts, strict=True)
            ]
        )

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for values, _ in self._parts for name in values))

    def __len__(self) -> int:
        return len(list(iter(self)))
