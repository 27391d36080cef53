"""An OTF2 archive as a trace: calls, regions, messages and collectives with their times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from haloscope.profile.importing.foreign_tables import path_rows
from haloscope.profile.importing.otf2_archive import KINDS
from haloscope.profile.importing.otf2_events import ArchiveEvents
from haloscope.profile.importing.otf2_world import ArchiveWorld
from haloscope.profile.trace import CALLS, COLLECTIVES, COMMUNICATORS, RECEIVES, REGIONS, SENDS, Trace

_KIND = {kind: number for number, kind in enumerate(KINDS)}
_WORLD = "MPI_COMM_WORLD"
_KEYS = ["rank", "request"]


def trace_of(
    events: ArchiveEvents,
    world: ArchiveWorld,
    calls: pl.DataFrame,
    collectives: pl.DataFrame,
    processes: pl.DataFrame,
) -> Trace:
    """Return the trace from MPI_Init to MPI_Finalize.

    `calls` and `collectives` are rows of `events`, with their names. A receive that was posted and never
    completed has no message. Posts and completions are matched by the numbers of their requests; a number
    that is used again is a new request.
    """
    first = events.spans["begin"].min() or 0
    ordered = calls.sort("rank", "thread", "begin", "row")
    now = ordered.select("row", pl.int_range(pl.len(), dtype=pl.Int64).alias("now"))
    moments = (
        events.moments.join(now, on="row", how="left", maintain_order="left")
        .with_columns(pl.col("now").fill_null(-1))
        .with_row_index("moment")
    )
    numbers = _communicators(world, moments)
    number = pl.col("communicator").replace_strict(numbers["communicator"], numbers["number"], default=None)
    moments = moments.with_columns(number.alias("communicator"))
    operations = collectives.select("rank", "thread", "time", "row", "operation")
    sends = _sends(moments)
    return Trace(
        calls=_cast(_calls(ordered, sends, collectives, first), CALLS),
        regions=_cast(_move_times(events.visits, first).sort("rank", "thread", "begin", "path"), REGIONS),
        sends=_cast(sends, SENDS),
        receives=_cast(_pair_completions(moments, "receive", "post_receive", "received"), RECEIVES),
        collectives=_cast(_collectives(moments, operations), COLLECTIVES),
        communicators=_cast(numbers.drop("communicator").rename({"number": "communicator"}), COMMUNICATORS),
        paths=path_rows(events.names, events.parents, [False] * len(events.names)),
        processes=processes,
        dropped=pl.DataFrame(schema={"rank": pl.Int32, "events": pl.Int64}),
    )


def _cast(frame: pl.DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(kind) for name, kind in schema.items())


def _move_times(frame: pl.DataFrame, first: object) -> pl.DataFrame:
    return frame.with_columns(pl.col("begin", "end") - pl.lit(first, pl.Int64))


def _communicators(world: ArchiveWorld, moments: pl.DataFrame) -> pl.DataFrame:
    """Return `communicator` (the archive's number), `number`, `name` and `ranks`; the world is number 0."""
    used = moments.filter(pl.col("communicator") >= 0)["communicator"].unique().sort().to_list()
    known = [number for number in used if number in world.archive.communicators]
    everyone = list(range(world.size))
    whole = [number for number in known if world.members(number) == everyone]
    named = [number for number in whole if world.name(number) == _WORLD]
    first = [*named, *whole][:1]
    others = [number for number in known if number not in first]
    rows = [(number, 0, _WORLD, everyone) for number in first] or [(-1, 0, _WORLD, everyone)]
    rows += [
        (number, index, world.name(number), world.members(number)) for index, number in enumerate(others, 1)
    ]
    columns = ("communicator", "number", "name", "ranks")
    return pl.DataFrame([pl.Series(name, [row[index] for row in rows]) for index, name in enumerate(columns)])


def _select(moments: pl.DataFrame, *kinds: str) -> pl.DataFrame:
    return moments.filter(pl.col("kind").is_in([_KIND[kind] for kind in kinds]))


def _pairs(posts: pl.DataFrame, done: pl.DataFrame) -> pl.DataFrame:
    """Return `posted`, `started`, `ended` and `completed`, of each post that a completion of its request
    follows, on whatever thread: the moments of both, and the rows of their calls.
    """
    both = pl.concat(
        [
            frame.select(*_KEYS, "time", "moment", "now", pl.lit(value=is_post).alias("is_post"))
            for frame, is_post in ((posts, True), (done, False))
        ]
    ).sort(*_KEYS, "time", "moment")
    following = both.with_columns(
        pl.col("moment").shift(-1).over(_KEYS).alias("ended"),
        pl.col("now").shift(-1).over(_KEYS).alias("completed"),
        pl.col("is_post").shift(-1).over(_KEYS).alias("is_again"),
    )
    pairs = following.filter(pl.col("is_post") & ~pl.col("is_again").fill_null(value=True))
    return pairs.select(
        pl.col("moment").alias("posted"), pl.col("now").alias("started"), "ended", "completed"
    )


def _sends(moments: pl.DataFrame) -> pl.DataFrame:
    """Return sends with the rows of the calls that started and completed them."""
    blocking = _select(moments, "send").with_columns(pl.col("now").alias("completed"))
    posts = _select(moments, "post_send")
    pairs = _pairs(posts, _select(moments, "sent")).select("posted", "completed")
    found = posts.join(pairs, left_on="moment", right_on="posted", how="left")
    return _sort_by_start(pl.concat([blocking, found.with_columns(pl.col("completed").fill_null(-1))]))


def _pair_completions(moments: pl.DataFrame, blocking: str, post: str, done: str) -> pl.DataFrame:
    """Return messages from their completions, with the rows of the starting and completing calls."""
    at_once = _select(moments, blocking).with_columns(pl.col("now").alias("completed"))
    ended = _select(moments, done).with_columns(pl.col("now").alias("completed"))
    pairs = _pairs(_select(moments, post), ended).select("ended", "started")
    found = ended.join(pairs, left_on="moment", right_on="ended", how="left")
    started = found.with_columns(pl.coalesce("started", "now").alias("now")).drop("started")
    return _sort_by_start(pl.concat([at_once, started]))


def _collectives(moments: pl.DataFrame, operations: pl.DataFrame) -> pl.DataFrame:
    """Return collectives, numbered on each rank and communicator in the order in which they were started."""
    keys = ["rank", "thread", "time", "row"]
    is_other = pl.col("kind").is_in([_KIND["end_collective"], _KIND["collective"]])
    known = pl.concat(
        [moments.filter(~is_other), moments.filter(is_other).join(operations, on=keys, how="semi")]
    )
    rows = _pair_completions(known, "end_collective", "post_collective", "collective")
    named = rows.join(operations.unique(keys), on=keys, how="left", maintain_order="left")
    return named.with_columns(
        pl.int_range(pl.len()).over("rank", "communicator").alias("number"),
        pl.col("partner").alias("root"),
        pl.col("bytes").alias("bytes_sent"),
        pl.col("received").alias("bytes_received"),
    )


def _sort_by_start(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows that were started in a call and on a communicator, in the order of their starts."""
    known = rows.rename({"now": "started"}).filter(pl.col("started") >= 0).drop_nulls("communicator")
    tags = pl.when(pl.col("tag") < 2**31).then("tag").otherwise(-1)
    return known.with_columns(tags.alias("tag")).sort("rank", "thread", "started", "moment")


def _calls(
    ordered: pl.DataFrame, sends: pl.DataFrame, collectives: pl.DataFrame, first: object
) -> pl.DataFrame:
    """Return calls with the bytes that they send, −1 for those that send none."""
    moved = (
        pl.concat([sends.select("row", "bytes"), collectives.select("row", "bytes")])
        .group_by("row")
        .agg(pl.col("bytes").sum())
    )
    rows = ordered.drop("bytes", strict=False).join(moved, on="row", how="left", maintain_order="left")
    return _move_times(rows, first).with_columns(
        pl.col("bytes").fill_null(-1), pl.lit(True).alias("is_exact")
    )
