"""The rows of the table of episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from haloscope.explain.regimes._slow import Slow

__all__ = ["SCHEMA", "Report"]

SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "kind": pl.String,
    "who": pl.String,
    "first": pl.Int64,
    "last": pl.Int64,
    "start": pl.Float64,
    "duration": pl.Float64,
    "share": pl.Float64,
    "lost": pl.Float64,
}


class Report:
    """Collects episodes as they are found."""

    def __init__(
        self, durations: NDArray[np.float64], seen: Slow, starts: NDArray[np.float64] | None
    ) -> None:
        self._durations, self._seen, self._starts = durations, seen, starts
        self._rows: list[dict[str, object]] = []

    def add(
        self, kind: str, who: str | None, rows: NDArray[np.int64], found: Sequence[tuple[int, int]]
    ) -> None:
        """Add stretches, first and last instance, of these rows of the matrix."""
        if not found:
            return
        first, last = np.array(found).T
        bad, there, excess = (_running(part) for part in self._sums(rows))
        share = (bad[last + 1] - bad[first]) / (there[last + 1] - there[first])
        lost = excess[last + 1] - excess[first]
        start, duration = self._times(rows, first, last)
        columns = (first, last, start, duration, share, lost)
        self._rows += [
            {"kind": kind, "who": who, **dict(zip(list(SCHEMA)[2:], row, strict=True))}
            for row in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def _sums(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """Bad instances, instances, and seconds lost by the average rank, by instance."""
        seen = self._seen
        if rows.size == 1:
            row = rows[0]
            there = seen.exists[row]
            excess = np.where(there, self._durations[row] - seen.usual[row], 0)
            return seen.events[row], there, excess
        groups = np.unique(seen.group[rows])
        bad, there, excess = (
            part[groups].sum(axis=0) for part in (seen.bad, seen.there, seen.excess)
        )
        return bad, there, excess / np.maximum(there, 1)

    def _times(
        self, rows: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """From the first of these ranks that began to the last that ended; NaN: unknown."""
        if self._starts is None:
            unknown = np.full(first.size, np.nan)
            return unknown, unknown
        begin = np.fmin.reduce(self._starts[np.ix_(rows, first)], axis=0)
        ends = np.ix_(rows, last)
        end = np.fmax.reduce(self._starts[ends] + self._durations[ends], axis=0)
        return begin, end - begin

    def frame(self) -> pl.DataFrame:
        """Return what was found, the most lost first, the machine before hosts before ranks."""
        kinds = pl.col("kind").replace_strict({"machine": 0, "host": 1, "rank": 2})
        table = pl.DataFrame(self._rows, schema=SCHEMA, infer_schema_length=None)
        return table.with_columns(pl.col("start", "duration").fill_nan(None)).sort(
            kinds, pl.col("lost").neg(), "first", maintain_order=True
        )


def _running(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate(([0.0], np.cumsum(values)))
