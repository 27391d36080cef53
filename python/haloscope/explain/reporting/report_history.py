"""The history of a run for a page: time in MPI, and waiting by rank, in cells of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray
from haloscope.explain.reporting.report_packing import pack_columns
from haloscope.profile import Profile

# Largest map (cells of time × bins of ranks) that a browser draws quickly.
_MOST_CELLS = 256
_MOST_BINS = 512
_PARTS = ("p2p", "coll", "rma", "io", "wait")


def make_history(profile: Profile, most_values: int) -> dict[str, Any] | None:
    """Return seconds per second of each part in each cell of time, averaged over ranks.

    `share` is the share of waiting per bin of ranks, one row per bin, in 1/10000. None with fewer than two
    slices. Ranks may have slices of different lengths, and a long call extends its slice, so the times of a
    slice are distributed evenly over its duration.
    """
    rows = _read_slices(profile)
    if rows["slice"].n_unique() < 2:
        return None
    begin, end = rows["begin"].to_numpy(), rows["end"].to_numpy()
    later = rows.filter(pl.col("slice") > 0)
    longest = max((later["start"] / later["slice"]).to_numpy().max(), 1e-9)
    cells = int(np.clip(np.ceil(end.max() / longest), 2, _MOST_CELLS))
    width = end.max() / cells
    row, cell, part = _distribute_over_cells(begin, end, width, cells)
    ranks = rows["rank"].n_unique()
    means = {
        name: _sum_by_place(cell, part * rows[f"{name}_time"].to_numpy()[row], cells) / (width * ranks)
        for name in _PARTS
    }
    world = int(rows["rank"].max()) + 1  # type: ignore[arg-type]
    bin_size = max(1, -(-world // max(1, min(_MOST_BINS, most_values // cells))))
    bins = -(-world // bin_size)
    position = (rows["rank"].to_numpy() // bin_size)[row] * cells + cell
    waited = _sum_by_place(position, part * rows["wait_time"].to_numpy()[row], bins * cells)
    members = np.bincount(rows["rank"].unique().to_numpy() // bin_size, minlength=bins)
    shares = waited.reshape(bins, cells) / (width * np.maximum(members, 1))[:, None]
    share = pl.DataFrame({"share": np.rint(1e4 * np.clip(shares, 0, 1)).ravel()})
    return {
        "ranks": ranks,
        "bin": bin_size,
        "bins": bins,
        "cells": cells,
        "width": float(width),
        "columns": pack_columns(pl.DataFrame(means), dict.fromkeys(_PARTS, "f8"))
        | pack_columns(share, {"share": "u2"}),
    }


def _read_slices(profile: Profile) -> pl.DataFrame:
    """Return the valid slices, without overlap with the previous slice of the rank."""
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


def _distribute_over_cells(
    begin: AnyArray, end: AnyArray, width: float, cells: int
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return row, cell and part of the row, for every cell that a row overlaps."""
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


def _sum_by_place(positions: AnyArray, values: AnyArray, count: int) -> AnyArray:
    return np.bincount(positions, values, minlength=count)
