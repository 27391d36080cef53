"""The points of a sweep as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from haloscope.profile.shown import columns, declare_table, exact, interval, text, time

if TYPE_CHECKING:
    import polars as pl

_KEYS = (
    columns(
        "collective algorithm", "the measured collective and algorithm", collective=text(), algorithm=text()
    ),
    columns("number", "the library's number of the algorithm"),
    columns("segment fanout", "0: the library's own choice", segment=exact(), fanout=exact("fan-out")),
    columns("ranks nodes mapping", "where it ran", ranks=exact()),
    columns("bytes", "as OSU counts them", bytes=exact()),
    columns("iterations", "measured calls of each rank"),
    columns("status reason", "`ok`, `failed`, `timeout` or `unsupported`, and why", status=text()),
    columns("launch", "number of the repeated launch, from 0"),
)
_TIMES = (
    columns(
        "time time_min time_max",
        "OSU's: mean, minimum and maximum over ranks of each rank's mean over iterations; seconds",
        time=time("mean"),
    ),
    columns(
        "median ci_low ci_high",
        "over iterations, of the slowest rank's time in each; 95 % interval by order statistics",
        ci_low=interval("median ±", of="median", high="ci_high"),
    ),
)
POINTS_TABLE = declare_table(
    "points", *_KEYS, *_TIMES, order="collective algorithm segment fanout ranks bytes time ci_low status"
)
# The columns that identify a point, and those with its times.
POINT_KEYS = [name for group in _KEYS for name in group.names]
POINT_TIMES = [name for group in _TIMES for name in group.names]
_NUMBERS = frozenset({"number", "segment", "fanout", "ranks", "nodes", "bytes", "iterations", "launch"})


def frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the table of points, with all columns even if it is empty."""
    import polars as pl

    schema: dict[str, Any] = {key: pl.Int64 if key in _NUMBERS else pl.String for key in POINT_KEYS}
    return pl.DataFrame(list(rows), schema=schema | dict.fromkeys(POINT_TIMES, pl.Float64))
