"""Dependencies of calls: the end of a call needs the begin of a call of a different rank."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from haloscope.profile.waiting.matching import Matches
from haloscope.profile.waiting.timeline import Timeline

# Sends that end when their data are copied, and sends that always wait for the receive.
_BUFFERED, _SYNCHRONOUS = r"^MPI_(B|Ib)send", r"^MPI_(S|Is)send"


@dataclass(frozen=True)
class Dependencies:
    """The dependencies between calls.

    `messages`, a row per message and direction: `call` ends after `other` has begun; `kind` is `late_sender`
    (the call receives) or `late_receiver` (it sends, and the receive was posted in `other`); `bytes`, `pair`
    (the row of `Matches.messages`). `collectives`: the parts, with `arrival` (ns, when the rank began to take
    part). `reversed` counts messages that arrived before they were sent, which are left out. Sends of
    `eager_limit` bytes and more are assumed to wait for the receive: it is the smallest limit that the trace
    allows.
    """

    messages: pl.DataFrame
    collectives: pl.DataFrame
    reversed: int
    eager_limit: int


def dependencies(timeline: Timeline, matches: Matches) -> Dependencies:
    """Return the dependencies of calls that their times allow."""
    begin, end = timeline.begin, timeline.end
    messages = matches.messages.with_row_index("pair").with_columns(pl.col("pair").cast(pl.Int64))
    received = messages.filter(pl.col("receive_completed") >= 0)
    in_time = begin[received["send_started"].to_numpy()] <= end[received["receive_completed"].to_numpy()]
    forwards = _edges(received.filter(in_time), "receive_completed", "send_started", "late_sender")
    sent, limit = _synchronous(timeline, messages)
    backwards = _edges(sent, "send_completed", "receive_started", "late_receiver")
    parts = matches.parts.filter(pl.col("size") > 1, pl.col("started") >= 0)
    return Dependencies(
        messages=pl.concat([forwards, backwards]),
        collectives=parts.with_columns(
            pl.Series("arrival", begin[parts["started"].to_numpy()], dtype=pl.Int64)
        ),
        reversed=len(received) - len(forwards),
        eager_limit=limit,
    )


def _edges(messages: pl.DataFrame, call: str, other: str, kind: str) -> pl.DataFrame:
    columns = [pl.col(call).alias("call"), pl.col(other).alias("other"), pl.lit(kind).alias("kind")]
    return messages.select(*columns, "bytes", "pair")


def _synchronous(timeline: Timeline, messages: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return the messages whose send waits for the receive, and the smallest size that does.

    A send that ends before the receive is posted shows that messages of its size do not wait.
    """
    sent = messages.filter(pl.col("send_completed") >= 0)
    started = timeline.names.gather(sent["send_started"])
    posted = timeline.begin[sent["receive_started"].to_numpy()]
    over = timeline.end[sent["send_completed"].to_numpy()]
    rows = sent.with_columns(
        started.str.contains(_BUFFERED).alias("is_buffered"),
        started.str.contains(_SYNCHRONOUS).alias("is_synchronous"),
        pl.Series("is_before", over < posted),
    )
    eager = rows.filter(pl.col("is_before") & ~pl.col("is_buffered") & ~pl.col("is_synchronous"))
    largest = eager["bytes"].max()
    limit = 0 if largest is None else int(largest) + 1  # type: ignore[arg-type]
    waits = (pl.col("is_synchronous") | (pl.col("bytes") >= limit)) & ~pl.col("is_buffered")
    return rows.filter(waits & ~pl.col("is_before")).select(messages.columns), limit
