"""Durations of all ranks side by side: instances × ranks, where each rank ends when it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain.regimes._emissions import Emission

__all__ = ["Grid"]


@dataclass(frozen=True)
class Grid:
    """Durations in the order of instances, all ranks of one after the other."""

    values: NDArray[np.float64]  # those that there are
    active: NDArray[np.bool_]  # (instances, ranks): where they belong
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, durations: NDArray[np.float64]) -> Grid:
        """Return (ranks, instances) as a grid. Raises `UsageError`."""
        matrix = np.asarray(durations, np.float64)
        if matrix.ndim != 2 or not matrix.size:
            raise UsageError("a machine model takes a matrix of durations, ranks × instances")
        active = ~np.isnan(matrix.T)
        lengths = active.sum(axis=0)
        if (active != (np.arange(len(active))[:, None] < lengths)).any():
            raise UsageError("a duration is missing between others; NaN may only end a rank's row")
        if not lengths.all():
            raise UsageError("a rank has no duration; leave it out")
        active = active[: lengths.max()]
        values = matrix.T[: len(active)][active]
        if not np.isfinite(values).all():
            raise UsageError("a duration is infinite; leave it out")
        return cls(values, active, lengths)

    def rows(self) -> list[NDArray[np.float64]]:
        """Return the durations of each rank."""
        matrix = self.filled(self.values)
        return [matrix[:length, rank] for rank, length in enumerate(self.lengths.tolist())]

    def means(self) -> NDArray[np.float64]:
        """Return the mean over ranks at each instance."""
        means: NDArray[np.float64] = self.filled(self.values).sum(axis=1) / self.active.sum(axis=1)
        return means

    def filled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values, one a duration or a row of them, in the grid; 0 where there is none."""
        grid = np.zeros(self.active.shape + values.shape[1:])
        grid[self.active] = values
        return grid

    def log_density(self, emission: Emission) -> NDArray[np.float64]:
        """Return (instances, ranks, regimes)."""
        return self.filled(emission.log_density(self.values))
