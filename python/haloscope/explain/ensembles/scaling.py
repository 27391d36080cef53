"""Regions by the number of ranks, or by a different column of the runs: the views of papers on scaling."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from haloscope.base.palette import KINDS
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.quantities import find_quantity
from haloscope.explain.ensembles.view import (
    EnsembleView,
    add_axis_columns,
    average_runs,
    make_axis,
    make_label,
    make_layout,
    make_line,
    rename_axis_column,
    select_region,
)
from haloscope.markov.figures import Figure, Panel, Trace, axis, panels, plain
from haloscope.profile.store import PROGRAM, region_text

_MOST_REGIONS = 8
_PARTS = {
    "compute": KINDS["compute"],
    "p2p": KINDS["p2p"],
    "collective": KINDS["coll"],
    "other": KINDS["other"],
}


def over(
    ensemble: Ensemble,
    quantity: str = "time",
    regions: Sequence[str] | None = None,
    *,
    against: str = "run_ranks",
    by: str = "program",
) -> EnsembleView:
    """Return one of `QUANTITIES` by a column of `Ensemble.runs`, one line per region and value of `by`.

    `mean`, `least` and `largest` are over the runs of one point. Times are seconds per rank and include
    nested regions.

    Args:
        ensemble: The runs.
        quantity: Name of the quantity.
        regions: Regions by last name or path; by default the program and the seven longest.
        against: Column of the runs for the x axis.
        by: Column of the runs that separates series.

    Examples:
        >>> runs = haloscope.open_all("runs/*.halo")
        >>> over(runs, "time", ["solve", "sweep_comm"]).figure().show()
    """
    drawn = find_quantity(quantity)
    rows = add_axis_columns(ensemble, ensemble.with_paths("regions"), against, by)
    rows = select_longest(rows) if regions is None else select_regions(ensemble, rows, regions)
    keys = ["series", "path", "x"]
    value = pl.col("value")
    frame = (
        rows.with_columns(value=drawn.value.cast(pl.Float64))
        .filter(value.is_not_null())
        .group_by(keys, maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("runs"), mean=value.mean(), least=value.min(), largest=value.max())
        .sort(keys, maintain_order=True)
    )
    every = rows.select("series", "path").unique().sort("series", "path")
    return EnsembleView(
        rename_axis_column(frame, against), _draw_lines(frame, every, against, drawn.title, drawn.unit)
    )


def select_regions(ensemble: Ensemble, rows: pl.DataFrame, regions: Sequence[str]) -> pl.DataFrame:
    return pl.concat([ensemble.of_region(rows, region) for region in dict.fromkeys(regions)]).unique(
        maintain_order=True
    )


def select_longest(rows: pl.DataFrame) -> pl.DataFrame:
    times = (
        rows.group_by("path")
        .agg(pl.col("time_mean").sum())
        .sort("time_mean", "path", descending=[True, False])
    )
    return rows.filter(pl.col("path").is_in(times["path"].head(_MOST_REGIONS).to_list()))


def _draw_lines(
    frame: pl.DataFrame, every: pl.DataFrame, against: str, title: str, unit: str
) -> Figure | None:
    """Return the figure with one line per series and path, each in its colour among all lines."""
    if not len(frame):
        return None
    many = [every[name].n_unique() > 1 for name in ("series", "path")]
    numbers = {pair: number for number, pair in enumerate(every.iter_rows())}
    traces = [
        make_line(
            rows,
            make_label(series, region_text(path), *many),
            numbers[series, path],
            "mean",
            f"%{{y:.4s}}{unit}",
        )
        for (series, path), rows in frame.group_by(["series", "path"], maintain_order=True)
    ]
    heading = f"{title}, {unit}" if unit else title
    layout = make_layout(make_axis(against, frame["x"]), heading, showlegend=any(many))
    return Figure("Mean over runs; bars: minimum and maximum.", traces, layout, title[0].upper() + title[1:])


def shares(
    ensemble: Ensemble, region: str = PROGRAM, *, against: str = "run_ranks", by: str = "program"
) -> EnsembleView:
    """Return the shares of a region's time: computing, point-to-point, collectives, other MPI.

    They are means over ranks and runs. The shares of a point sum to 1.
    """
    rows = add_axis_columns(ensemble, select_region(ensemble, "regions", region), against, by)
    times = rows.select(
        "series",
        "x",
        compute=pl.col("time_mean") - pl.col("mpi_time_mean"),
        p2p=pl.col("p2p_time_mean"),
        collective=pl.col("coll_time_mean"),
        other=(pl.col("mpi_time_mean") - pl.col("p2p_time_mean") - pl.col("coll_time_mean")).clip(0.0),
        time=pl.col("time_mean"),
    ).drop_nulls()
    means = average_runs(times, ["series", "x"], [*_PARTS, "time"]).filter(pl.col("time") > 0)
    frame = means.with_columns(pl.col(name) / pl.col("time") for name in _PARTS)
    return EnsembleView(rename_axis_column(frame, against), _draw_shares(frame, against))


def _draw_shares(frame: pl.DataFrame, against: str) -> Figure | None:
    if not len(frame):
        return None
    numbers = frame["x"].dtype.is_numeric()
    labels = [f"{x:g}" if numbers else plain(str(x)) for x in frame["x"]]
    many = frame["series"].n_unique() > 1
    x = [[plain(series) for series in frame["series"]], labels] if many else labels
    traces: list[Trace] = [
        {
            "type": "bar",
            "name": title,
            "marker": {"color": colour},
            "x": x,
            "y": (100 * frame[part]).to_list(),
            "hovertemplate": f"{title}: %{{y:.1f}} %<extra></extra>",
        }
        for part, (title, colour) in _PARTS.items()
    ]
    xaxis = {**make_axis(against, frame["x"]), "type": "multicategory" if many else "category"}
    xaxis = {key: value for key, value in xaxis.items() if key not in ("tickvals", "ticktext")}
    layout = make_layout(xaxis, "share of the time, %", barmode="stack")
    layout["yaxis"]["range"] = [0, 100]
    return Figure("Mean over ranks and runs.", traces, layout, "Shares of the time")


def efficiency(ensemble: Ensemble, region: str = PROGRAM, *, by: str = "program") -> EnsembleView:
    """Return how the time of a region scales with the number of ranks.

    `speedup` is the time on the fewest ranks over the time of the point. `strong` is the efficiency of strong
    scaling (constant work): speedup over the ratio of the numbers of ranks. `weak` is that of weak scaling
    (work proportional to ranks): the speedup. Haloscope cannot know which of the two applies.
    """
    rows = add_axis_columns(ensemble, select_region(ensemble, "regions", region), "run_ranks", by)
    means = average_runs(rows.rename({"time_mean": "time"}), ["series", "x"], ["time"])
    first = [pl.col(name).first().over("series") for name in ("time", "x")]
    frame = (
        means.filter((pl.col("time") > 0) & (pl.col("x") > 0))
        .with_columns(speedup=first[0] / pl.col("time"), more=pl.col("x") / first[1])
        .with_columns(strong=pl.col("speedup") / pl.col("more"), weak=pl.col("speedup"))
        .drop("more")
    )
    return EnsembleView(rename_axis_column(frame, "run_ranks"), _draw_efficiency(frame))


def _draw_efficiency(frame: pl.DataFrame) -> Figure | None:
    if frame["x"].n_unique() < 2:
        return None
    many = frame["series"].n_unique() > 1
    drawn = []
    for kind, title in (
        ("speedup", "speed-up"),
        ("strong", "efficiency, strong scaling"),
        ("weak", "efficiency, weak scaling"),
    ):
        traces = [
            make_line(
                rows,
                series if many else title,
                number,
                kind,
                "%{y:.3f}",
                showlegend=many and kind == "speedup",
            )
            for number, ((series,), rows) in enumerate(frame.group_by(["series"], maintain_order=True))
        ]
        drawn.append(Panel(title, traces))
    xaxis, yaxis = make_axis("run_ranks", frame["x"]), axis("", rangemode="tozero")
    traces, layout = panels(drawn, xaxis, yaxis, 3, 260)
    layout["yaxis2"].pop("matches")
    layout["yaxis3"]["matches"] = "y2"
    return Figure(
        "Speed-up: time on the fewest ranks over the time. Strong: all runs do the same work. Weak: the work"
        " grows with the ranks. Only one of the two applies to your runs.",
        traces,
        layout,
        "Speed-up and efficiency",
    )


def totals(
    ensemble: Ensemble, region: str = PROGRAM, *, against: str = "run_ranks", by: str = "program"
) -> EnsembleView:
    """Return the messages of all ranks in a region, one row per point: bytes, sends, largest and mean send.

    They are means over the runs of a point, except the largest send. `mean_send` is `bytes` / `sends`, null
    without sends.
    """
    rows = add_axis_columns(ensemble, select_region(ensemble, "regions", region), against, by)
    frame = (
        rows.group_by("series", "x", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("runs"),
            bytes=pl.col("bytes_sent_total").mean(),
            sends=pl.col("sends_total").mean(),
            largest_send=pl.col("largest_message").max(),
        )
        .sort("series", "x", maintain_order=True)
        .with_columns(mean_send=pl.when(pl.col("sends") > 0).then(pl.col("bytes") / pl.col("sends")))
    )
    return EnsembleView(rename_axis_column(frame, against), _draw_totals(frame, against))


def _draw_totals(frame: pl.DataFrame, against: str) -> Figure | None:
    if not (frame["sends"].sum() or 0):
        return None
    drawn, many = [], frame["series"].n_unique() > 1
    for column, title in (
        ("bytes", "bytes sent"),
        ("sends", "messages sent"),
        ("largest_send", "largest send, B"),
        ("mean_send", "mean send, B"),
    ):
        traces = [
            make_line(rows, series, number, column, "%{y:.4s}", showlegend=many and column == "bytes")
            for number, ((series,), rows) in enumerate(frame.group_by(["series"], maintain_order=True))
        ]
        drawn.append(Panel(title, traces))
    traces, layout = panels(drawn, make_axis(against, frame["x"]), axis("", rangemode="tozero"), 2, 240)
    for name in [name for name in layout if name.startswith("yaxis")]:
        layout[name].pop("matches", None)  # each quantity has its own axis
    return Figure("Sums over all ranks, mean over runs.", traces, layout, "Sent by all ranks")
