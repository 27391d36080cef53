"""Sends, receives and collectives of a trace, with their begins and completions."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Integers
from haloscope.profile.store.trace_tables import COLLECTIVES, RECEIVES, SENDS
from haloscope.profile.trace.communicators import Communicators
from haloscope.profile.trace.events import BEGUN, Action, Kind, TraceEvents

_THREAD_BITS = 44  # numbers of requests are smaller


class Requests:
    """The begins and completions of requests.

    `completion` has, for each event that begins a request, the event that completes it: itself for blocking
    calls, −1 if none did. `as_posted` are receives that got the message of their arguments.
    """

    def __init__(self, events: TraceEvents) -> None:
        self.action = events.get_column("action")
        index = np.arange(len(self.action))
        is_begin = np.isin(self.action, BEGUN)
        numbers = _numbers(events, is_begin)
        keys = events.where << _THREAD_BITS | numbers
        begun = index[is_begin]
        begun_keys = keys[begun]  # ascending: threads come one after the other, and numbers grow
        is_end = self.action > Action.BEGUN_COLLECTIVE
        ended = index[is_end]
        wanted = _find_keys(events, ended, numbers)
        at = np.searchsorted(begun_keys, wanted)
        found = (at < len(begun_keys)) & (wanted >= 0)
        found[found] = begun_keys[at[found]] == wanted[found]
        self.completion = np.where(is_begin, -1, index)
        self.completion[begun[at[found]]] = ended[found]
        done = self.completion >= 0
        completing = np.where(done, self.action[self.completion], 0)
        self.as_posted = np.flatnonzero(is_begin & (completing == Action.COMPLETED_AS_POSTED))
        self.cancelled = np.zeros(len(index), dtype=bool)
        self.cancelled[done] = self.action[self.completion[done]] == Action.CANCELLED


def _numbers(events: TraceEvents, is_begin: Flags) -> Integers:
    """Return for each event the number of requests that its thread had begun until then."""
    steps = is_begin.astype(np.int64)
    lost = events.get_column("kind") == Kind.LOST
    if lost.any():
        steps[lost] = events.get_column("request")[lost]
    total = np.cumsum(steps)
    first = np.searchsorted(events.where, np.arange(len(events.ranks)))
    before = np.concatenate([[0], total])[first]
    counted: Integers = total - before[events.where]
    return counted


def _find_keys(events: TraceEvents, ended: Integers, numbers: Integers) -> Integers:
    """Return the keys of completed requests, −1 if their thread does not exist."""
    request, thread = events.get_column("request")[ended], events.get_column("thread")[ended]
    where = events.where[ended].copy()
    number = numbers[ended] - request + 1
    others = np.flatnonzero(thread)
    if len(others):
        places = {key: row for row, key in enumerate(zip(events.ranks, events.threads, strict=True))}
        keys = zip(events.ranks[where[others]], thread[others] - 1, strict=True)
        where[others] = [places.get(key, -1) for key in keys]
        number[others] = request[others]
    return np.where((where >= 0) & (number > 0), where << _THREAD_BITS | number, -1)


def sends(events: TraceEvents, requests: Requests, communicators: Communicators) -> pl.DataFrame:
    """Return the messages sent, in the order in which they were started."""
    is_send = (requests.action == Action.SENT) | (requests.action == Action.BEGUN_SEND)
    started = np.flatnonzero(is_send & ~requests.cancelled)
    return _messages(events, requests, communicators, started, started, SENDS)


def receives(events: TraceEvents, requests: Requests, communicators: Communicators) -> pl.DataFrame:
    """Return the messages received, in the order in which the receives were posted."""
    is_receive = (requests.action == Action.RECEIVED) | (requests.action == Action.POSTED)
    came = requests.completion >= 0
    came[came] = np.isin(
        requests.action[requests.completion[came]],
        (Action.RECEIVED, Action.COMPLETED_RECEIVE, Action.COMPLETED_AS_POSTED),
    )
    source = requests.completion.copy()
    source[requests.as_posted] = requests.as_posted
    started = np.flatnonzero(is_receive & came)
    return _messages(events, requests, communicators, started, source[started], RECEIVES)


def _messages(
    events: TraceEvents,
    requests: Requests,
    communicators: Communicators,
    started: Integers,
    source: Integers,
    schema: Mapping[str, pl.DataType | type[pl.DataType]],
) -> pl.DataFrame:
    """Return the rows of messages; `source` are the events with partner, tag and size."""
    ranks = events.ranks[events.where[started]]
    symbols = events.symbol[source]
    number = communicators.numbers(events.symbols["communicator"].to_numpy())[symbols]
    after = events.symbols["partner"].to_numpy()[symbols]
    completed = requests.completion[started]
    columns = {
        "rank": ranks,
        "thread": events.threads[events.where[started]],
        "started": events.call[started],
        "completed": np.where(completed >= 0, events.call[completed], -1),
        "partner": communicators.partners(ranks, number, after),
        "tag": events.symbols["tag"].to_numpy()[symbols],
        "communicator": number,
        "bytes": events.symbols["size"].to_numpy()[symbols],
    }
    return pl.DataFrame(columns).cast(schema)  # type: ignore[arg-type]


def operation(call: str) -> str:
    """Return the operation of a collective's function: that of MPI_Iallreduce is Allreduce."""
    name = re.sub(r"_init$", "", re.sub(r"_c$", "", call.removeprefix("MPI_")))
    begun = re.fullmatch(r"I([a-z])(.*)", name)
    return begun[1].upper() + begun[2] if begun else name


