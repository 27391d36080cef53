"""Waiting in the trace of a run, for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from haloscope.explain.reporting.report_packing import bin_ranks, count_world, list_rows_by_region, pack_rows
from haloscope.profile import Profile

# Largest number of corners of T(L) on a page.
_MOST_CORNERS = 1000
_LONGER = (0.01, 0.02, 0.05)


def make_waiting(profile: Profile, most_rows: int) -> dict[str, Any]:
    """Return waiting by pair of ranks, its causes, the critical path and the tolerance of latency.

    All are by region without nested regions. Raises `DamageError`.
    """
    analysis, tree = profile.waiting, profile.regions
    kinds = analysis.waits.group_by("path", "kind", maintain_order=True).agg(pl.col("waits", "time").sum())
    pairs = analysis.waits.filter(pl.col("partner").is_not_null())
    causes = analysis.delays.select("path", "rank", "direct", "indirect")
    path = analysis.critical_path.select("path", "rank", pl.col("time"), pl.col("mpi_time").alias("mpi"))
    columns = {"row": pl.col("rank"), "column": pl.col("partner"), "time": pl.col("time")}
    return {
        "run": analysis.run_time,
        "remarks": analysis.remarks,
        "kinds": list_rows_by_region(tree, kinds),
        "pairs": _sum_bins(profile, pairs.select("path", **columns), ("row", "column"), most_rows),
        "causes": _sum_bins(profile, causes.rename({"rank": "bin"}), ("bin",), most_rows),
        "critical": _sum_bins(profile, path.rename({"rank": "bin"}), ("bin",), most_rows),
        "latency": _make_latency_curve(profile),
    }


def _sum_bins(profile: Profile, rows: pl.DataFrame, axes: tuple[str, ...], most_rows: int) -> dict[str, Any]:
    """Return sums over bins of ranks."""
    ranks = max(count_world(profile, rows[axis]) for axis in axes)
    bin_size, joined = bin_ranks(rows, axes, ranks, most_rows)
    values: Mapping[str, str] = dict.fromkeys(
        (name for name in rows.columns if name not in ("path", *axes)), "f8"
    )
    return pack_rows(profile.regions, joined, {**dict.fromkeys(axes, "u2"), **values}, ranks, bin_size)


def _make_latency_curve(profile: Profile) -> dict[str, Any] | None:
    """Return T(L) up to the latency at which the run takes 10 % longer, and its marks.

    None if it never does.
    """
    analysis = profile.waiting
    whole = np.ones(len(profile.regions), dtype=np.bool_)
    (tolerance,) = analysis.tolerance([whole], (*_LONGER, 0.1)).to_dicts()
    *marks, most = (tolerance[f"most_{index}"] for index in range(len(_LONGER) + 1))
    if not most:
        return None
    curve = analysis.run_time_with(most)
    step = -(-len(curve.begin) // _MOST_CORNERS)
    corners = [
        *zip(curve.begin[::step].tolist(), curve.time[::step].tolist(), strict=True),
        (most, curve.evaluate(most)),
    ]
    return {
        "corners": corners,
        "left_out": len(curve.begin) - (len(corners) - 1),
        "marks": [[longer, mark] for longer, mark in zip(_LONGER, marks, strict=True)],
        "latencies": tolerance["units"],
    }
