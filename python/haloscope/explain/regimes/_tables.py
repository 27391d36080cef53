"""The regime table: Table 1 of Heldman, Rudi and Bessac (2025), and how long regimes last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["regime_table"]

_SCHEMA = {
    "regime": pl.Int64,
    "mean": pl.Float64,
    "std": pl.Float64,
    "median": pl.Float64,
    "share": pl.Float64,
    "instances": pl.Int64,
    "runs": pl.Int64,
    "run_length": pl.Float64,
}


def regime_table(
    durations: NDArray[np.float64], states: NDArray[np.uint8], n_regimes: int
) -> pl.DataFrame:
    """One row a regime, the fastest first, over all ranks and instances.

    `durations` are seconds, (ranks, instances); `states` the decoded regimes in the same shape,
    255 where a rank has no instance. Columns: `regime` (from 1, as in the paper; state 0 is
    regime 1), `mean`, `std` (of the sample), `median` in seconds, `share` of all instances,
    `instances`, `runs` (maximal stretches of instances of one rank in the regime) and `run_length`,
    their mean length in instances; stretches that the series' ends cut off count as they are.
    A statistic of too few instances is null.
    """
    durations, states = np.atleast_2d(durations), np.atleast_2d(states)
    runs = _runs(states)
    rows = [_row(durations[states == state], state, int(runs[state])) for state in range(n_regimes)]
    total = sum(row["instances"] or 0 for row in rows)
    for row in rows:
        row["share"] = (row["instances"] or 0) / total if total else None
    return pl.DataFrame(rows, schema=_SCHEMA)


def _row(values: NDArray[np.float64], state: int, runs: int) -> dict[str, float | None]:
    instances = values.size
    mean = float(values.mean()) if instances else None
    return {
        "regime": state + 1,
        "mean": mean,
        "std": float(values.std(ddof=1)) if instances > 1 else None,
        "median": float(np.median(values, overwrite_input=True)) if instances else None,
        "instances": instances,
        "runs": runs,
        "run_length": instances / runs if runs else None,
    }


def _runs(states: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many stretches there are of each state."""
    begins = np.ones(states.shape, dtype=bool)
    np.not_equal(states[:, 1:], states[:, :-1], out=begins[:, 1:])
    return np.bincount(states[begins], minlength=256)
