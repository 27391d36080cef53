"""Families: regions that differ by a number, such as the levels of multigrid, or are nested in them."""

from __future__ import annotations

import re

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.quantities import QUANTITIES, find_quantity
from haloscope.explain.ensembles.view import (
    EnsembleView,
    add_axis_columns,
    make_axis,
    make_line,
    rename_axis_column,
)
from haloscope.markov.figures import Figure, Panel, Trace, axis, panels, regime_colours
from haloscope.profile.store import region_text

_NUMBER = re.compile(r"\d{1,9}")
_FEWEST = 2


def families(ensemble: Ensemble) -> pl.DataFrame:
    """Return `family`, `level` and `path` of all regions that differ from each other by a number.

    The name of a family is the path with `#` in place of the number: `cg/level #`, or `cg/level #/halo` for
    regions nested in each level. A path with several numbers may belong to several families.
    """
    paths = ensemble.with_paths("regions")["path"].unique().sort().to_list()
    rows = [
        (f"{path[: found.start()]}#{path[found.end() :]}", int(found[0]), path)
        for path in paths
        for found in _NUMBER.finditer(path)
    ]
    every = pl.DataFrame(
        rows, schema={"family": pl.String, "level": pl.Int64, "path": pl.String}, orient="row"
    )
    return every.filter(pl.col("level").n_unique().over("family") >= _FEWEST).sort("family", "level", "path")


def levels(
    ensemble: Ensemble,
    family: str,
    quantity: str = "bytes",
    *,
    against: str = "run_ranks",
    by: str = "program",
) -> EnsembleView:
    """Return one of `QUANTITIES` for the regions of a family, one line per level.

    `mean`, `least` and `largest` are over the runs of one point.

    Args:
        ensemble: The runs.
        family: Name of the family, such as `cg/level #`.
        quantity: Name of the quantity.
        against: Column of the runs for the x axis.
        by: Column of the runs that separates series.

    Raises:
        UsageError: There is no such family.
    """
    drawn = find_quantity(quantity)
    known = families(ensemble)
    members = known.filter(family=family)
    if not len(members):
        names = ", ".join(known["family"].unique().sort().head(8).to_list()) or "none"
        raise UsageError(f"unknown family {family!r}; families: {names}")
    rows = add_axis_columns(ensemble, ensemble.with_paths("regions"), against, by)
    value, keys = pl.col("value"), ["series", "level", "path", "x"]
    frame = (
        rows.join(members, on="path", how="inner")
        .with_columns(value=drawn.value.cast(pl.Float64))
        .filter(value.is_not_null())
        .group_by(keys)
        .agg(pl.len().cast(pl.Int64).alias("runs"), mean=value.mean(), least=value.min(), largest=value.max())
        .sort(keys)
    )
    return EnsembleView(rename_axis_column(frame, against), _draw(frame, family, quantity, against))


def _draw(frame: pl.DataFrame, family: str, quantity: str, against: str) -> Figure | None:
    if not len(frame):
        return None
    numbers = frame["level"].unique().sort().to_list()
    colours = dict(zip(numbers, regime_colours(len(numbers)), strict=True))
    drawn: list[Panel] = []
    # A level that only a later panel has is in the legend, too.
    listed: set[object] = set()
    for (series,), rows in frame.group_by(["series"], maintain_order=True):
        parts = rows.group_by(["level", "path"], maintain_order=True)
        traces = []
        for position, ((number, _), part) in enumerate(parts):
            shown = number not in listed
            traces.append(_trace_level(part, number, position, colours[number], shown))
            listed.add(number)
        drawn.append(Panel(str(series) if frame["series"].n_unique() > 1 else "", traces))
    shown_quantity = QUANTITIES[quantity]
    heading = (
        f"{shown_quantity.title}, {shown_quantity.unit}" if shown_quantity.unit else shown_quantity.title
    )
    yaxis = axis(heading, rangemode="tozero")
    traces, layout = panels(drawn, make_axis(against, frame["x"]), yaxis, min(2, len(drawn)), 280)
    return Figure(
        f"One line per level of {region_text(family)}.",
        traces,
        layout,
        shown_quantity.title[0].upper() + shown_quantity.title[1:],
    )


def _trace_level(rows: pl.DataFrame, number: object, position: int, colour: str, shown: bool) -> Trace:
    trace = make_line(
        rows, str(number), position, "mean", "%{y:.4s}", legendgroup=str(number), showlegend=shown
    )
    coloured = {key: {**trace[key], "color": colour} for key in ("line", "marker", "error_y") if key in trace}
    return trace | coloured
