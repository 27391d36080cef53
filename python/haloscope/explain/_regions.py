"""The table `regions`: one row a region, reduced over the ranks that entered it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from haloscope.explain._ranks import instance_columns, rank_rows

if TYPE_CHECKING:
    from haloscope.explain._profile import Profile
    from haloscope.explain._scope import Scope

__all__ = ["REGION_COLUMNS", "region_rows", "regions"]

REGION_COLUMNS = [
    "region",
    "path",
    "ranks",
    "instances",
    "sends_min",
    "sends_max",
    "sends_total",
    "recvs_min",
    "recvs_max",
    "recvs_total",
    "dest_ranks_min",
    "dest_ranks_mean",
    "dest_ranks_max",
    "src_ranks_min",
    "src_ranks_mean",
    "src_ranks_max",
    "bytes_sent_min",
    "bytes_sent_max",
    "bytes_sent_total",
    "bytes_recv_min",
    "bytes_recv_max",
    "bytes_recv_total",
    "largest_message",
    "mean_message",
    "sends_offnode_total",
    "bytes_offnode_total",
    "colls_max",
    "colls_total",
    "coll_bytes_total",
    "rma_ops_total",
    "rma_bytes_total",
    "time_mean",
    "time_min",
    "time_max",
    "p2p_time_mean",
    "coll_time_mean",
    "rma_time_mean",
    "io_ops_total",
    "io_bytes_total",
    "io_time_mean",
    "mpi_time_mean",
    "wait_time_mean",
    "compute_time_mean",
    "skew_time_mean",
    *instance_columns(),
]


def regions(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return the columns `REGION_COLUMNS`, depth first."""
    rows = region_rows(profile, scope)
    path = rows["path"]
    last, full = (
        pl.Series(name, values, dtype=pl.String).gather(path)
        for name, values in (("last_name", scope.tree.names), ("full_name", scope.tree.full_names))
    )
    named = scope.named(rows.with_columns(last, full), []).drop("region")
    return named.rename({"last_name": "region", "full_name": "path"}).select(REGION_COLUMNS)


def region_rows(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return `path` and the numbers of `REGION_COLUMNS`, for each path that a rank entered."""
    reduced = rank_rows(profile, scope).group_by("path").agg(_reductions())
    mean = pl.col("bytes_sent_total") / pl.col("sends_total")
    return reduced.with_columns(pl.when(pl.col("sends_total") > 0).then(mean).alias("mean_message"))


def _reductions() -> list[pl.Expr]:
    return [
        pl.len().cast(pl.Int64).alias("ranks"),
        pl.col("instances").max(),
        pl.col("largest_message").max(),
        *(_reduction(name) for name in REGION_COLUMNS if _is_reduced(name)),
    ]


def _is_reduced(name: str) -> bool:
    quantity, _, kind = name.rpartition("_")
    return kind in ("min", "max", "mean", "total") and quantity != "mean"


def _reduction(name: str) -> pl.Expr:
    if name in instance_columns():
        return pl.col(name).min() if name.endswith("_min") else pl.col(name).max()
    quantity, _, kind = name.rpartition("_")
    column = pl.col(quantity)
    reduced = {"min": column.min, "max": column.max, "mean": column.mean, "total": column.sum}
    return reduced[kind]().alias(name)
