"""Messages by size class: their number and speed, compared with the speed of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from haloscope.base.errors import UsageError
from haloscope.base.units import bytes_text
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.message_speeds import sum_message_times
from haloscope.explain.ensembles.view import (
    EnsembleView,
    add_axis_columns,
    make_axis,
    make_line,
    rename_axis_column,
    select_region,
)
from haloscope.markov.figures import Figure, Panel, axis, margin, panels
from haloscope.profile.store import PROGRAM

# Bytes at which classes begin, from Chester, Wright and Jarvis, "Understanding communication patterns in
# HPCG".
EDGES = (100, 1000, 10_000)
_LARGEST = 1 << 22  # largest message of a class (B)


@dataclass(frozen=True)
class Speeds:
    """The time of a single message on a machine: `seconds(bytes)`.

    `name` is the name of the machine and of the parts between which the message travels.
    """

    name: str
    seconds: Callable[[float], float]


def size_classes(
    ensemble: Ensemble,
    region: str = PROGRAM,
    *,
    edges: Sequence[int] = EDGES,
    machine: Speeds | None = None,
    against: str = "run_ranks",
    by: str = "program",
) -> EnsembleView:
    """Return point-to-point messages of a region by size class, one row per point and non-empty class.

    `messages`, `bytes` and `time` (seconds in the calls of both sides, over all ranks) are means over the
    runs of a point. `speed` (bytes per second) is that of the messages of traced runs, from the begin of the
    send to the end of the receive, null without a trace. `machine_speed` is that of the same messages one by
    one on `machine`, null without one. The middle of a range of sizes counts.

    Args:
        ensemble: The runs.
        region: Region, by last name or path.
        edges: Sizes in bytes at which classes begin, ascending.
        machine: Speed of the machine.
        against: Column of the runs for the points.
        by: Column of the runs that separates series.

    Raises:
        UsageError: `edges` are not ascending.
    """
    _check_edges(edges)
    rows = add_axis_columns(ensemble, select_region(ensemble, "sizes", region), against, by)
    # Runs without messages count, too.
    entered = add_axis_columns(ensemble, select_region(ensemble, "regions", region), against, by)
    runs = entered.group_by("series", "x").agg(pl.len().cast(pl.Int64).alias("runs"))
    sums = _sum_classes(rows.filter(kind="p2p"), edges, machine).join(runs, on=["series", "x"])
    times = sum_message_times(ensemble, entered["profile"].unique().to_list(), region, edges)
    key = ["series", "x", "class"]
    timed = (
        add_axis_columns(ensemble, times, against, by).group_by(key).agg(pl.col("carried", "seconds").sum())
    )
    sums = sums.join(timed, on=key, how="left")
    carried = pl.when(pl.col("seconds") > 0).then(pl.col("carried") / pl.col("seconds"))
    alone = pl.when(pl.col("alone") > 0).then(pl.col("bytes") / pl.col("alone"))
    frame = (
        sums.with_columns(speed=carried, machine_speed=alone)
        .with_columns(pl.col(name) / pl.col("runs") for name in ("messages", "bytes", "time"))
        .sort("series", "x", "class", maintain_order=True)
    )
    drawn = _draw(frame, edges, machine, against)
    names = pl.Series("size", make_class_names(edges), dtype=pl.String).gather(frame["class"])
    values = ["messages", "bytes", "time", "speed", "machine_speed"]
    shown = rename_axis_column(frame.select("series", "x", "runs", names, *values), against)
    return EnsembleView(shown, drawn)


def speed_classes(machine: Speeds, edges: Sequence[int] = EDGES) -> EnsembleView:
    """Return the speed (bytes per second) of a machine for single messages of each size class.

    It is averaged over one message of each power of two in the class, up to 4 MiB, from `smallest` to
    `largest` bytes. A class without a power of two has no row.

    Args:
        machine: Speed of the machine.
        edges: Sizes in bytes at which classes begin, ascending.

    Raises:
        UsageError: `edges` are not ascending.
    """
    _check_edges(edges)
    names, rows = make_class_names(edges), []
    for name, low, high in zip(names, [1, *edges], [*edges, _LARGEST + 1], strict=True):
        sizes = [size for power in range(_LARGEST.bit_length()) if low <= (size := 1 << power) < high]
        seconds = sum(machine.seconds(size) for size in sizes)
        if sizes:
            rows.append((name, sizes[0], sizes[-1], sum(sizes) / seconds if seconds > 0 else None))
    kinds = {"size": pl.String, "smallest": pl.Int64, "largest": pl.Int64, "machine_speed": pl.Float64}
    frame = pl.DataFrame(rows, schema=kinds, orient="row")
    bars = {
        "type": "bar",
        "x": names,
        "y": [dict(frame.select("size", "machine_speed").iter_rows()).get(name) for name in names],
        "hovertemplate": "%{y:.4s}B/s<extra></extra>",
    }
    layout = {"height": 300, "margin": margin(60), "yaxis": axis("speed, B/s", type="log")}
    return EnsembleView(
        frame, Figure(f"{machine.name}, messages one by one.", [bars], layout, "The machine's speed")
    )


def _check_edges(edges: Sequence[int]) -> None:
    if list(edges) != sorted(set(edges)) or any(edge <= 0 for edge in edges):
        raise UsageError(
            f"edges of size classes must be positive and ascending, not {', '.join(map(str, edges))}"
        )


def make_class_names(edges: Sequence[int]) -> list[str]:
    """Return the name of each class, the smallest messages first."""
    texts = [bytes_text(edge) for edge in edges]
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} and more"] if texts else ["all sizes"]


def _sum_classes(rows: pl.DataFrame, edges: Sequence[int], machine: Speeds | None) -> pl.DataFrame:
    """Return sums over all runs of a point and class; `alone` is the machine's time, null without one."""
    size = (rows["bytes"] + rows["bytes_upper"]) / 2
    kinds = {each: machine.seconds(each) for each in size.unique()} if machine else {}
    seconds = size.replace_strict(kinds, return_dtype=pl.Float64) if kinds else pl.lit(None, pl.Float64)
    number = np.searchsorted(np.asarray(edges), size.to_numpy(), side="right")
    each = rows.select(
        "series",
        "x",
        "messages",
        pl.Series("class", number, dtype=pl.Int64),
        bytes=pl.col("messages") * size,
        time=pl.col("time_total"),
        alone=pl.col("messages") * seconds,
    )
    return each.group_by("series", "x", "class").agg(
        pl.col("messages", "bytes", "time").sum(),
        alone=pl.when(pl.col("alone").is_not_null().all()).then(pl.col("alone").sum()),
    )


