"""The table `pop`: POP's efficiencies of each region, from the times of its ranks."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from haloscope.profile import waiting
from haloscope.profile.shown.profile_tables import SHOWN
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.tree import Scope
from haloscope.profile.tables.ranks import rank_rows

# Columns from a replay of a trace, for the whole run only.
_REPLAYED = ("serialisation", "transfer", "ideal_time")


def pop(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return one row per region; that of `<program>` comes from the trace, if there is one."""
    rows = efficiency_rows(profile, scope, rank_rows(profile, scope))
    return scope.name_regions(rows, []).select(SHOWN["pop"].columns)


def efficiency_rows(profile: ProfileData, scope: Scope, of_ranks: pl.DataFrame) -> pl.DataFrame:
    """Return the table by path, unsorted, from the rows of `rank_rows`.

    Shares are null if no rank computed, or no time is known.
    """
    computing = pl.col("compute_time").clip(0)
    rows = (
        of_ranks.group_by("path", maintain_order=True)
        .agg(
            pl.col("time").max().alias("run_time"),
            computing.mean().alias("computing_mean"),
            computing.max().alias("computing_max"),
        )
        .with_columns(pl.lit(None, pl.Float64).alias(name) for name in _REPLAYED)
    )
    whole = (
        profile.once(waiting.analyse_waiting).efficiency
        if profile.has_trace and not scope.exclusive
        else None
    )
    if whole is not None:
        replayed = pl.DataFrame([{"path": 0, **asdict(whole)}], schema_overrides={"path": pl.Int64})
        rows = rows.update(replayed.select(rows.columns), on="path")
    mean, most = pl.col("computing_mean"), pl.col("computing_max")
    known = (most > 0) & (pl.col("run_time") > 0)
    shares = {"parallel": mean / pl.col("run_time"), "load_balance": mean / most}
    shares["communication"] = most / pl.col("run_time")
    return rows.with_columns(pl.when(known).then(share).alias(name) for name, share in shares.items())
