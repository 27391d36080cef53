"""Families: regions that differ by a number, such as the levels of multigrid, or are nested in such."""

from __future__ import annotations

import re

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.quantities import QUANTITIES, quantity_of
from haloscope.explain.ensembles.view import EnsembleView, add_axis_columns, axis_of, line, told_against
from haloscope.markov.figures import Figure, Panel, Trace, axis, panels, regime_colours
from haloscope.profile.store import region_text

_NUMBER = re.compile(r"\d{1,9}")
_FEWEST = 2


def families(ensemble: Ensemble) -> pl.DataFrame:
    """Return `family`, `level` and `path` of all regions that differ from another one by a number.

    A family is called by the path with `#` in place of the number: `cg/level #`, or `cg/level #/halo` for
    what is nested in each. A path with several numbers may be of several families.
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
    """Return one of `QUANTITIES` of the regions of a family, a line a level.

    `mean`, `least` and `largest` are over the runs of one point. Raises `UsageError` if there is no such
    family.
    """
    drawn = quantity_of(quantity)
    known = families(ensemble)
    members = known.filter(family=family)
    if not len(members):
        names = ", ".join(known["family"].unique().sort().head(8).to_list()) or "none"
        raise UsageError(f"there is no family {family!r}; there is {names}")
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
    return EnsembleView(told_against(frame, against), _drawn(frame, family, quantity, against))


def _drawn(frame: pl.DataFrame, family: str, quantity: str, against: str) -> Figure | None:
    if not len(frame):
        return None
    numbers = frame["level"].unique().sort().to_list()
    colours = dict(zip(numbers, regime_colours(len(numbers)), strict=True))
    drawn: list[Panel] = []
    for (series,), rows in frame.group_by(["series"], maintain_order=True):
        parts = rows.group_by(["level", "path"], maintain_order=True)
        traces = [
            _line(part, number, place, colours[number], not drawn)
            for place, ((number, _), part) in enumerate(parts)
        ]
        drawn.append(Panel(str(series) if frame["series"].n_unique() > 1 else "", traces))
    one = QUANTITIES[quantity]
    heading = f"{one.title}, {one.unit}" if one.unit else one.title
    yaxis = axis(heading, rangemode="tozero")
    traces, layout = panels(drawn, axis_of(against, frame["x"]), yaxis, min(2, len(drawn)), 280)
    return Figure(
        f"A line a level of {region_text(family)}.", traces, layout, one.title[0].upper() + one.title[1:]
    )


def _line(rows: pl.DataFrame, number: object, place: int, colour: str, shown: bool) -> Trace:
    made = line(rows, str(number), place, "mean", "%{y:.4s}", legendgroup=str(number), showlegend=shown)
    coloured = {key: {**made[key], "color": colour} for key in ("line", "marker", "error_y") if key in made}
    return made | coloured
