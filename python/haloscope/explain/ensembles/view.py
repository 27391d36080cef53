"""A view of an ensemble: a frame and its figure. Functions that all views share: axes, points and lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.base.errors import UsageError, printable
from haloscope.base.files import shorten_paths
from haloscope.base.palette import METHODS
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.markov.figures import Figure, Trace, axis, margin, plain
from haloscope.profile import RUN_COLUMNS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as PlotlyFigure


# All colours except the first, which is grey; afterwards they repeat with a different mark.
COLOURS = METHODS[1:]
_MARKS = ("circle", "square", "diamond", "triangle-up")
_DASHES = ("solid", "dash", "dot", "dashdot")
_MOST_TICKS = 12
_OWN_COLUMNS = frozenset((*RUN_COLUMNS, "missing_ranks"))
# An axis over a wider range is logarithmic.
_WIDE = 4.0


@dataclass(frozen=True)
class EnsembleView:
    """One figure and its numbers: `frame`, and `drawn` for pages (None if there is nothing to draw)."""

    frame: pl.DataFrame
    drawn: Figure | None = None

    def figure(self) -> PlotlyFigure:
        """Return the figure for a notebook. Raises `UsageError` if there is nothing to draw."""
        if self.drawn is None:
            raise UsageError("there is nothing to draw: no run has these numbers; see the frame")
        from plotly.graph_objects import Figure as PlotlyFigure

        return PlotlyFigure(data=list(self.drawn.traces), layout=dict(self.drawn.layout))


def add_axis_columns(ensemble: Ensemble, rows: pl.DataFrame, against: str, by: str) -> pl.DataFrame:
    """Return rows of a table with `x`, the run's value of `against`, and `series`, that of `by`.

    `x` is a number if all values are numbers. Runs with missing ranks or without a value of `against` are
    left out.

    Args:
        ensemble: The runs.
        rows: Rows with the column `profile`.
        against: Column of `Ensemble.runs` for `x`.
        by: Column of `Ensemble.runs` for `series`.

    Raises:
        UsageError: No run has one of the columns.
    """
    runs = ensemble.runs
    for name in (against, by):
        if name not in runs.columns:
            raise UsageError(f"no run has the column {name!r}; columns: {', '.join(runs.columns)}")
    column = (
        runs[against] if against != "profile" else pl.Series(shorten_paths(runs["profile"]), dtype=pl.String)
    )
    number = column.cast(pl.Float64, strict=False)
    is_text = not column.dtype.is_numeric()
    x = number if is_text and number.null_count() == column.null_count() else column
    series = runs[by].cast(pl.String).fill_null("unknown")
    known = runs.select("profile", x.alias("x"), series.alias("series"))
    whole = known.filter((runs["missing_ranks"] == 0) & pl.col("x").is_not_null())
    return rows.join(whole, on="profile", how="inner", maintain_order="left")


def rename_axis_column(frame: pl.DataFrame, against: str) -> pl.DataFrame:
    """Return the frame with `x` renamed to the column of the runs, unless it already has one of that name."""
    return frame.rename({"x": axis_column(frame, against)})


def axis_column(frame: pl.DataFrame, against: str) -> str:
    """Return the name of the x column in the frame of a view."""
    return "x" if "x" in frame.columns and against in frame.columns else against


def column_title(name: str) -> str:
    """Return the words for a column of the runs: `run_ranks` is `ranks`; keys of the program stay."""
    return printable(name.removeprefix("run_").replace("_", " ") if name in _OWN_COLUMNS else name)


def select_region(ensemble: Ensemble, table: str, region: str) -> pl.DataFrame:
    """Return the rows of a region in the table `regions` or `sizes`.

    Raises:
        UsageError: No run has the region, or several paths match.
    """
    found = ensemble.of_region(ensemble.with_paths(table), region)
    paths = found["path"].unique(maintain_order=True).to_list()
    if len(paths) > 1:
        raise UsageError(f"{region!r} matches several regions: {', '.join(paths[:8])}; give a path")
    return found


def average_runs(rows: pl.DataFrame, keys: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    """Return the number of `runs` and the means of `values` per combination of `keys`, sorted by them."""
    grouped = rows.group_by(keys, maintain_order=True)
    means = grouped.agg(pl.len().cast(pl.Int64).alias("runs"), *(pl.col(name).mean() for name in values))
    return means.sort(*keys, maintain_order=True)


def make_axis(against: str, values: pl.Series) -> dict[str, Any]:
    """Return the axis for `values` of a column of the runs."""
    title = plain(column_title(against))
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


def make_layout(xaxis: dict[str, Any], title: str, height: int = 360, **more: Any) -> dict[str, Any]:
    """Return the layout of one plot whose y axis has this title."""
    return {
        "height": height,
        "margin": margin(64),
        "xaxis": xaxis,
        "yaxis": axis(title, rangemode="tozero"),
        **more,
    }


def make_line(rows: pl.DataFrame, label: str, number: int, value: str, hover: str, **more: Any) -> Trace:
    """Return the `number`-th line of a figure through `x` and `value`, with bars from `least` to
    `largest`."""
    colour = COLOURS[number % len(COLOURS)]
    turn = number // len(COLOURS) % len(_MARKS)
    trace: Trace = {
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
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": (rows["largest"] - rows[value]).to_list(),
            "arrayminus": (rows[value] - rows["least"]).to_list(),
            "color": colour,
            "width": 3,
        }
    return trace


def make_label(series: str, region: str, many_series: bool, many_regions: bool) -> str:
    """Return the label of a line: the parts in which lines differ."""
    if not many_regions:
        return series
    return f"{series} · {region}" if many_series else region
