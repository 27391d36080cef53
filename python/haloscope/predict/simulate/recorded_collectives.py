"""Collectives of a trace as SimGrid's actions.

Blocking ones of the whole world are SimGrid's own. Others are messages: of blocking ones a round after the
other, of others all at once, as a rank that has begun one goes on.
"""

from __future__ import annotations

import polars as pl

from haloscope.predict.simulate.collectives import blocking_name, lower_collective, of_all
from haloscope.predict.simulate.traces import BYTE, MOST_TAGS
from haloscope.profile.trace import Trace

_KEYS = ["communicator", "number"]
_EACH_ROUND = 3  # posts of receives, posts of sends, waits
_ACTIONS = pl.Schema({"rank": pl.Int32, "call_row": pl.Int64, "order": pl.Int64, "text": pl.String})


def collectives_of(trace: Trace) -> tuple[pl.DataFrame, int]:
    """Return actions (`rank`, `call_row`, `order`, `text`), and how many parts were left out.

    Those of which a rank's part is not in the trace are, and those of neighbourhoods.
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
    actions = pl.concat([_of_world(own, calls), _as_messages(others, calls)])
    return actions, len(trace.collectives) - int(whole["parts"].sum())


def _of_world(whole: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    keys = ["operation", "bytes", "root", "size"]
    forms = whole.select(keys).unique()
    texts = [
        "\n".join(of_all(name, size, ranks, max(root, 0))) for name, size, root, ranks in forms.iter_rows()
    ]
    told = whole.join(forms.with_columns(pl.Series("text", texts, pl.String)), on=keys)
    return (
        told.join(calls, on=_KEYS)
        .select("rank", pl.col("started").alias("call_row"), pl.lit(1).alias("order"), "text")
        .cast(_ACTIONS)
    )


def _as_messages(whole: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the actions of collectives that SimGrid's traces have no word for."""
    if whole.is_empty():
        return pl.DataFrame(schema=_ACTIONS)
    keys = ["operation", "bytes", "size"]
    forms = whole.select(keys).unique()
    rounds = [
        {"operation": name, "bytes": size, "size": ranks, "round": i, "from": a, "to": b, "part": part}
        for name, size, ranks in forms.iter_rows()
        for i, one in enumerate(lower_collective(name, ranks, size))
        for a, b, part in one
    ]
    numbers = ("round", "from", "to", "part")
    schema = pl.Schema([*forms.schema.items(), *((name, pl.Int64()) for name in numbers)])
    messages = whole.join(pl.DataFrame(rounds, schema), on=keys, maintain_order="left_right")
    # Rules have root 0: the others are counted from the root on.
    root = _place_of_root(whole)
    messages = messages.join(root, on=_KEYS, maintain_order="left")
    at = [((pl.col(end) + pl.col("root_place")) % pl.col("size")).alias(end) for end in ("from", "to")]
    messages = messages.with_columns(at).with_columns(
        source=pl.col("members").list.get(pl.col("from")), target=pl.col("members").list.get(pl.col("to"))
    )
    messages = messages.filter(pl.col("source") != pl.col("target"))
    label = (2 * pl.int_range(pl.len()).over("source", "target") + 1) % MOST_TAGS
    messages = messages.with_columns(label=label)
    parts = [
        _of_side(messages, calls, "target", "irecv {} {} {}", ("source", "label", "part"), 0),
        _of_side(messages, calls, "source", "isend {} {} {}", ("target", "label", "part"), 1),
    ]
    return pl.concat(parts).cast(_ACTIONS)


def _place_of_root(whole: pl.DataFrame) -> pl.DataFrame:
    """Return the place of each root in its communicator, 0 where there is none."""
    places = (
        whole.select(*_KEYS, "root", "members")
        .explode("members")
        .with_columns(place=pl.int_range(pl.len()).over(_KEYS))
    )
    found = places.filter(pl.col("members") == pl.col("root")).select(*_KEYS, root_place="place")
    return (
        whole.select(_KEYS).join(found, on=_KEYS, how="left").with_columns(pl.col("root_place").fill_null(0))
    )


def _of_side(
    messages: pl.DataFrame, calls: pl.DataFrame, rank: str, post: str, words: tuple[str, ...], order: int
) -> pl.DataFrame:
    """Return what the ranks on one side of the messages do: their posts, and the waits for these."""
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
