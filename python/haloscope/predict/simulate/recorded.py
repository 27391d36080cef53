"""The trace of a profile as SimGrid's actions, in the order of each rank.

Between calls a rank computes for the recorded time. Calls take the time of their messages. One-sided
operations and file operations are not simulated, and take the recorded time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from haloscope import explain
from haloscope.base.arrays import Integers, Integers32
from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text
from haloscope.predict.simulate.platform import SPEED
from haloscope.predict.simulate.recorded_collectives import make_collective_actions
from haloscope.predict.simulate.traces import BYTE, MOST_TAGS, begin_region, end_region
from haloscope.profile.trace import Trace

# Sends below this size are assumed to need no receiver, and so are others that ended before the receive
# began.
_BUFFERED = 4096
_NANOSECOND = 1e-9
# Order of events at the same time: ends of regions, begins of regions, calls, ends of empty regions, the end
# of the run.
_ENDS, _BEGINS, _CALLS, _ENDS_AT_ONCE, _LAST = range(5)
# Order of actions within a call: completed earlier sends, posts, waits.
_OVER, _POSTED, _WAITED = range(3)
_STREAM = ["source", "target", "communicator", "tag"]


@dataclass(frozen=True)
class Recorded:
    """The actions of all ranks. `how` describes their source and omissions."""

    what: ClassVar[str] = "trace"
    ranks: int
    program: str
    how: str
    texts: dict[int, list[str]]

    @classmethod
    def of(cls, profile: Path, compute: float) -> Recorded:
        """Read the trace of a profile; times of computing are multiplied by `compute`.

        Raises:
            UsageError: The profile has no trace, or events were lost.
        """
        with explain.open(profile) as opened:
            trace = opened.trace()
            if lost := int(trace.dropped["events"].sum()):
                raise UsageError(
                    f"{profile}: {noun_text(lost, 'event')} of its trace lost during recording;"
                    " record it with a larger HALOSCOPE_TRACE_MEMORY"
                )
            ranks, program = int(opened.info["ranks"]), str(opened.info.get("program", "program"))
        texts, left_out = _make_actions(trace, compute)
        how = "as recorded" + (f", {left_out} unmatched ends left out" if left_out else "")
        return cls(ranks, program, how, texts)

    def iterate_actions(self, rank: int) -> Iterable[str]:
        """Return SimGrid's actions of a rank."""
        return self.texts.get(rank, [])


def _make_actions(trace: Trace, compute: float) -> tuple[dict[int, list[str]], int]:
    """Return the actions of each rank, and the number of ends of messages and collectives left out."""
    calls = trace.calls.with_row_index("call_row").sort("rank", "begin", "call_row")
    pairs = _pair_messages(trace)
    lonely = len(trace.sends) + len(trace.receives) - 2 * len(pairs)
    collectives, partly = make_collective_actions(trace)
    actions = pl.concat([_make_message_actions(pairs, calls), collectives], how="diagonal_relaxed")
    rows = [_make_call_rows(calls, actions, compute), _make_region_rows(trace), _make_end_rows(trace)]
    events = pl.concat(rows, how="diagonal_relaxed")
    events = events.sort("rank", "time", "kind", "order")
    before = pl.col("until").cum_max().shift(1, fill_value=0).over("rank")
    gap = (pl.col("time") - before).clip(0) * (_NANOSECOND * compute * SPEED)
    computing = pl.when(gap >= 1).then(pl.format("compute {}", gap.round().cast(pl.Int64)))
    lines = events.with_columns(
        text=pl.concat_str([computing, pl.col("text")], separator="\n", ignore_nulls=True)
    )
    texts_of_ranks = (
        lines.filter(pl.col("text") != "").group_by("rank", maintain_order=True).agg(pl.col("text"))
    )
    late = _list_final_waits(actions)
    texts = {rank: "\n".join(parts).split("\n") for rank, parts in texts_of_ranks.iter_rows()}
    for rank, words in late.items():
        texts.setdefault(rank, []).extend(words)
    return texts, lonely + partly


