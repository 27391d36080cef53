"""The history of a run as a page carries it: time in MPI, and who waited, in cells of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray
from haloscope.explain.reporting.report_packing import packed_columns
from haloscope.profile import Profile

# A browser still draws a map of so many cells and bins quickly.
_MOST_CELLS = 256
_MOST_BINS = 512
_PARTS = ("p2p", "coll", "rma", "io", "wait")


def history(profile: Profile, most_values: int) -> dict[str, Any] | None:
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
    means = {
        name: _summed(cell, part * rows[f"{name}_time"].to_numpy()[row], cells) / (width * ranks)
        for name in _PARTS
    }
    world = int(rows["rank"].max()) + 1  # type: ignore[arg-type]
    bin_size = max(1, -(-world // max(1, min(_MOST_BINS, most_values // cells))))
    bins = -(-world // bin_size)
    place = (rows["rank"].to_numpy() // bin_size)[row] * cells + cell
    waited = _summed(place, part * rows["wait_time"].to_numpy()[row], bins * cells)
    members = np.bincount(rows["rank"].unique().to_numpy() // bin_size, minlength=bins)
    shares = waited.reshape(bins, cells) / (width * np.maximum(members, 1))[:, None]
    share = pl.DataFrame({"share": np.rint(1e4 * np.clip(shares, 0, 1)).ravel()})
    return {
        "ranks": ranks,
        "bin": bin_size,
        "bins": bins,
        "cells": cells,
        "width": float(width),
        "columns": packed_columns(pl.DataFrame(means), dict.fromkeys(_PARTS, "f8"))
        | packed_columns(share, {"share": "u2"}),
    }


def _slices(profile: Profile) -> pl.DataFrame:
    """Return the slices that a figure can show; what an earlier one covers is not covered twice."""
    times = [f"{name}_time" for name in _PARTS]
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


def _over_cells(
    begin: AnyArray, end: AnyArray, width: float, cells: int
) -> tuple[AnyArray, AnyArray, AnyArray]:
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


def _summed(places: AnyArray, values: AnyArray, count: int) -> AnyArray:
    return np.bincount(places, values, minlength=count)
