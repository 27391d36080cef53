"""What the trace of a run tells about waiting, as a page carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from haloscope.explain.reporting.report_packing import bin_ranks, pack_rows, rows_by_region, world
from haloscope.profile import Profile

# Corners of T(L) that a page shows.
_MOST_CORNERS = 1000
_LONGER = (0.01, 0.02, 0.05)


def waiting(profile: Profile, most_rows: int) -> dict[str, Any]:
    """Return who waited for whom, who caused it, the critical path and the tolerance of latency.

    All by region without those inside it. Raises `DamageError`.
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
        "kinds": rows_by_region(tree, kinds),
        "pairs": _by_ranks(profile, pairs.select("path", **columns), ("row", "column"), most_rows),
        "causes": _by_ranks(profile, causes.rename({"rank": "bin"}), ("bin",), most_rows),
        "critical": _by_ranks(profile, path.rename({"rank": "bin"}), ("bin",), most_rows),
        "latency": _latency(profile),
    }


def _by_ranks(profile: Profile, rows: pl.DataFrame, axes: tuple[str, ...], most_rows: int) -> dict[str, Any]:
    """Return sums over bins of ranks: of what is not a mean, all that ranks of a bin did."""
    ranks = max(world(profile, rows[axis]) for axis in axes)
    bin_size, joined = bin_ranks(rows, axes, ranks, most_rows)
    values: Mapping[str, str] = dict.fromkeys(
        (name for name in rows.columns if name not in ("path", *axes)), "f8"
    )
    return pack_rows(profile.regions, joined, {**dict.fromkeys(axes, "u2"), **values}, ranks, bin_size)


def _latency(profile: Profile) -> dict[str, Any] | None:
    """Return T(L) up to where the run takes 10 % longer, and its marks; None if it never does."""
    analysis = profile.waiting
    whole = np.ones(len(profile.regions), dtype=np.bool_)
    (told,) = analysis.tolerance([whole], (*_LONGER, 0.1)).to_dicts()
    *marks, most = (told[f"most_{index}"] for index in range(len(_LONGER) + 1))
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
        "latencies": told["units"],
    }
