"""Tables as a page carries them: by region, ranks put into bins, columns packed as arrays."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from haloscope.profile import Profile
from haloscope.profile.store import RegionTree

# More ranks than this are put into bins, at most half as many, which a browser still draws quickly.
_MOST_RANKS = 1024
_BINS = 512


def world(profile: Profile, ranks: pl.Series) -> int:
    """Return how many ranks an axis has: the world, or more if there is a rank outside it."""
    highest = ranks.max()
    return max(profile.info.get("ranks") or 0, 1 + highest if isinstance(highest, int) else 0, 1)


def bin_ranks(
    frame: pl.DataFrame, axes: Sequence[str], ranks: int, most_rows: int
) -> tuple[int, pl.DataFrame]:
    """Return how many ranks a bin has, and `frame` summed over bins along `axes`."""
    bin_size = 1 if ranks <= _MOST_RANKS else -(-ranks // _BINS)
    joined = _summed(frame, axes, bin_size)
    while len(joined) > most_rows and bin_size < ranks:
        bin_size *= 2
        joined = _summed(joined, axes, 2)
    return bin_size, joined


def _summed(frame: pl.DataFrame, axes: Sequence[str], factor: int) -> pl.DataFrame:
    keys = ["path", *axes]
    numbers = [pl.col(axis) // factor for axis in axes]
    return frame.group_by(pl.col("path"), *numbers).agg(pl.exclude(keys).sum()).sort(keys)


def number_regions(tree: RegionTree, frame: pl.DataFrame) -> pl.DataFrame:
    """Return `frame` with the region's place in a depth-first walk as `path`."""
    return frame.with_columns(pl.Series(tree.order).gather(frame["path"]).alias("path"))


def by_region(tree: RegionTree, frame: pl.DataFrame) -> tuple[list[int], pl.DataFrame]:
    """Return where the rows of each region begin, and the rows in that order."""
    rows = number_regions(tree, frame).sort("path", maintain_order=True)
    return np.searchsorted(rows["path"].to_numpy(), np.arange(len(tree) + 1)).tolist(), rows


def rows_by_region(tree: RegionTree, frame: pl.DataFrame) -> dict[str, Any]:
    """Return few rows as the page takes them: lists, without `path`."""
    offsets, rows = by_region(tree, frame)
    return {"offsets": offsets, "rows": [list(row) for row in rows.drop("path").iter_rows()]}


def pack_rows(
    tree: RegionTree, frame: pl.DataFrame, types: Mapping[str, str], ranks: int, bin_size: int
) -> dict[str, Any]:
    """Return many rows as the page takes them: the columns of `types`, and how ranks were put into bins."""
    offsets, rows = by_region(tree, frame)
    bins = {"bin": bin_size, "bins": -(-ranks // bin_size)}
    return {**bins, "offsets": offsets, "columns": packed_columns(rows, types)}


def packed_columns(frame: pl.DataFrame, types: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return columns as arrays of the kinds u2, u4, i4 or f8; null is 0."""
    columns = {name: frame[name].fill_null(0).to_numpy().astype(f"<{kind}") for name, kind in types.items()}
    return {
        name: {"type": types[name], "data": base64.b64encode(values.tobytes()).decode("ascii")}
        for name, values in columns.items()
    }