def _draw(frame: pl.DataFrame, edges: Sequence[int], machine: Speeds | None, against: str) -> Figure | None:
    if not len(frame):
        return None
    drawn = [Panel("messages", list(_trace_lines(frame, edges, "messages")))]
    caption = "Sums over all ranks, mean over runs."
    speeds = list(_trace_lines(frame, edges, "speed"))
    if speeds:
        caption += " Speed: of messages of traced runs, from the begin of the send to the end of the receive."
    if machine is not None:
        speeds += _trace_lines(frame, edges, "machine_speed")
        caption += f" Thin: {machine.name} with the same messages, one by one."
    if speeds:
        drawn.append(Panel("speed, B/s", speeds))
    traces, layout = panels(
        drawn, make_axis(against, frame["x"]), axis("", type="log"), len(drawn), 300, margin=margin(60)
    )
    if len(drawn) > 1:
        layout["yaxis2"].pop("matches", None)
    return Figure(caption, traces, layout, "Messages by size")


def _trace_lines(frame: pl.DataFrame, edges: Sequence[int], column: str) -> Iterator[dict[str, object]]:
    names, many = make_class_names(edges), frame["series"].n_unique() > 1
    known = frame.filter(pl.col(column) > 0).sort("series", "class", maintain_order=True)
    for (series, number), rows in known.group_by(["series", "class"], maintain_order=True):
        label = f"{series} · {names[number]}" if many else names[number]
        trace = make_line(rows, label, number, column, "%{y:.4s}", legendgroup=label)
        thin = {"line": {**trace["line"], "width": 1, "dash": "dot"}, "mode": "lines", "opacity": 0.7}
        yield {**trace, "showlegend": column == "messages", **(thin if column == "machine_speed" else {})}
