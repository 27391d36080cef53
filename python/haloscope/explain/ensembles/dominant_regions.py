"""The region that would take most time with 10 and 100 times the ranks, with its probability."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.palette import PALE
from haloscope.base.units import noun_text, percent_text
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.growth import FACTORS, MOST_ERROR, SURE, Growth, select_law_points
from haloscope.explain.ensembles.scaling_laws import FEWEST_POINTS
from haloscope.explain.ensembles.view import COLOURS, EnsembleView, add_axis_columns, make_layout
from haloscope.markov.figures import Figure, axis, plain
from haloscope.profile.store import region_text

_COLUMNS: dict[str, Any] = {
    "series": pl.String,
    "times": pl.Int64,
    "run_ranks": pl.Int64,
    "path": pl.String,
    **dict.fromkeys(("time", "share", "share_low", "share_high", "probability", "error"), pl.Float64),
}
_MOST_BARS = 10
_NOTHING = 1e-300  # seconds
_WIDTH = pl.col("share_high") - pl.col("share_low")
_WIDEST = 0.5  # interval of a predicted share that is still a prediction
_CONSIDERABLE = 0.1  # predicted share of a region whose model must be reliable


def dominance(ensemble: Ensemble, *, by: str = "program") -> EnsembleView:
    """Predict the time of each region on 1, 10 and 100 `times` the largest number of ranks.

    Times are mean seconds per rank from the regions' scaling models, without nested regions. They add up to
    the time of the program, and `share` to 1. Negative predictions count as 0, and so do missing regions.
    `error` is the error of the model in percent. `share_low` and `share_high` are a 95 % interval of the
    share, and `probability` is that of this region having the largest time: null if no number of ranks has
    two runs. A value of `by` with fewer than five numbers of ranks has no rows.
    """
    rows = add_axis_columns(ensemble, ensemble.with_paths("regions", exclusive=True), "run_ranks", by)
    parts = [
        _predict_shares(series, part) for (series,), part in rows.group_by(["series"], maintain_order=True)
    ]
    frame = pl.concat([pl.DataFrame(schema=_COLUMNS), *parts])
    return EnsembleView(frame, _draw(frame))


def _predict_shares(series: object, rows: pl.DataFrame) -> pl.DataFrame:
    paths = rows["path"].unique(maintain_order=True).to_list()
    # The mean over all ranks: ranks that do not enter a region have a time of 0.
    value = (pl.col("time_mean") * pl.col("ranks") / pl.col("run_ranks")).clip(lower_bound=0.0).fill_null(0.0)
    runs = rows.select("profile", "x").unique(maintain_order=True)
    if runs["x"].n_unique() < FEWEST_POINTS or not rows["time_mean"].sum():
        return pl.DataFrame(schema=_COLUMNS)
    every = runs.join(pl.DataFrame({"path": paths}), how="cross")
    known = rows.select("profile", "path", value=value)
    times = every.join(known, on=["profile", "path"], how="left").with_columns(pl.col("value").fill_null(0.0))
    grown = [Growth.of(*select_law_points(times.filter(path=path))) for path in paths]
    most = float(grown[0].points.max())
    return pl.concat([_predict_at(str(series), paths, grown, factor, most) for factor in (1, *FACTORS)])


def _predict_at(series: str, paths: list[str], grown: list[Growth], factor: int, most: float) -> pl.DataFrame:
    ranks = np.array([most * factor])
    times = np.clip([float(growth.law.at(ranks)[0, 0]) for growth in grown], 0, None)
    drawn = [growth.drawn.at(ranks)[:, 0] for growth in grown if growth.drawn is not None]
    unknown: list[float | None] = [None] * len(paths)
    low, high, probability = unknown, unknown, unknown
    if len(drawn) == len(paths):
        could_be = np.clip(np.array(drawn), 0, None)
        parts = could_be / np.maximum(could_be.sum(axis=0), _NOTHING)
        low, high = (row.tolist() for row in np.percentile(parts, SURE, axis=1))
        largest = could_be.argmax(axis=0)
        probability = [float((largest == row).mean()) for row in range(len(paths))]
    columns = {
        "series": [series] * len(paths),
        "times": [factor] * len(paths),
        "run_ranks": [round(most * factor)] * len(paths),
        "path": paths,
        "time": times,
        "share": times / max(float(times.sum()), _NOTHING),
        "share_low": low,
        "share_high": high,
        "probability": probability,
        "error": [float(growth.law.error[0]) for growth in grown],
    }
    return pl.DataFrame(columns, schema=_COLUMNS).sort("time", descending=True, maintain_order=True)


def find_unreliable_series(frame: pl.DataFrame) -> dict[str, tuple[str, float]]:
    """Return the series whose prediction has a large error: the region with the largest one, and that error.

    Only regions with a considerable predicted share count.

    Args:
        frame: The frame of `dominance`.
    """
    considerable = frame.filter((pl.col("times") > 1) & (pl.col("share") >= _CONSIDERABLE))
    poor = considerable.filter(pl.col("error") > MOST_ERROR).sort("error", descending=True)
    rows = poor.unique("series", keep="first", maintain_order=True)
    return {row["series"]: (row["path"], row["error"]) for row in rows.to_dicts()}


def describe_predictions(frame: pl.DataFrame, series: Iterable[str]) -> Iterator[str]:
    """Yield a sentence per series and factor, or the reason why there is no prediction."""
    unreliable = find_unreliable_series(frame)
    for name in series:
        rows = frame.filter(pl.col("series") == name)
        if rows.is_empty():
            yield f"{name}: no prediction for more ranks: a scaling model needs five numbers of ranks."
        elif name in unreliable:
            path, error = unreliable[name]
            yield (
                f"{name}: no reliable scaling model (cross-validation error of {region_text(path)}:"
                f" {error:.0f} %), so there is no prediction; run on more numbers of ranks."
            )
        else:
            beyond = rows.filter(pl.col("times") > 1).group_by("times", maintain_order=True)
            yield from (_describe_largest(part.row(0, named=True)) for _, part in beyond)


def _describe_largest(row: dict[str, Any]) -> str:
    region = region_text(row["path"])
    where = f"on {noun_text(row['run_ranks'], 'rank')} ({row['times']} times the largest run)"
    sure = "without an interval, as no number of ranks was repeated"
    if row["probability"] is not None:
        low, high, likely = (
            percent_text(row[name], 1.0) for name in ("share_low", "share_high", "probability")
        )
        if row["share_high"] - row["share_low"] > _WIDEST:
            return (
                f"{row['series']}, {where}: no reliable prediction: repeated runs allow a share of {region}"
                f" from {low} to {high}."
            )
        sure = f"[{low}, {high}]; it is the largest with probability {likely}"
    share = percent_text(row["share"], 1.0)
    return f"{row['series']}, {where}: predicted share of {region} itself: {share}, {sure}."


def _draw(frame: pl.DataFrame) -> Figure | None:
    frame = frame.filter(~pl.col("series").is_in(list(find_unreliable_series(frame))))
    uncertain = frame.unique(["series", "times"], keep="first").filter(_WIDTH > _WIDEST)
    frame = frame.join(uncertain, on=["series", "times"], how="anti", maintain_order="left")
    if not (frame["times"] > 1).any():
        return None
    order = frame.group_by("path").agg(pl.col("share").max()).sort("share", "path", descending=[True, False])
    chosen = order["path"].head(_MOST_BARS).to_list()
    many = frame["series"].n_unique() > 1
    points = frame.select("series", "times", "run_ranks").unique(maintain_order=True)
    labels = [noun_text(ranks, "rank") for ranks in points["run_ranks"]]
    x = [[plain(series) for series in points["series"]], labels] if many else labels
    traces = []
    for number, path in enumerate(chosen):
        rows = points.join(frame.filter(path=path), on=["series", "times"], how="left", maintain_order="left")
        colour = COLOURS[number % len(COLOURS)]
        traces.append(
            {
                "type": "bar",
                "name": plain(region_text(path)),
                "x": x,
                "y": (100 * rows["share"]).to_list(),
                "marker": {"color": colour, "pattern": {"shape": "" if number < len(COLOURS) else "/"}},
                "hovertemplate": "%{y:.1f} %<extra>%{fullData.name}</extra>",
            }
        )
    if len(order) > len(chosen):
        shown = (
            frame.filter(pl.col("path").is_in(chosen)).group_by("series", "times").agg(pl.col("share").sum())
        )
        rows = points.join(shown, on=["series", "times"], how="left", maintain_order="left")
        traces.append(
            {
                "type": "bar",
                "name": noun_text(len(order) - len(chosen), "other region"),
                "x": x,
                "y": (100 * (1 - rows["share"].fill_null(0.0))).clip(0, 100).to_list(),
                "marker": {"color": PALE},
                "hovertemplate": "%{y:.1f} %<extra>%{fullData.name}</extra>",
            }
        )
    kind = "multicategory" if many else "category"
    layout = make_layout(axis("", type=kind), "share of the time, %", 380, barmode="stack")
    layout["yaxis"]["range"] = [0, 100]
    caption = "Predictions of the scaling models for the largest run, and for 10 and 100 times its ranks."
    return Figure(caption, traces, layout, "Predicted shares of the time")
