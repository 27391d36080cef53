"""The event graph of a run whose latencies are those of `haloscope inject`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from haloscope.profile.waiting.dependencies import Dependencies
from haloscope.profile.waiting.graph import Edges
from haloscope.profile.waiting.timeline import Timeline


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
