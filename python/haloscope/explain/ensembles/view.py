"""A frame and how it is drawn; and what all views of an ensemble share: points on an axis, and lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.base.palette import METHODS
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.markov.figures import Figure, Trace, axis, margin, plain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as PlotlyFigure

# All but the first, which is no colour; then again, with another mark.
COLOURS = METHODS[1:]
_MARKS = ("circle", "square", "diamond", "triangle-up")
_DASHES = ("solid", "dash", "dot", "dashdot")
_MOST_TICKS = 12
# An axis over a wider range is logarithmic.
_WIDE = 4.0


@dataclass(frozen=True)
class EnsembleView:
    """What one figure shows: `frame` has the numbers; `drawn` is for our pages, None if it is empty."""

    frame: pl.DataFrame
    drawn: Figure | None = None

    def figure(self) -> PlotlyFigure:
        """Return the figure for a notebook. Raises `UsageError` if there is nothing to draw."""
        if self.drawn is None:
            raise UsageError("there is nothing to draw: no run has such numbers; look at the frame")
        from plotly.graph_objects import Figure as PlotlyFigure

        return PlotlyFigure(data=list(self.drawn.traces), layout=dict(self.drawn.layout))


def add_axis_columns(ensemble: Ensemble, rows: pl.DataFrame, against: str, by: str) -> pl.DataFrame:
    """Return rows of a table with `x`, what its run has in the column `against`, and `series`, what in `by`.

    Both are columns of `Ensemble.runs`. `x` is a number if all of them are. Runs that lack ranks, or that say
    nothing of `against`, are left out. Raises `UsageError` for a column that no run has.
    """
    runs = ensemble.runs
    for name in (against, by):
        if name not in runs.columns:
            raise UsageError(f"no run says anything of {name!r}; there is {', '.join(runs.columns)}")
    column = runs[against] if against != "profile" else _short(runs["profile"])
    number = column.cast(pl.Float64, strict=False)
    is_text = not column.dtype.is_numeric()
    x = number if is_text and number.null_count() == column.null_count() else column
    series = runs[by].cast(pl.String).fill_null("unknown")
    known = runs.select("profile", x.alias("x"), series.alias("series"))
    whole = known.filter((runs["missing_ranks"] == 0) & pl.col("x").is_not_null())
    return rows.join(whole, on="profile", how="inner", maintain_order="left")


def _short(paths: pl.Series) -> pl.Series:
    """Return paths without the directory that all are in."""
    whole = [os.path.abspath(path) for path in paths]
    folder = os.path.commonpath([os.path.dirname(path) for path in whole])
    return pl.Series([os.path.relpath(path, folder) for path in whole], dtype=pl.String)


def told_against(frame: pl.DataFrame, against: str) -> pl.DataFrame:
    """Return a frame whose column `x` is called as that of the runs, unless it has one of that name."""
    return frame.rename({"x": column_of(frame, against)})


def column_of(frame: pl.DataFrame, against: str) -> str:
    """Return what the column of a view's frame is called that has what runs are drawn against."""
    return "x" if "x" in frame.columns and against in frame.columns else against


def one_region(ensemble: Ensemble, table: str, region: str) -> pl.DataFrame:
    """Return the rows of a region in the table `regions` or `sizes`.

    Raises `UsageError` if no run has it, or it is at several places.
    """
    found = ensemble.of_region(ensemble.with_paths(table), region)
    paths = found["path"].unique(maintain_order=True).to_list()
    if len(paths) > 1:
        raise UsageError(f"{region!r} is at several places: {', '.join(paths[:8])}; name one by its path")
    return found


def mean_of(rows: pl.DataFrame, keys: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    """Return how many `runs` there are of each of `keys`, and the means of `values` over these, in order."""
    grouped = rows.group_by(keys, maintain_order=True)
    means = grouped.agg(pl.len().cast(pl.Int64).alias("runs"), *(pl.col(name).mean() for name in values))
    return means.sort(*keys, maintain_order=True)


def axis_of(against: str, values: pl.Series) -> dict[str, Any]:
    """Return the axis that `values` of a column of runs stand on."""
    title = {"run_ranks": "ranks", "run_hosts": "hosts"}.get(against, plain(against))
    known = values.unique().sort()
    if not known.dtype.is_numeric():
        return axis(title, type="category")
    ticks = (
        {"tickvals": known.to_list(), "ticktext": [f"{x:g}" for x in known]}
        if len(known) <= _MOST_TICKS
        else {}
    )
    low, high = float(known.min() or 0), float(known.max() or 0)
    kind = "log" if low > 0 and high / low >= _WIDE else "linear"
    return axis(title, type=kind, **ticks)


def layout_of(xaxis: dict[str, Any], title: str, height: int = 360, **more: Any) -> dict[str, Any]:
    """Return the layout of one plot whose y axis is called `title`."""
    return {
        "height": height,
        "margin": margin(64),
        "xaxis": xaxis,
        "yaxis": axis(title, rangemode="tozero"),
        **more,
    }


def line(rows: pl.DataFrame, label: str, number: int, value: str, hover: str, **more: Any) -> Trace:
    """Return a line through `x` and `value`, a figure's `number`-th, with bars from `least` to `largest`."""
    colour = COLOURS[number % len(COLOURS)]
    turn = number // len(COLOURS) % len(_MARKS)
    made: Trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(label),
        "x": rows["x"].to_list(),
        "y": rows[value].to_list(),
        "line": {"color": colour, "dash": _DASHES[turn]},
        "marker": {"color": colour, "symbol": _MARKS[turn], "size": 8},
        "hovertemplate": f"%{{x}}: {hover}<extra>%{{fullData.name}}</extra>",
        **more,
    }
    if "least" in rows.columns and (rows["runs"] > 1).any():
        made["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": (rows["largest"] - rows[value]).to_list(),
            "arrayminus": (rows[value] - rows["least"]).to_list(),
            "color": colour,
            "width": 3,
        }
    return made


def label_of(series: str, region: str, many_series: bool, many_regions: bool) -> str:
    """Return what a line is called: by what tells it from the others."""
    if not many_regions:
        return series
    return f"{series} · {region}" if many_series else region
