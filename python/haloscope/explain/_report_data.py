"""The numbers that a report page carries, as JSON and packed arrays."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from haloscope.base.errors import printable
from haloscope.explain._ranks import rank_rows, region_rows
from haloscope.explain._render import views
from haloscope.explain._summary import warnings
from haloscope.explain._tables import info, run_information
from haloscope.explain._tree import Scope, region_text

if TYPE_CHECKING:
    from haloscope.explain._profile import Profile
    from haloscope.explain._tree import RegionTree

__all__ = ["PARTS", "_cells_of_time", "page_data"]

# More ranks than this are put into bins, at most half as many, which a browser still draws quickly.
_MOST_RANKS = 1024
_BINS = 512
# Rows of one figure in all runs together. They make about ten megabytes of page.
_MOST_ROWS = 400_000
_LEAST_ROWS = 20_000


def page_data(profile: Profile, runs: int = 1) -> dict[str, Any]:
    """Return what the page shows of one run, as one of `runs` on it. Raises `DamageError`."""
    tree = profile.regions
    told = run_information(profile)
    most_rows = max(_LEAST_ROWS, _MOST_ROWS // runs)
    return {
        "profile": printable(profile.path.name),
        "program": printable(told["program"] or "unknown program"),
        "command": printable(told["command"] or ""),
        "ranks": told["ranks"],
        "hosts": len(told["hosts"]),
        "duration": told["duration"],
        "warnings": [printable(warning) for warning in warnings(told)],
        "about": _about(profile),
        **_regions(tree),
        "inclusive": _columns(profile, exclusive=False),
        "exclusive": _columns(profile, exclusive=True),
        "split": _split(profile, most_rows),
        "matrix": _matrix(profile, most_rows),
        "sizes": _sizes(profile),
        "history": _history(profile, most_rows),
        "sites": _sites(profile),
        "regimes": _regimes(profile),
    }


def _about(profile: Profile) -> list[tuple[str, str]]:
    frame = info(profile)
    key, value = views("info", frame.columns)
    return [(key.of(row), value.of(row)) for row in frame.to_dicts()]


def _regions(tree: RegionTree) -> dict[str, Any]:
    """Return the tree in depth-first order; `end` is the number after the last region below."""
    paths = tree.order.argsort().tolist()
    ends = [0] * len(paths)
    for path in reversed(paths):
        place = int(tree.order[path])
        ends[place] = max(ends[place], place + 1)
        parent = int(tree.order[tree.parents[path]]) if place else 0
        ends[parent] = max(ends[parent], ends[place])
    return {
        "names": [region_text(tree.names[path]) for path in paths],
        "full": [region_text(tree.full_names[path]) for path in paths],
        "depth": tree.depths[paths].tolist(),
        "communication": tree.communication[paths].tolist(),
        "end": ends,
    }


def _columns(profile: Profile, exclusive: bool) -> dict[str, list[Any]]:
    """Return the table `regions` by column, with a null for a region that no rank entered."""
    tree = profile.regions
    rows = region_rows(profile, Scope(tree, exclusive))
    every = pl.DataFrame({"path": range(len(tree))}, schema={"path": pl.Int64})
    floats = pl.col(pl.Float64)
    placed = rows.with_columns(_place(tree, rows))
    return (
        every.join(placed, on="path", how="left", maintain_order="left")
        .drop("path")
        # A sum may overflow, and JSON has no infinity.
        .with_columns(pl.when(floats.is_finite()).then(floats).name.keep())
        .to_dict(as_series=False)
    )


def _split(profile: Profile, most_rows: int) -> dict[str, Any]:
    """Return where the time of each region and rank went, exclusive, seconds."""
    rows = rank_rows(profile, Scope(profile.regions, exclusive=True))
    parts = rows.filter(pl.col("rank") >= 0).select(
        "path",
        "rank",
        pl.col("compute_time").alias("compute"),
        pl.col("p2p_time").alias("p2p"),
        pl.col("coll_time").alias("coll"),
        (pl.col("mpi_time") - pl.col("p2p_time") - pl.col("coll_time")).alias("other"),
    )
    ranks = _world(profile, parts["rank"])
    bin_size, binned = _binned(parts, ["rank"], ranks, most_rows)
    binned = binned.rename({"rank": "bin"})
    # A mean over the ranks of a bin, those that did not enter with nothing; the last bin may be
    # smaller than the others.
    members = pl.min_horizontal(pl.lit(bin_size), ranks - pl.col("bin") * bin_size)
    values = ("compute", "p2p", "coll", "other")
    means = binned.with_columns(pl.col(name) / members for name in values)
    types = {"bin": "u2", **dict.fromkeys(values, "f8")}
    return _packed(profile.regions, means, types, ranks, bin_size)


def _matrix(profile: Profile, most_rows: int) -> dict[str, Any]:
    """Return rank × partner of each region, exclusive: bytes and messages sent, seconds."""
    names = ["path", "rank", "partner", "sends", "bytes_sent", "time"]
    known = (pl.col("rank") >= 0) & (pl.col("partner") >= 0)
    pairs = profile.exchanges(names).filter(known)
    ranks = _world(profile, pl.concat([pairs["rank"], pairs["partner"]]))
    bin_size, binned = _binned(pairs, ["rank", "partner"], ranks, most_rows)
    columns = {"rank": "row", "partner": "column", "sends": "messages", "bytes_sent": "bytes"}
    types = {"row": "u2", "column": "u2", "messages": "f8", "bytes": "f8", "time": "f8"}
    return _packed(profile.regions, binned.rename(columns), types, ranks, bin_size)


def _history(profile: Profile, most_rows: int) -> dict[str, Any] | None:
    found = _cells_of_time(profile, most_rows)
    if found is None:
        return None
    packed = {
        name: _packed_column(pl.Series(values), "u2" if name == "share" else "f8")
        for name, values in found["columns"].items()
    }
    return found | {"columns": packed}


def _regimes(profile: Profile) -> list[dict[str, Any]]:
    if not profile.source.rows("instances"):
        return []
    from haloscope.explain.regimes.figures._regimes_page import report_sections

    return report_sections(profile)


def _sites(profile: Profile) -> dict[str, Any] | None:
    if not profile.source.rows("sites"):
        return None
    from haloscope.explain.sites import site_data

    return site_data(profile)


def _sizes(profile: Profile) -> dict[str, Any]:
    names = ["path", "kind", "bytes", "bytes_upper", "messages", "time_total"]
    frame = profile.frame("sizes", names)
    rows = frame.with_columns(_place(profile.regions, frame)).sort("path", maintain_order=True)
    return {
        "offsets": _offsets(profile.regions, rows),
        "rows": [list(row) for row in rows.drop("path").iter_rows()],
    }


def _world(profile: Profile, ranks: pl.Series) -> int:
    """Return how many ranks an axis has: the world, or more if there is a rank outside it."""
    highest = ranks.max()
    return max(profile.info.get("ranks") or 0, 1 + highest if isinstance(highest, int) else 0, 1)


def _binned(frame: pl.DataFrame, axes: list[str], ranks: int, most_rows: int) -> tuple[int, pl.DataFrame]:
    """Return how many ranks a bin has, and `frame` summed over bins along `axes`."""
    bin_size = 1 if ranks <= _MOST_RANKS else -(-ranks // _BINS)
    values = pl.exclude("path", *axes)
    while True:
        keys = [pl.col("path"), *(pl.col(axis) // bin_size for axis in axes)]
        binned = frame.group_by(keys, maintain_order=True).agg(values.sum())
        if len(binned) <= most_rows or bin_size >= ranks:
            return bin_size, binned
        bin_size *= 2


def _place(tree: RegionTree, frame: pl.DataFrame) -> pl.Series:
    return pl.Series(tree.order).gather(frame["path"]).alias("path")


def _offsets(tree: RegionTree, rows: pl.DataFrame) -> list[int]:
    """Return where the rows of each region begin in `rows`, which are sorted by region."""
    starts = np.searchsorted(rows["path"].to_numpy(), np.arange(len(tree) + 1))
    return [int(start) for start in starts]


def _packed(
    tree: RegionTree, frame: pl.DataFrame, types: dict[str, str], ranks: int, bin_size: int
) -> dict[str, Any]:
    rows = frame.with_columns(_place(tree, frame)).sort("path", maintain_order=True)
    return {
        "bin": bin_size,
        "bins": -(-ranks // bin_size),
        "offsets": _offsets(tree, rows),
        "columns": {name: _packed_column(rows[name], kind) for name, kind in types.items()},
    }


def _packed_column(values: pl.Series, kind: str) -> dict[str, str]:
    raw = values.fill_null(0).to_numpy().astype(f"<{kind}").tobytes()
    return {"type": kind, "data": base64.b64encode(raw).decode("ascii")}


# A browser still draws a map of so many cells and bins quickly.
_MOST_CELLS = 256
_MOST_BINS = 512
PARTS = ("p2p", "coll", "rma", "io", "wait")

Array = np.ndarray[Any, Any]


def _cells_of_time(profile: Profile, most_values: int) -> dict[str, Any] | None:
    """Return seconds per second of each part in each cell of time, a mean over ranks.

    `share` is that of waiting for each bin of ranks, a row a bin, in 1/10000. None where there is
    no more than one slice. Ranks may have slices of different lengths, and slices with a long call
    go on: what is in one is spread evenly over its time.
    """
    rows = _slices(profile)
    if rows["slice"].n_unique() < 2:
        return None
    begin, end = rows["begin"].to_numpy(), rows["end"].to_numpy()
    later = rows.filter(pl.col("slice") > 0)
    longest = max((later["start"] / later["slice"]).to_numpy().max(), 1e-9)
    cells = int(np.clip(np.ceil(end.max() / longest), 2, _MOST_CELLS))
    width = end.max() / cells
    row, cell, part = _over_cells(begin, end, width, cells)
    ranks = rows["rank"].n_unique()
    columns = {
        name: _summed(cell, part * rows[f"{name}_time"].to_numpy()[row], cells) / (width * ranks)
        for name in PARTS
    }
    world = int(rows["rank"].max()) + 1  # type: ignore[arg-type]
    bin_size = max(1, -(-world // max(1, min(_MOST_BINS, most_values // cells))))
    bins = -(-world // bin_size)
    place = (rows["rank"].to_numpy() // bin_size)[row] * cells + cell
    waited = _summed(place, part * rows["wait_time"].to_numpy()[row], bins * cells)
    members = np.bincount(rows["rank"].unique().to_numpy() // bin_size, minlength=bins)
    shares = waited.reshape(bins, cells) / (width * np.maximum(members, 1))[:, None]
    return {
        "ranks": ranks,
        "bin": bin_size,
        "bins": bins,
        "cells": cells,
        "width": float(width),
        "columns": columns | {"share": np.rint(1e4 * np.clip(shares, 0, 1)).ravel()},
    }


def _slices(profile: Profile) -> pl.DataFrame:
    """Return the slices that a figure can show; what an earlier one covers is not covered twice."""
    times = [f"{name}_time" for name in PARTS]
    real = pl.all_horizontal(pl.col("start", "duration", *times).is_between(0, 1e12))
    rows = profile.frame("slices", ["rank", "slice", "start", "duration", *times])
    before = pl.col("end").shift(1).over("rank")
    return (
        rows.filter(real & pl.col("rank").is_between(0, 2**31) & (pl.col("slice") >= 0))
        .sort("rank", "slice")
        .with_columns(end=pl.col("start") + pl.max_horizontal("duration", pl.lit(1e-9)))
        .with_columns(
            begin=pl.when(before < pl.col("end")).then(pl.max_horizontal("start", before)).otherwise("start")
        )
    )


def _over_cells(begin: Array, end: Array, width: float, cells: int) -> tuple[Array, Array, Array]:
    """Return row, cell and part of the row, for every cell that a row reaches into."""
    first = np.minimum((begin / width).astype(np.int64), cells - 1)
    last = np.minimum((end / width).astype(np.int64), cells - 1)
    spans = last - first + 1
    row = np.repeat(np.arange(len(begin)), spans)
    cell = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(spans) - spans, spans)
    overlap = np.minimum(end[row], (cell + 1) * width) - np.maximum(begin[row], cell * width)
    part = np.clip(overlap, 0, None)
    whole = np.bincount(row, part, minlength=len(begin))
    # A row shorter than a rounding error counts where it begins.
    part = np.where(whole[row] > 0, part / np.where(whole > 0, whole, 1)[row], cell == first[row])
    return row, cell, part


def _summed(places: Array, values: Array, count: int) -> Array:
    return np.bincount(places, values, minlength=count)
