"""The event graph's weights: a replay takes as long as the run did, or as on an ideal network."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers
from haloscope.profile.trace import Trace
from haloscope.profile.waiting.dependencies import Dependencies
from haloscope.profile.waiting.graph import Edges
from haloscope.profile.waiting.states import find_awaited_calls
from haloscope.profile.waiting.timeline import Timeline

# A parameter is added per message, or per byte.
Unit = Literal["latency", "byte"]


def build_recorded_edges(
    trace: Trace,
    timeline: Timeline,
    depends: Dependencies,
    unit: Unit = "latency",
    *,
    is_injected: bool = False,
) -> Edges:
    """Return the graph whose longest path is the run: each call ends when it did.

    A message is one unit for its receiver; a collective has the height of a tree of its ranks as units. With
    the unit "byte" both have their bytes as units. Waiting of a sender for its receiver has no further cost.

    `is_injected`: units as those of `haloscope inject`, for the unit "latency".
    """
    gets = _gets(timeline, depends)
    call = gets["call"].to_numpy()
    arrival, end = gets["arrival"].to_numpy(), timeline.end[call]
    usual = _find_usual_transfer(trace, timeline, gets)
    # The last arrival, if it is not before the begin of the call: the call ends when it has arrived.
    ready = arrival + usual
    latest = np.full(len(timeline.begin), np.iinfo(np.int64).min)
    np.maximum.at(latest, call, ready)
    is_last = (ready == latest[call]) & (ready > timeline.begin[call])
    weight = np.where(is_last, end - arrival, np.minimum(usual, end - arrival))
    last_arrival = timeline.begin.copy()
    np.maximum.at(last_arrival, call, arrival)
    units = gets["bytes" if unit == "byte" else "latencies"].to_numpy()
    own = timeline.end - last_arrival
    found = _edges(timeline, depends, gets, weight, units, own)
    return place_injected_units(found, timeline, depends, gets) if is_injected else found


def build_ideal_edges(timeline: Timeline, depends: Dependencies) -> Edges:
    """Return the graph in which only computing and the order of messages take time."""
    gets = _gets(timeline, depends)
    nothing = np.zeros(len(gets), dtype=np.int64)
    return _edges(timeline, depends, gets, nothing, nothing, np.zeros_like(timeline.end))


def _edges(
    timeline: Timeline,
    depends: Dependencies,
    gets: pl.DataFrame,
    weight: Integers,
    units: Integers,
    own: Integers,
) -> Edges:
    before = np.full(len(timeline.begin), timeline.start)
    before[1:] = timeline.end[:-1]
    first = timeline.first_call[:-1][np.diff(timeline.first_call) > 0]
    before[first] = timeline.start
    last = np.full(len(timeline.locations), timeline.start)
    np.maximum.at(last, timeline.location, timeline.end)
    return Edges(
        gap=timeline.begin - before,
        own=np.ascontiguousarray(own),
        tail=timeline.last - last,
        puts=_puts(depends, gets),
        gets=gets.select(
            "call",
            "hub",
            pl.Series("weight", weight, dtype=pl.Int64),
            pl.Series("units", units, dtype=pl.Int64),
            pl.Series("group", timeline.path[gets["call"].to_numpy()], dtype=pl.Int32),
        ),
    )


def _find_usual_transfer(trace: Trace, timeline: Timeline, gets: pl.DataFrame) -> Integers:
    """Return the usual transfer time (ns) of each message if the receiver waits for it; 0 for collectives.

    It is the lower quartile over messages of about that size for which a receiver waited, separately within
    a host and between hosts. If there are none of that size, the next smaller or larger size is used.
    """
    host = trace.processes.select(pl.col("rank").cast(pl.Int32), "host").unique("rank")
    at = pl.DataFrame({"rank": timeline.ranks}).join(host, on="rank", how="left", maintain_order="left")[
        "host"
    ]
    call, other = gets["call"].to_numpy(), gets["other"].to_numpy()
    here, there = timeline.location[call], timeline.location[np.maximum(other, 0)]
    took = timeline.end[call] - gets["arrival"].to_numpy()
    rows = gets.select(
        "is_message",
        pl.Series("is_near", at.gather(here) == at.gather(there)).fill_null(True),
        (pl.col("bytes").cast(pl.Float64) + 1).log(2).ceil().cast(pl.Int64).alias("class"),
        pl.Series("took", took, dtype=pl.Int64),
        pl.Series("late", gets["arrival"].to_numpy() > timeline.begin[call]),
    ).with_row_index("row")
    key = ["is_near", "class"]
    all_classes = rows.filter("is_message").select(key).unique()
    seen = rows.filter("is_message", "late").group_by(key).agg(pl.col("took").quantile(0.25, "lower"))
    known = all_classes.join(seen, on=key, how="left").sort(key)
    filled = pl.col("took").forward_fill().backward_fill().over("is_near").fill_null(0)
    usual = rows.join(known.with_columns(filled.alias("usual")), on=key, how="left", maintain_order="left")
    usual = usual.select(pl.when("is_message").then("usual").otherwise(0).fill_null(0).cast(pl.Int64))
    return usual.to_series().to_numpy()


def _gets(timeline: Timeline, depends: Dependencies) -> pl.DataFrame:
    """Return the dependencies of calls.

    Columns: `call`, `hub`, `other` (the call that it waits for; -1 for a collective), `collective`, `arrival`
    (ns), `is_message`, `latencies`, `bytes`. Arrivals after the call's end are left out.
    """
    singles = pl.concat([_get_messages(timeline, depends), _get_scans(depends)])
    other = singles["other"].to_numpy()
    singles = singles.with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("hub"),
        pl.Series("arrival", timeline.begin[other], dtype=pl.Int64),
        pl.lit(-1, pl.Int64).alias("collective"),
    )
    gets = pl.concat([singles, _get_collectives(depends, len(singles)).select(singles.columns)])
    return gets.filter(pl.Series(gets["arrival"].to_numpy() <= timeline.end[gets["call"].to_numpy()]))


def _get_messages(timeline: Timeline, depends: Dependencies) -> pl.DataFrame:
    rows = depends.messages
    call, other = rows["call"].to_numpy(), rows["other"].to_numpy()
    elsewhere = pl.Series(timeline.location[call] != timeline.location[other], dtype=pl.Boolean)
    is_received = (pl.col("kind") == "late_sender").cast(pl.Int64)
    return rows.filter(elsewhere).select(
        "call",
        "other",
        (is_received == 1).alias("is_message"),
        is_received.alias("latencies"),
        (is_received * pl.col("bytes").clip(0)).alias("bytes"),
    )


_SINGLE = ["call", "other", "is_message", "latencies", "bytes"]


def _get_scans(depends: Dependencies) -> pl.DataFrame:
    """Return for each part of a scan the latest of the parts before it."""
    parts = _tall(depends.collectives)
    rows = parts.with_columns(find_awaited_calls(parts).alias("other")).filter(
        pl.col("kind") == "prefix", pl.col("other") >= 0, pl.col("call") >= 0
    )
    return rows.select(_SINGLE)


def _get_collectives(depends: Dependencies, first_hub: int) -> pl.DataFrame:
    """Return the parts of other collectives: they wait for the last rank, or for the root."""
    parts, whole = _tall(depends.collectives), "collective"
    is_root, kind = pl.col("rank") == pl.col("root"), pl.col("kind")
    of_root = pl.col("arrival").filter(is_root).first().over(whole)
    waits = (
        pl.when(kind == "from_root")
        .then(~is_root)
        .when(kind == "to_root")
        .then(is_root)
        .otherwise(pl.lit(True))
    )
    arrival = pl.when(kind == "from_root").then(of_root).otherwise(pl.col("arrival").max().over(whole))
    rows = parts.with_columns(
        arrival.alias("arrival"),
        (pl.col(whole) + first_hub).alias("hub"),
        pl.lit(-1, pl.Int64).alias("other"),
    )
    return rows.filter(waits, kind != "prefix", pl.col("call") >= 0)


def _tall(parts: pl.DataFrame) -> pl.DataFrame:
    """Return parts with the number of latencies of a tree of their ranks; none is a message."""
    height = (pl.col("size").cast(pl.Float64).log(2) - 1e-9).ceil().cast(pl.Int64)
    return parts.with_columns(
        pl.col("completed").alias("call"), height.alias("latencies"), pl.lit(False).alias("is_message")
    )


def _puts(depends: Dependencies, gets: pl.DataFrame) -> pl.DataFrame:
    """Return the calls whose begins the gets wait for: `call`, `hub`."""
    singles = gets.filter(pl.col("other") >= 0).select(pl.col("other").alias("call"), "hub")
    hubs = gets.filter(pl.col("other") < 0).select("collective", "hub").unique()
    gives = (pl.col("kind") != "from_root") | (pl.col("rank") == pl.col("root"))
    parts = depends.collectives.filter(gives).select("collective", pl.col("started").alias("call"))
    return pl.concat([singles, parts.join(hubs, on="collective").select("call", "hub")])


def place_injected_units(
    edges: Edges, timeline: Timeline, depends: Dependencies, gets: pl.DataFrame
) -> Edges:
    """Return `edges` with the units of the injector; `gets` are the dependencies of `edges`.

    A message arrives one latency after it was sent, or at its time in the run, if that is later. A rank that
    gets data in a collective continues one latency after the library has finished it, whichever rank was
    last. In a non-blocking collective it continues at least one latency after its own begin.
    """
    calls = _find_delayed(depends)
    blocks = pl.col("call") == pl.col("started")
    blocking = calls.filter(blocks)["call"]
    is_after = ~gets["is_message"] & gets["call"].is_in(blocking.implode())
    usual = edges.gets.with_columns(is_after.cast(pl.Int64).alias("units"))
    sent = edges.gets.filter(gets["is_message"]).with_columns(
        pl.lit(0, pl.Int64).alias("weight"), pl.lit(1, pl.Int64).alias("units")
    )
    puts, own = _make_own_edges(edges, timeline, calls)
    return replace(edges, puts=pl.concat([edges.puts, puts]), gets=pl.concat([usual, sent, own]))


def _find_delayed(depends: Dependencies) -> pl.DataFrame:
    """Return the parts of collectives that receive data: `started`, `call` (which completes it)."""
    is_root, kind = pl.col("rank") == pl.col("root"), pl.col("kind")
    brings = pl.when(kind == "from_root").then(~is_root).when(kind == "to_root").then(is_root).otherwise(True)
    return depends.collectives.filter(brings, pl.col("completed") >= 0).select(
        "started", pl.col("completed").alias("call")
    )


def _make_own_edges(
    edges: Edges, timeline: Timeline, calls: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return puts and gets by which a collective is one latency longer for a rank that did not wait."""
    started, call = calls["started"].to_numpy(), calls["call"].to_numpy()
    posted = timeline.end[started] - timeline.begin[started]
    used = np.concatenate([[-1], edges.puts["hub"].to_numpy(), edges.gets["hub"].to_numpy()])
    hub = np.arange(len(calls)) + used.max() + 1
    puts = pl.DataFrame({"call": started, "hub": hub}, schema=edges.puts.schema)
    weight = np.where(call == started, edges.own[call], posted)
    units, group = np.ones(len(calls), dtype=np.int64), timeline.path[call]
    columns = {"call": call, "hub": hub, "weight": weight, "units": units, "group": group}
    return puts, pl.DataFrame(columns, schema=edges.gets.schema)
