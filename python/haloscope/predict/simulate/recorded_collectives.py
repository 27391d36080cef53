"""Collectives of a trace as SimGrid's actions.

Blocking collectives of the whole world are SimGrid's collectives. Others are messages: those of blocking ones
in consecutive rounds, those of non-blocking ones all at once, because ranks continue after the start.
"""

from __future__ import annotations

import polars as pl

from haloscope.predict.simulate.collectives import blocking_name, lower_collective, make_world_actions
from haloscope.predict.simulate.traces import BYTE, MOST_TAGS
from haloscope.profile.trace import Trace

_KEYS = ["communicator", "number"]
_EACH_ROUND = 3  # posts of receives, posts of sends, waits
_ACTIONS = pl.Schema({"rank": pl.Int32, "call_row": pl.Int64, "order": pl.Int64, "text": pl.String})


def make_collective_actions(trace: Trace) -> tuple[pl.DataFrame, int]:
    """Return actions (`rank`, `call_row`, `order`, `text`), and the number of parts left out.

    Collectives with missing parts in the trace and neighbourhood collectives are left out.
    """
    members = trace.communicators.select("communicator", members="ranks", size=pl.col("ranks").list.len())
    parts = trace.collectives.with_columns(pl.col("operation").cast(pl.String).str.strip_prefix("MPI_"))
    plain = parts["operation"].unique().to_list()
    names = {name: blocking_name(name) for name in plain}
    parts = parts.filter(~pl.col("operation").str.to_lowercase().str.contains("neighbor")).with_columns(
        pl.col("operation").replace_strict(names, return_dtype=pl.String)
    )
    whole = (
        parts.group_by(_KEYS, maintain_order=True)
        .agg(
            pl.col("operation").first(),
            pl.col("root").max(),
            pl.col("bytes_sent").max().alias("bytes"),
            pl.col("rank").n_unique().alias("parts"),
            pl.len().alias("rows"),
            (pl.col("started") == pl.col("completed")).all().alias("blocking"),
        )
        .join(members, on="communicator", how="left", maintain_order="left")
        .filter((pl.col("parts") == pl.col("size")) & (pl.col("rows") == pl.col("size")))
    )
    world = trace.communicators.filter(pl.col("communicator") == 0)["ranks"].to_list()
    everybody = world[0] if world else []
    is_own = pl.col("blocking") & (pl.col("members") == pl.lit(everybody, pl.List(pl.Int32)))
    own, others = whole.filter(is_own), whole.filter(~is_own)
    calls = parts.select(*_KEYS, "rank", "started", "completed")
    actions = pl.concat([_make_world_actions(own, calls), _make_messages(others, calls)])
    return actions, len(trace.collectives) - int(whole["parts"].sum())


def _make_world_actions(whole: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    keys = ["operation", "bytes", "root", "size"]
    forms = whole.select(keys).unique()
    texts = [
        "\n".join(make_world_actions(name, size, ranks, max(root, 0)))
        for name, size, root, ranks in forms.iter_rows()
    ]
    texts_of_forms = whole.join(forms.with_columns(pl.Series("text", texts, pl.String)), on=keys)
    return (
        texts_of_forms.join(calls, on=_KEYS)
        .select("rank", pl.col("started").alias("call_row"), pl.lit(1).alias("order"), "text")
        .cast(_ACTIONS)
    )


def _make_messages(whole: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the actions of collectives that SimGrid's traces cannot express."""
    if whole.is_empty():
        return pl.DataFrame(schema=_ACTIONS)
    keys = ["operation", "bytes", "size"]
    forms = whole.select(keys).unique()
    rounds = [
        {"operation": name, "bytes": size, "size": ranks, "round": i, "from": a, "to": b, "part": part}
        for name, size, ranks in forms.iter_rows()
        for i, messages_of_round in enumerate(lower_collective(name, ranks, size))
        for a, b, part in messages_of_round
    ]
    numbers = ("round", "from", "to", "part")
    schema = pl.Schema([*forms.schema.items(), *((name, pl.Int64()) for name in numbers)])
    messages = whole.join(pl.DataFrame(rounds, schema), on=keys, maintain_order="left_right")
    # Schedules have root 0: other roots shift the ranks.
    root = _find_root_ranks(whole)
    messages = messages.join(root, on=_KEYS, maintain_order="left")
    shifted = [((pl.col(end) + pl.col("root_place")) % pl.col("size")).alias(end) for end in ("from", "to")]
    messages = messages.with_columns(shifted).with_columns(
        source=pl.col("members").list.get(pl.col("from")), target=pl.col("members").list.get(pl.col("to"))
    )
    messages = messages.filter(pl.col("source") != pl.col("target"))
    label = (2 * pl.int_range(pl.len()).over("source", "target") + 1) % MOST_TAGS
    messages = messages.with_columns(label=label)
    parts = [
        _make_side(messages, calls, "target", "irecv {} {} {}", ("source", "label", "part"), 0),
        _make_side(messages, calls, "source", "isend {} {} {}", ("target", "label", "part"), 1),
    ]
    return pl.concat(parts).cast(_ACTIONS)


def _find_root_ranks(whole: pl.DataFrame) -> pl.DataFrame:
    """Return the rank of each root in its communicator, 0 if there is no root."""
    places = (
        whole.select(*_KEYS, "root", "members")
        .explode("members")
        .with_columns(place=pl.int_range(pl.len()).over(_KEYS))
    )
    found = places.filter(pl.col("members") == pl.col("root")).select(*_KEYS, root_place="place")
    return (
        whole.select(_KEYS).join(found, on=_KEYS, how="left").with_columns(pl.col("root_place").fill_null(0))
    )


def _make_side(
    messages: pl.DataFrame, calls: pl.DataFrame, rank: str, post: str, words: tuple[str, ...], order: int
) -> pl.DataFrame:
    """Return the actions of the ranks on one side of the messages: posts and waits."""
    own = messages.join(calls, left_on=[*_KEYS, rank], right_on=[*_KEYS, "rank"], coalesce=False)
    first = 1 + _EACH_ROUND * pl.col("round")
    posts = own.select(
        pl.col(rank).alias("rank"),
        pl.col("started").alias("call_row"),
        (first + order).alias("order"),
        pl.format(f"{post} {BYTE}", *words).alias("text"),
    )
    waits = own.select(
        pl.col(rank).alias("rank"),
        pl.when(pl.col("completed") >= 0).then("completed").alias("call_row"),
        (first + 2).alias("order"),
        pl.format("wait {} {} {}", "source", "target", "label").alias("text"),
    )
    return pl.concat([posts, waits])