def _pair_messages(trace: Trace) -> pl.DataFrame:
    """Return one row per message: `source`, `target`, `label`, `bytes`, and the calls of both ends.

    In a stream of messages between two ranks with one tag, receives match sends in order. `label` is the tag
    in the
    simulation: unique per message between two ranks, because SimGrid waits by tags, and even, because tags of
    collectives are odd.
    """
    columns = ["communicator", "tag", "bytes", "started", "completed"]
    sends = trace.sends.select(pl.col("rank").alias("source"), pl.col("partner").alias("target"), *columns)
    receives = trace.receives.select(
        pl.col("partner").alias("source"), pl.col("rank").alias("target"), *columns[:2], *columns[3:]
    )
    number = pl.int_range(pl.len()).over(_STREAM).alias("number")
    pairs = sends.with_columns(number).join(
        receives.with_columns(number), on=[*_STREAM, "number"], suffix="_there", maintain_order="left"
    )
    return pairs.with_columns(label=2 * pl.int_range(pl.len()).over("source", "target") % MOST_TAGS)


def _make_message_actions(pairs: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return one row per action of a message: `rank`, `call_row` (null: after all calls), `order` and
    `text`."""
    sent = _format_actions(pairs, "isend", "source", "target", "started", "completed")
    received = _format_actions(pairs, "irecv", "target", "source", "started_there", "completed_there")
    waited = _find_completing_calls(pairs, calls)
    sent = sent.with_columns(done=waited, buffered=waited != pairs["completed"])
    both = pl.concat([sent, received.with_columns(buffered=pl.lit(value=False))])
    # A call with one message that it also completes is blocking.
    alone = pl.len().over("begun") == 1
    blocking = alone & (pl.col("begun") == pl.col("done")) & ~pl.col("buffered")
    both = both.with_columns(blocking=blocking)
    posts = both.select(
        "rank",
        pl.col("begun").alias("call_row"),
        pl.lit(_POSTED).alias("order"),
        pl.when("blocking").then(pl.col("text").str.slice(1)).otherwise("text").alias("text"),
    )
    waits = both.filter(~pl.col("blocking")).select(
        "rank",
        pl.when(pl.col("done") >= 0).then("done").alias("call_row"),
        pl.when("buffered").then(_OVER).otherwise(_WAITED).alias("order"),
        pl.col("wait").alias("text"),
    )
    return pl.concat([posts, waits], how="vertical_relaxed")


def _format_actions(
    pairs: pl.DataFrame, word: str, rank: str, partner: str, begun: str, done: str
) -> pl.DataFrame:
    return pairs.select(
        pl.col(rank).alias("rank"),
        pl.col(begun).alias("begun"),
        pl.col(done).alias("done"),
        pl.format(word + " {} {} {} " + str(BYTE), partner, "label", "bytes").alias("text"),
        pl.format("wait {} {} {}", "source", "target", "label").alias("wait"),
    )


def _find_completing_calls(pairs: pl.DataFrame, calls: pl.DataFrame) -> pl.Series:
    """Return the call in which each send completes, -1: none.

    It is the recorded call, or for buffered sends the first call after the receive. This is the recorded
    order, so the simulation cannot deadlock.
    """
    by_row = calls.sort("call_row")
    begin, end = by_row["begin"].to_numpy(), by_row["end"].to_numpy()
    done, received = pairs["completed"].to_numpy(), pairs["completed_there"].to_numpy()
    over = np.where(done >= 0, end[np.maximum(done, 0)], np.iinfo(np.int64).max)
    is_buffered = (pairs["bytes"].to_numpy() < _BUFFERED) | (over <= begin[pairs["started_there"].to_numpy()])
    arrived = np.where(received >= 0, end[np.maximum(received, 0)], np.iinfo(np.int64).max)
    later = _find_first_calls(calls, pairs["source"].to_numpy(), arrived)
    is_later = (later < 0) | (begin[np.maximum(later, 0)] > begin[np.maximum(done, 0)])
    chosen = np.where(is_buffered & (done >= 0) & is_later, later, done)
    return pl.Series("done", chosen, dtype=pl.Int64)


def _find_first_calls(calls: pl.DataFrame, ranks: Integers32, times: Integers) -> Integers:
    """Return the first call of each rank that begins at or after a time, -1 if there is none."""
    found = np.full(len(ranks), -1, np.int64)
    for (rank,), own in calls.partition_by("rank", as_dict=True).items():
        wanted = np.flatnonzero(ranks == rank)
        index = np.searchsorted(own["begin"].to_numpy(), times[wanted])
        is_there = index < len(own)
        found[wanted[is_there]] = own["call_row"].to_numpy()[index[is_there]]
    return found


def _make_call_rows(calls: pl.DataFrame, actions: pl.DataFrame, compute: float) -> pl.DataFrame:
    """Return one row per call, with the lines of its actions."""
    lines = (
        actions.filter(pl.col("call_row").is_not_null())
        .sort("call_row", "order", maintain_order=True)
        .group_by("call_row", maintain_order=True)
        .agg(pl.col("text").str.join("\n"))
    )
    name = pl.col("call").cast(pl.String)
    is_elsewhere = name.str.contains("^MPI_(File_|Win_|R?Put|R?Get_acc|R?Get$|R?Accumulate|Fetch_|Compare_)")
    took = (pl.col("end") - pl.col("begin")) * (_NANOSECOND * compute * SPEED)
    recorded_time = pl.when(is_elsewhere & (took >= 1)).then(
        pl.format("compute {}", took.round().cast(pl.Int64))
    )
    joined = calls.with_columns(pl.col("call_row").cast(pl.Int64)).join(
        lines.with_columns(pl.col("call_row").cast(pl.Int64)),
        on="call_row",
        how="left",
        maintain_order="left",
    )
    return joined.select(
        "rank",
        pl.col("begin").alias("time"),
        pl.col("end").alias("until"),
        pl.lit(_CALLS).alias("kind"),
        pl.col("call_row").alias("order"),
        pl.coalesce("text", recorded_time).alias("text"),
    )


def _make_region_rows(trace: Trace) -> pl.DataFrame:
    """Return one row per begin and end of a region."""
    marked = trace.paths.select(
        pl.col("path").cast(pl.Int32), "name", pl.col("communication").cast(pl.Boolean)
    )
    names = marked.with_columns(
        begins=pl.struct("name", "communication").map_elements(
            lambda row: begin_region(row["name"], row["communication"]), return_dtype=pl.String
        ),
        ends=pl.col("name").map_elements(end_region, return_dtype=pl.String),
    )
    visits = trace.regions.with_row_index("order").join(names, on="path", how="left", maintain_order="left")
    order = pl.col("order").cast(pl.Int64)
    begins = visits.select(
        "rank",
        pl.col("begin").alias("time"),
        pl.lit(_BEGINS).alias("kind"),
        order,
        pl.col("begins").alias("text"),
    )
    at_once = pl.when(pl.col("begin") == pl.col("end")).then(_ENDS_AT_ONCE).otherwise(_ENDS)
    ends = visits.select(
        "rank", pl.col("end").alias("time"), at_once.alias("kind"), -order, pl.col("ends").alias("text")
    )
    return pl.concat([begins, ends], how="vertical_relaxed").with_columns(until=pl.col("time"))


def _make_end_rows(trace: Trace) -> pl.DataFrame:
    """Return one row per rank, for its computing after its last call."""
    end = pl.col("end")
    return trace.runs.select("rank", end.alias("time"), end.alias("until"), pl.lit(_LAST).alias("kind"))


def _list_final_waits(actions: pl.DataFrame) -> dict[int, list[str]]:
    """Return the waits of each rank after all of its calls."""
    rest = actions.filter(pl.col("call_row").is_null()).group_by("rank").agg(pl.col("text"))
    return dict(rest.iter_rows())