def collectives(events: TraceEvents, requests: Requests, communicators: Communicators) -> pl.DataFrame:
    """Return the parts that ranks took in collectives."""
    started = np.flatnonzero(
        (requests.action == Action.COLLECTIVE) | (requests.action == Action.BEGUN_COLLECTIVE)
    )
    ranks = events.ranks[events.where[started]]
    symbols = events.symbol[started]
    number = communicators.numbers(events.symbols["communicator"].to_numpy())[symbols]
    root = events.symbols["partner"].to_numpy()[symbols]
    completed = requests.completion[started]
    calls = events.symbols["call"]
    distinct = calls.unique().to_list()
    operations = calls.replace_strict(
        distinct, [operation(call) for call in distinct], return_dtype=pl.String
    )
    frame = pl.DataFrame(
        {
            "rank": ranks,
            "thread": events.threads[events.where[started]],
            "started": events.call[started],
            "completed": np.where(completed >= 0, events.call[completed], -1),
            "operation": operations.cast(pl.Categorical).gather(symbols),
            "communicator": number,
            "begin": events.begin[started],
            "root": communicators.roots(ranks, number, root),
            "size": events.symbols["size"].to_numpy()[symbols],
        }
    )
    frame = frame.with_columns(
        (pl.col("begin").rank("ordinal").over("rank", "communicator") - 1).alias("number").cast(pl.Int64)
    )
    return _with_bytes(frame).select(list(COLLECTIVES)).cast(COLLECTIVES)  # type: ignore[arg-type]


def _with_bytes(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the bytes that each rank sent and received; for MPI_Scatterv and similar ones, the average."""
    key = ["communicator", "number"]
    name, size = pl.col("operation").cast(pl.String), pl.col("size")
    is_root = pl.col("root") == pl.col("rank")
    at_root = pl.when(is_root).then(size).otherwise(0).sum().over(key)
    total, ranks = size.sum().over(key), pl.len().over(key)
    sent = pl.when(name == "Bcast").then(pl.when(is_root).then(size).otherwise(0)).otherwise(size)
    received = (
        pl.when(name == "Barrier").then(0)
        .when(name == "Bcast").then(pl.when(is_root).then(0).otherwise(size))
        .when(name == "Reduce").then(pl.when(is_root).then(size).otherwise(0))
        .when(name.is_in(["Gather", "Gatherv"])).then(pl.when(is_root).then(total).otherwise(0))
        .when(name.is_in(["Scatter", "Scatterv"])).then(at_root // ranks)
        .when(name.is_in(["Allgather", "Allgatherv"])).then(total)
        .when(name.is_in(["Reduce_scatter", "Reduce_scatter_block"])).then(size // ranks)
        .otherwise(size)
    )  # fmt: skip
    return frame.with_columns(sent.alias("bytes_sent"), received.alias("bytes_received"))
