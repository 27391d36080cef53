"""Matrices of ranks × instances, made as small as a picture needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "Cells", "cells"]

# Three times what a screen has, and some two megabytes of page.
MOST_ROWS, MOST_COLUMNS = 256, 1024


@dataclass(frozen=True)
class Cells:
    """Means of times and commonest states of `rows` neighbouring ranks × `columns` instances.

    `mean` are seconds, NaN where nothing is; `state` is float, NaN there. `edges` are the first
    instance of each column of cells, and `ranks` the first row of each row of cells.
    """

    mean: NDArray[np.float64]
    state: NDArray[np.float64]
    rows: int
    columns: int

    @property
    def said(self) -> str:
        """What a cell is, for a caption; empty if it is one instance of one rank."""
        if self.rows == self.columns == 1:
            return ""
        ranks = f"{self.rows} neighbouring ranks × " if self.rows > 1 else ""
        instances = f"{self.columns} instances" if self.columns > 1 else "1 instance"
        return ranks + instances


def cells(
    durations: NDArray[np.float64], states: NDArray[np.uint8], regimes: int,
    most_rows: int = MOST_ROWS, most_columns: int = MOST_COLUMNS,
) -> Cells:  # fmt: skip
    """Return ranks × instances in at most `most_rows` × `most_columns` cells of equal size.

    Of states that are equally common in a cell, it has the slower one.
    """
    rows = -(-len(durations) // most_rows)
    columns = -(-durations.shape[1] // most_columns)
    starts = np.arange(0, durations.shape[1], columns)
    means, commonest = [], []
    for first in range(0, len(durations), rows):
        times, decoded = durations[first : first + rows], states[first : first + rows]
        counts = np.stack([_summed(decoded == state, starts) for state in range(regimes)])
        total = counts.sum(axis=0)
        sums = _summed(np.where(decoded < regimes, times, 0), starts)
        with np.errstate(invalid="ignore", divide="ignore"):
            means.append(np.where(total > 0, sums / total, np.nan))
        slowest = regimes - 1 - counts[::-1].argmax(axis=0)
        commonest.append(np.where(total > 0, slowest, np.nan))
    return Cells(np.array(means), np.array(commonest), rows, columns)


def _summed(
    rows: NDArray[np.bool_] | NDArray[np.float64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    return np.add.reduceat(rows.sum(axis=0, dtype=np.float64), starts)
