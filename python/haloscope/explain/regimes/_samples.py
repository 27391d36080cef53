"""What one run, or one method, brings to a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["ROWS", "Sample", "row_blocks"]

# Rows that are worked on at a time: what is made of them stays in the cache, and memory small.
ROWS = 64


@dataclass(frozen=True)
class Sample:
    """The times of one run or method under the name that tables and pictures give it.

    `durations` are seconds, (ranks, instances), or (instances,) for a reduced series such as
    T^max; NaN where a rank has no instance. `states` are the decoded regimes in the same shape,
    0 the fastest and 255 where there is no instance; None where nothing was decoded.
    """

    name: str
    durations: NDArray[np.float64]
    states: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        """Make rows of a single series."""
        if self.states is not None and self.states.shape != self.durations.shape:
            shapes = f"{self.states.shape} and {self.durations.shape}"
            raise ValueError(f"{self.name}: states and durations differ in shape: {shapes}")
        object.__setattr__(self, "durations", np.atleast_2d(self.durations))
        if self.states is not None:
            object.__setattr__(self, "states", np.atleast_2d(self.states))

    def chosen(self, rows: slice, regime: int | None) -> NDArray[np.bool_]:
        """Which instances of `rows` are in `regime`; with None, which there are."""
        if regime is None:
            return ~np.isnan(self.durations[rows])
        if self.states is None:
            raise ValueError(f"{self.name}: no regimes were decoded")
        return np.equal(self.states[rows], regime)

    def values(self, regime: int | None = None) -> NDArray[np.float64]:
        """All times in `regime`, of all ranks, rank by rank."""
        parts = [self.durations[rows][self.chosen(rows, regime)] for rows in row_blocks(self)]
        return np.concatenate(parts) if parts else np.empty(0)


def row_blocks(sample: Sample) -> Iterator[slice]:
    """Some rows at a time, all rows in turn."""
    for first in range(0, len(sample.durations), ROWS):
        yield slice(first, first + ROWS)
