"""Tables for a page: sorted by region, ranks in bins, columns packed as arrays."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haloscope.profile import Profile
from haloscope.profile.store import RegionTree

# More ranks than this are combined into at most `_BINS` bins, so that a browser draws quickly.
_MOST_RANKS = 1024
_BINS = 512
_LARGEST_KEY = 1 << 62


def count_world(profile: Profile, ranks: pl.Series) -> int:
    """Return the number of ranks of an axis: those of the world, or more if a rank is outside it."""
    highest = ranks.max()
    return max(profile.info.get("ranks") or 0, 1 + highest if isinstance(highest, int) else 0, 1)


def bin_ranks(
    frame: pl.DataFrame, axes: Sequence[str], ranks: int, most_rows: int
) -> tuple[int, pl.DataFrame]:
    """Return the number of ranks per bin, and `frame` summed over bins along `axes`."""
    bin_size = 1 if ranks <= _MOST_RANKS else -(-ranks // _BINS)
    joined = _sum_bins(frame, axes, bin_size)
    while len(joined) > most_rows and bin_size < ranks:
        bin_size *= 2
        joined = _sum_bins(joined, axes, 2)
    return bin_size, joined


def _sum_bins(frame: pl.DataFrame, axes: Sequence[str], factor: int) -> pl.DataFrame:
    """Return the sums by path and bins. One number as the key is twice as fast as several keys."""
    keys = ["path", *axes]
    places = [pl.col("path"), *(pl.col(axis) // factor for axis in axes)]
    highest, lowest = (
        frame.select(pl.col(keys)).select(of).row(0) for of in (pl.all().max(), pl.all().min())
    )
    sizes = [1 + (value or 0) for value in highest]
    if min(value or 0 for value in lowest) < 0 or prod(sizes) > _LARGEST_KEY:
        return frame.group_by(*places).agg(pl.exclude(keys).sum()).sort(keys)
    key, rest, found = pl.lit(0, pl.Int64), pl.col("_key"), dict[str, pl.Expr]()
    for place, size in zip(places, sizes, strict=True):
        key = key * size + place.cast(pl.Int64)
    for name, size in reversed(list(zip(keys, sizes, strict=True))):
        found[name], rest = rest % size, rest // size
    sums = frame.group_by(key.alias("_key")).agg(pl.exclude(keys).sum()).sort("_key")
    return sums.select(*(found[name].alias(name) for name in keys), pl.exclude("_key"))


def number_regions(tree: RegionTree, frame: pl.DataFrame) -> pl.DataFrame:
    """Return `frame` with the region's index in depth-first order as `path`."""
    return frame.with_columns(pl.Series(tree.order).gather(frame["path"]).alias("path"))


def sort_by_region(tree: RegionTree, frame: pl.DataFrame) -> tuple[list[int], pl.DataFrame]:
    """Return the offsets of the rows of each region, and the rows in that order."""
    rows = number_regions(tree, frame).sort("path", maintain_order=True)
    return np.searchsorted(rows["path"].to_numpy(), np.arange(len(tree) + 1)).tolist(), rows


def list_rows_by_region(tree: RegionTree, frame: pl.DataFrame) -> dict[str, Any]:
    """Return rows as lists without `path`, for small tables."""
    offsets, rows = sort_by_region(tree, frame)
    return {"offsets": offsets, "rows": [list(row) for row in rows.drop("path").iter_rows()]}


def pack_rows(
    tree: RegionTree, frame: pl.DataFrame, types: Mapping[str, str], ranks: int, bin_size: int
) -> dict[str, Any]:
    """Return packed columns of `types` and the bins of ranks, for large tables."""
    offsets, rows = sort_by_region(tree, frame)
    bins = {"bin": bin_size, "bins": -(-ranks // bin_size)}
    return {**bins, "offsets": offsets, "columns": pack_columns(rows, types)}


def pack_columns(frame: pl.DataFrame, types: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return columns as arrays of the kinds u2, u4, i4 or f8; null is 0.

    The first bytes of all numbers precede their second bytes, as neighbours then compress well.
    """
    columns = {name: frame[name].fill_null(0).to_numpy().astype(f"<{kind}") for name, kind in types.items()}
    return {
        name: {"type": types[name], "data": base64.b64encode(_split_bytes(values)).decode("ascii")}
        for name, values in columns.items()
    }


def _split_bytes(values: NDArray[Any]) -> bytes:
    planes: bytes = values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()
    return planes
