"""The table `sites`: MPI calls by their location in the program."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from haloscope.profile.shown.profile_tables import SHOWN
from haloscope.profile.sites.book import SiteBook
from haloscope.profile.sites.call_stacks import SourceLocation, site_of
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.tree import Reduction, Scope

_SUMS: dict[str, Reduction] = dict.fromkeys(
    ("calls", "bytes", "time_total", "ranks", "time_squares", "parts"), "sum"
)
_PLACE = {"site": pl.String, "file": pl.String, "line": pl.Int64, "function": pl.String, "stack": pl.String}


def sites(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return region × location × stack × MPI function, the most expensive ones of a region first.

    `share` is of the MPI time of all sites of the run. `time_cv` is unknown for a row that is a sum of
    several: the variation of a sum does not follow from theirs.
    """
    rows = site_rows(profile, scope)
    whole = pl.lit(profile.once(SiteBook).rows["time_total"].sum(), pl.Float64)
    shares = rows.with_columns(share=pl.when(whole > 0).then(pl.col("time_total") / whole))
    named = scope.name_regions(shares, ["time_total", "site", "stack", "call"], [True, False, False, False])
    return named.select(SHOWN["sites"].columns)


def site_rows(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return the unsorted rows of `sites`, with the number of their region as `path`."""
    book = profile.once(SiteBook)
    rows = scope.reduce(book.rows.with_columns(parts=pl.lit(1)), ["stack", "call"], _SUMS)
    placed = rows.rename({"stack": "frames"}).join(_places(book.places), on="frames", how="left")
    keys = ["path", *_PLACE, "call"]
    summed = placed.group_by(keys, maintain_order=True).agg(pl.col(name).sum() for name in _SUMS)
    return summed.with_columns(time_cv=_variation())


def fold_stack(stack: Sequence[SourceLocation]) -> str:
    """Return a stack as one line, the outermost location first, as tools for flame graphs read it."""
    return ";".join(location.text.replace(";", ",") for location in reversed(stack))


def _places(known: dict[str, list[SourceLocation]]) -> pl.DataFrame:
    rows = []
    for frames, stack in known.items():
        site = stack[site_of(stack)]
        rows.append((frames, site.position, site.file, site.line, site.function, fold_stack(stack)))
    return pl.DataFrame(rows, schema={"frames": pl.String, **_PLACE}, orient="row")


def _variation() -> pl.Expr:
    """Return the standard deviation over the ranks with the site, as a share of their mean."""
    ranks = pl.col("ranks")
    mean = pl.col("time_total") / ranks
    # Rounding may make a difference of two equal numbers negative.
    variance = pl.max_horizontal(pl.col("time_squares") / ranks - mean * mean, pl.lit(0.0))
    known = (pl.col("parts") == 1) & (ranks > 0) & (mean > 0)
    return pl.when(known).then(variance.sqrt() / mean)
