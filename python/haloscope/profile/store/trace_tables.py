"""The tables of a trace: calls, regions, messages and collectives."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

_EVENTS = ("calls", "regions", "sends", "receives", "collectives")
_NUMBER = pl.Int64
_WHERE = {"rank": pl.Int32, "thread": pl.Int32}

CALLS: dict[str, pl.DataType | type[pl.DataType]] = {
    **_WHERE,
    "begin": _NUMBER,
    "end": _NUMBER,
    "call": pl.Categorical,
    "path": pl.Int32,
    "bytes": _NUMBER,
    "is_exact": pl.Boolean,
}
REGIONS: dict[str, pl.DataType | type[pl.DataType]] = {
    **_WHERE,
    "begin": _NUMBER,
    "end": _NUMBER,
    "path": pl.Int32,
}
_MESSAGES: dict[str, pl.DataType | type[pl.DataType]] = {
    **_WHERE,
    "started": _NUMBER,
    "completed": _NUMBER,
    "partner": pl.Int32,
    "tag": pl.Int32,
    "communicator": pl.Int32,
    "bytes": _NUMBER,
}
SENDS = _MESSAGES
RECEIVES = _MESSAGES
COLLECTIVES: dict[str, pl.DataType | type[pl.DataType]] = {
    **_WHERE,
    "started": _NUMBER,
    "completed": _NUMBER,
    "operation": pl.Categorical,
    "communicator": pl.Int32,
    "number": _NUMBER,
    "root": pl.Int32,
    "bytes_sent": _NUMBER,
    "bytes_received": _NUMBER,
}
CLOCKS: dict[str, pl.DataType | type[pl.DataType]] = {
    "rank": pl.Int32,
    "machine": _NUMBER,
    "offset_begin": pl.Float64,
    "offset_end": pl.Float64,
    "shift": pl.Float64,
    "moved": _NUMBER,
    "moved_max": pl.Float64,
}
RUNS: dict[str, pl.DataType | type[pl.DataType]] = {"rank": pl.Int32, "begin": _NUMBER, "end": _NUMBER}
COMMUNICATORS: dict[str, pl.DataType | type[pl.DataType]] = {
    "communicator": pl.Int32,
    "name": pl.String,
    "ranks": pl.List(pl.Int32),
}


@dataclass(frozen=True)
class Trace:
    """The trace of a run. Times are integers: nanoseconds since the earliest MPI_Init, on one clock.

    `calls`: a row for each MPI call, by rank, thread and begin. `bytes` are those that the table `calls`
        counts for it: bytes sent, else bytes received or completed (-1: none). Not `is_exact`: the end is an
        estimate, never after the next begin (of a trace that was recorded all are exact).
    `regions`: a row for each visit of a region, by rank, thread and begin; the outer one first. The whole
        program is none.
    `sends`: a row for each message sent, in the order in which the rank started them. `started` and
        `completed` are rows of `calls` (equal for a blocking call; `completed` is -1 where nothing completed
        it). `partner` is a world rank (-1: not in this world).
    `receives`: the same columns, in the order in which the rank posted them, or matched them (MPI_Mprobe).
        `partner` and `tag` are those of the message that came; one that nothing came for is not there.
    `collectives`: a row for each part that a rank took in a collective; `number` counts the collectives of
        the communicator, from 0, so that equal numbers are one collective. `root` is a world rank (-1: none).
        Of those whose parts differ in size on the receiving side (MPI_Scatterv, MPI_Alltoallv, ...)
        `bytes_received` is an average, or what the rank sent.
    `communicators`: their world ranks, in the communicator's order; number 0 is MPI_COMM_WORLD. Numbers
        hold for all ranks.
    `paths`: as the profile's (`path`, `parent`, `name`, `communication`).
    `processes`: as the profile's (`rank`, `host`, `pid`, ...).
    `dropped`: events that were lost, for each rank that lost some (`rank`, `events`).
    `clocks`: how the clock of each rank became the one that all times are of, and how many of its events were
        moved because a message would have arrived before it was sent: as the shown table, without
        hosts. Of a trace that was not recorded here it has no rows.
    `runs`: the time of each rank from MPI_Init to MPI_Finalize. No rows if only a part was recorded, or if
        this is unknown.
    """

    calls: pl.DataFrame
    regions: pl.DataFrame
    sends: pl.DataFrame
    receives: pl.DataFrame
    collectives: pl.DataFrame
    communicators: pl.DataFrame
    paths: pl.DataFrame
    processes: pl.DataFrame
    dropped: pl.DataFrame
    clocks: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=CLOCKS))
    runs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=RUNS))

    def __post_init__(self) -> None:
        # Columns in one piece can be read as arrays without a copy; those in several pieces cannot.
        for name in _EVENTS:
            object.__setattr__(self, name, getattr(self, name).rechunk())
