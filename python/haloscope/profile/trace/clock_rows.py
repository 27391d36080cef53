"""The clocks of a trace as a table: offsets, and events moved for messages that would arrive too early."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.profile.store.trace_tables import CLOCKS
from haloscope.profile.trace.alignment import Aligned
from haloscope.profile.trace.trace_times import Clocks


def clock_rows(clocks: Clocks, found: Aligned) -> pl.DataFrame:
    """Return one row per rank with a clock: offsets and moves in seconds, machines numbered from 0."""
    ranks = clocks.frame["rank"].to_numpy()
    machines = clocks.machines(ranks)
    shifts = {of: float(shift[np.abs(shift).argmax()]) * 1e-9 for of, shift in found.shifts.items()}
    # All ranks of a machine use the clock of its first rank.
    _, first = np.unique(machines, return_index=True)
    offsets = {
        name: clocks.frame[name].to_numpy()[first][machines] for name in ("offset_begin", "offset_end")
    }
    rows = pl.DataFrame(
        {
            "rank": ranks,
            "machine": machines,
            **offsets,
            "shift": [shifts.get(int(of), 0.0) for of in machines],
        }
    )
    moved = found.moved.select(
        pl.col("rank").cast(pl.Int64), moved="events", moved_max=pl.col("longest") * 1e-9
    )
    joined = rows.join(moved, on="rank", how="left")
    filled = joined.with_columns(pl.col("moved", "moved_max").fill_null(0)).sort("rank")
    return filled.select(list(CLOCKS)).cast(CLOCKS)  # type: ignore[arg-type]
