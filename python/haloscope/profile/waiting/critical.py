"""The critical path: the activities that determine the run time, found from its end backwards."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.profile.kernels import native_library
from haloscope.profile.waiting.stretches import BEFORE, COMPUTING, Stretches
from haloscope.profile.waiting.timeline import Timeline


def critical_path(timeline: Timeline, cut: Stretches, waits: pl.DataFrame) -> pl.DataFrame:
    """Return the critical path by region and rank: `path`, `rank`, `time` and `mpi_time` (ns), `changes`.

    The sum of times is the run's. `mpi_time` is the part in MPI calls, `changes` the number of times that the
    path came to this rank and region from a different rank.
    """
    if not timeline.duration:
        return _table(timeline, cut, np.zeros(len(cut.begin), dtype=np.uint8))
    cause = np.full(len(timeline.begin), -1, dtype=np.int64)
    cause[waits["call"].to_numpy()] = waits["cause"].to_numpy()
    # A call with a completion may have waited, too: the later row of the list is kept.
    is_wait = waits.filter(pl.col("cause") >= 0)
    cause[is_wait["call"].to_numpy()] = is_wait["cause"].to_numpy()
    on_path = np.zeros(len(cut.begin), dtype=np.uint8)
    native_library().haloscope_critical_path(
        cut.struct,
        cause.ctypes.data,
        timeline.location.ctypes.data,
        int(np.argmax(timeline.last)),
        len(cause),
        on_path.ctypes.data,
    )
    return _table(timeline, cut, on_path)


def _table(
    timeline: Timeline, cut: Stretches, on_path: np.ndarray[tuple[int], np.dtype[np.uint8]]
) -> pl.DataFrame:
    on = on_path.astype(np.bool_)
    is_mpi = ~np.isin(cut.kind[on], (BEFORE, COMPUTING))
    time = cut.time[on]
    rows = pl.DataFrame(
        {
            "path": cut.path[on].astype(np.int64),
            "rank": timeline.ranks[cut.location[on]].astype(np.int64),
            "time": time,
            "mpi_time": np.where(is_mpi, time, 0),
        }
    )
    return rows.group_by("path", "rank").sum().sort("path", "rank")
