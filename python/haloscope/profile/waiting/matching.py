"""Matches sends with receives, and ranks with collectives."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from haloscope.profile.trace import Trace

# Direction of data, by the collective's name without MPI_, I and v.
_TO_ALL_FROM_ALL = "Allgather Allreduce Alltoall Alltoallw Reduce_scatter Reduce_scatter_block".split()
_KINDS = {
    "Barrier": "barrier",
    **dict.fromkeys(_TO_ALL_FROM_ALL, "all_to_all"),
    **dict.fromkeys(["Reduce", "Gather"], "to_root"),
    **dict.fromkeys(["Bcast", "Scatter"], "from_root"),
    **dict.fromkeys(["Scan", "Exscan"], "prefix"),
}


@dataclass(frozen=True)
class Matches:
    """The matches, and the number of unmatched operations.

    `messages`: `send_started`, `send_completed`, `receive_started`, `receive_completed` (rows of calls, -1:
    not completed), `sender`, `receiver` (ranks), `bytes`. `parts`: of complete collectives, a row per rank,
    in the communicator's order: `collective` (counted from 0; those of a communicator follow each other),
    `communicator`, `kind`, `rank`, `started`, `completed`, `root` (a rank), `size`, `bytes` (the rank's own,
    sent or received). `unmatched`: the numbers of `sends`, `receives`, `collectives` and parts of other kinds
    of collectives (`other_collectives`, which are not analysed) without a counterpart. Messages with
    different sizes on both sides (`differing_messages`) also count as unmatched sends and receives.
    """

    messages: pl.DataFrame
    parts: pl.DataFrame
    unmatched: dict[str, int]


def match_trace(trace: Trace) -> Matches:
    """Return the messages and collectives of a trace."""
    messages, lost = _messages(trace)
    parts, lost_parts = _parts(trace)
    return Matches(messages, parts, lost | lost_parts)


def _messages(trace: Trace) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return each message: per two ranks, tag and communicator, the k-th send matches the k-th receive."""
    key = ["sender", "receiver", "tag", "communicator"]
    sends = _number_rows(trace.sends.rename({"rank": "sender", "partner": "receiver"}), key, "send")
    receives = _number_rows(trace.receives.rename({"rank": "receiver", "partner": "sender"}), key, "receive")
    both = sends.join(receives, on=[*key, "k"], how="inner")
    differs = (
        (pl.col("bytes") >= 0) & (pl.col("bytes_right") >= 0) & (pl.col("bytes") != pl.col("bytes_right"))
    )
    alike = both.filter(~differs)
    columns = ["send_started", "send_completed", "receive_started", "receive_completed"]
    messages = alike.select(
        *columns, "sender", "receiver", pl.max_horizontal("bytes", "bytes_right").alias("bytes")
    )
    return messages.sort("receive_started", "send_started"), {
        "sends": len(trace.sends) - len(alike),
        "receives": len(trace.receives) - len(alike),
        "differing_messages": len(both) - len(alike),
    }


def _number_rows(frame: pl.DataFrame, key: list[str], side: str) -> pl.DataFrame:
    return frame.select(
        *key,
        "bytes",
        pl.col("started").alias(f"{side}_started"),
        pl.col("completed").alias(f"{side}_completed"),
        pl.int_range(pl.len()).over(key).alias("k"),
    )


def _parts(trace: Trace) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the parts of collectives of which the part of every rank is known."""
    name = pl.col("operation").cast(pl.String).str.strip_prefix("MPI_")
    # MPI_Iallreduce_init, MPI_Allgatherv and MPI_Allgather are one kind.
    stem = (
        name.str.strip_suffix("_init")
        .str.replace("^I([a-z])", "${1}")
        .str.strip_suffix("v")
        .str.to_titlecase()
    )
    kind = stem.replace_strict(
        {name.title(): kind for name, kind in _KINDS.items()}, default=None, return_dtype=pl.String
    )
    key = ["communicator", "number"]
    members = _members(trace)
    all_parts = trace.collectives.with_columns(kind.alias("kind"))
    known = all_parts.filter(pl.col("kind").is_not_null()).join(
        members, on=["communicator", "rank"], how="inner", maintain_order="left"
    )
    is_whole = (
        (pl.len() == pl.col("size").first())
        & (pl.col("rank").n_unique() == pl.len())
        & (pl.col("kind").n_unique() == 1)
        & (pl.col("root").n_unique() == 1)
    )
    whole = known.join(known.group_by(key).agg(is_whole.alias("whole")).filter("whole"), on=key, how="semi")
    number = pl.struct(key).rank("dense").cast(pl.Int64) - 1
    parts = (
        whole.with_columns(number.alias("collective"))
        .sort("collective", "place")
        .select(
            "collective",
            "communicator",
            "kind",
            "rank",
            "started",
            "completed",
            "root",
            "size",
            pl.max_horizontal("bytes_sent", "bytes_received", 0).cast(pl.Int64).alias("bytes"),
        )
    )
    others = int(all_parts["kind"].null_count())
    return parts, {"collectives": len(all_parts) - others - len(parts), "other_collectives": others}


def _members(trace: Trace) -> pl.DataFrame:
    """Return `communicator`, `rank`, the rank's `place` in it, and its `size`."""
    communicators = trace.communicators.select("communicator", pl.col("ranks").alias("rank"))
    exploded = communicators.with_columns(pl.col("rank").list.len().alias("size")).explode("rank")
    return exploded.drop_nulls("rank").with_columns(
        pl.int_range(pl.len()).over("communicator").alias("place")
    )
