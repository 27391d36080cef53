"""The tables `ranks` (region × rank) and `regions` (the same, reduced over ranks)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import polars as pl

from haloscope.profile.store.columns import (
    RANK_COLUMNS,
    RANK_REDUCTIONS,
    REGION_COLUMNS,
    instance_columns,
    replace_empty_text,
)
from haloscope.profile.store.framing import DamageError
from haloscope.profile.store.nested import is_ordered, with_nested
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.tree import Reduction, Scope

# The columns of `REGION_COLUMNS` with numbers.
_NUMBERS = [name for name in REGION_COLUMNS if name not in ("region", "path")]
_OFFNODE = ("sends_offnode", "bytes_offnode")
# Rows that are kept for further tables: they take 3 MB. A summary needs the inclusive ones three times.
_MOST_KEPT = 4096
# Known for a path as a whole: they do not add up over nested regions.
_WHOLE = ("instances", "time", "cpu_time")
_PARTNERS = ("dest_ranks", "src_ranks")


def ranks(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return region × rank with the columns `RANK_COLUMNS`."""
    rows = rank_rows(profile, scope)
    hosts = profile.hosts.find_names(rows["rank"]).alias("host")
    processes = profile.frame("processes", ["rank", "program"]).with_columns(replace_empty_text("program"))
    named = rows.with_columns(hosts).join(processes, on="rank", how="left", maintain_order="left")
    return scope.name_regions(named, ["rank"]).select(RANK_COLUMNS)


def rank_rows(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return `path`, `rank` and every quantity of a rank, one row for each pair that exists.

    Where several threads call MPI, they are sums over these threads, times too.
    """
    if scope.exclusive or profile.source.rows("ranks") > _MOST_KEPT:
        return _make_rank_rows(profile, scope)
    return scope.select_chosen(profile.once(_make_inclusive_rows))


def main_thread_rows(profile: ProfileData, scope: Scope, rows: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the same of each rank's main thread: times that can be compared with those of the run.

    `rows` are those of `rank_rows`, if they are there already.
    """
    if not profile.source.rows("main_thread"):
        return rank_rows(profile, scope) if rows is None else rows
    return _make_rank_rows(profile, scope, profile.frame("main_thread", ["rank"])["rank"].unique())


def shows_main_threads(profile: ProfileData) -> bool:
    """Return whether times of main threads are those of the communication, on all ranks.

    A main thread may wait outside MPI for the threads that communicate. It has fewer messages and collectives
    than half of those of a mean thread then.
    """
    return not profile.source.rows("main_thread") or profile.once(_compare_main_threads)


def _compare_main_threads(profile: ProfileData) -> bool:
    counts = ["sends", "recvs", "colls", "rma_ops", "io_ops"]
    main, whole = (
        profile.frame(table, ["rank", *counts]).group_by("rank").agg(done=pl.sum_horizontal(counts).sum())
        for table in ("main_thread", "ranks")
    )
    of_ranks = main.join(whole, on="rank", suffix="_whole")
    threads = of_ranks.join(profile.frame("processes", ["rank", "threads"]), on="rank")
    usual = pl.col("done_whole") / pl.col("threads")
    return threads.filter(pl.col("done") < usual / 2).is_empty()


def _make_inclusive_rows(profile: ProfileData) -> pl.DataFrame:
    return _make_rank_rows(profile, Scope(profile.regions))


def _make_rank_rows(profile: ProfileData, scope: Scope, main: pl.Series | None = None) -> pl.DataFrame:
    rows = scope.select_needed(_own_rows(profile, scope.exclusive, main))
    rows = _with_offnode(profile, rows)
    if scope.exclusive:
        # A path and rank have one row, so that there is nothing to add up.
        return _derive(scope.select_chosen(_exclusive_time(rows, scope)))
    whole = rows.select("path", "rank", *_WHOLE, *_PARTNERS, *instance_columns())
    offnode: Mapping[str, Reduction] = dict.fromkeys(_OFFNODE, "sum")
    reductions = {**RANK_REDUCTIONS, **offnode}
    if scope.chosen is None:
        nested = with_nested(rows, scope.tree, reductions)
        if nested is not None:
            return _derive(nested)
    sums = scope.reduce(rows, ["rank"], reductions)
    # A left join: a rank is in a region that it entered, even if only a nested one has a row.
    joined = scope.select_chosen(whole).join(sums, on=["path", "rank"], how="left")
    return _derive(joined)


def _own_rows(profile: ProfileData, exclusive: bool, main: pl.Series | None) -> pl.DataFrame:
    """Return the stored rows; of the ranks `main` those of the main thread."""
    suffix = "_exclusive" if exclusive else ""
    varying = [*_PARTNERS, *instance_columns()]
    names = ["path", "rank", *_WHOLE, *RANK_REDUCTIONS]
    stored = [*names, *(name + suffix for name in varying)]
    frame = profile.frame("ranks", stored)
    if main is not None:
        others = frame.filter(~pl.col("rank").is_in(main.implode()))
        frame = pl.concat([others, profile.frame("main_thread", stored)]).sort("path", "rank")
    pairs = frame.select("path", "rank")
    if not is_ordered(*(column.to_numpy() for column in pairs)) and pairs.is_duplicated().any():
        raise DamageError("its table ranks has a region and rank twice")
    return frame.rename({name + suffix: name for name in varying})


def _with_offnode(profile: ProfileData, rows: pl.DataFrame) -> pl.DataFrame:
    if len(profile.hosts.names) <= 1:
        # Partners are by far the longest table, and would not contribute anything.
        known = 0 if profile.hosts.names or not profile.source.rows("processes") else None
        return rows.with_columns(pl.lit(known, pl.Int64).alias(name) for name in _OFFNODE)
    joined = rows.join(profile.once(sum_offnode), on=["path", "rank"], how="left")
    return joined.with_columns(pl.col(_OFFNODE).fill_null(0))


def sum_offnode(profile: ProfileData) -> pl.DataFrame:
    """Return `sends_offnode` and `bytes_offnode` per path and rank that sent to other hosts."""
    partners = profile.frame("partners", ["path", "rank", "partner", "sends", "bytes_sent"])
    same = profile.hosts.compare_nodes(partners["rank"], partners["partner"])
    return (
        partners.filter(~same)
        .group_by("path", "rank")
        .agg(pl.col("sends").sum().alias("sends_offnode"), pl.col("bytes_sent").sum().alias("bytes_offnode"))
    )


def _exclusive_time(whole: pl.DataFrame, scope: Scope) -> pl.DataFrame:
    parents = pl.Series("path", scope.tree.parents)
    inside = (
        whole.select(parents.gather(whole["path"]).alias("path"), "rank", "time", "cpu_time")
        .group_by("path", "rank")
        .agg(
            pl.col("time").sum().alias("inside"),
            pl.col("cpu_time").sum().alias("cpu_inside"),
            pl.col("cpu_time").has_nulls().alias("is_unknown"),
        )
    )
    joined = whole.join(inside, on=["path", "rank"], how="left", maintain_order="left")
    own = pl.col("time") - pl.col("inside").fill_null(0.0)
    cpu = (pl.col("cpu_time") - pl.col("cpu_inside").fill_null(0.0)).clip(0.0, own.clip(0.0))
    known_cpu = pl.when(~pl.col("is_unknown").fill_null(False)).then(cpu)
    return joined.with_columns(own.alias("time"), known_cpu.alias("cpu_time")).drop(
        "inside", "cpu_inside", "is_unknown"
    )


def _derive(rows: pl.DataFrame) -> pl.DataFrame:
    # Not sum_horizontal, which counts an unknown part as 0.
    parts = [pl.col(f"{family}_time") for family in ("p2p", "coll", "rma", "io", "other")]
    parts.append(pl.col("poll_time").fill_null(0.0))  # older files do not have it
    mpi_time = reduce(add, parts)
    seen = pl.col("instances") > 0
    return rows.with_columns(
        pl.when(pl.col("sends") > 0).then(pl.col("bytes_sent") / pl.col("sends")).alias("mean_message"),
        mpi_time.alias("mpi_time"),
        *(pl.when(seen).then(pl.col(name)).alias(name) for name in instance_columns()),
    ).with_columns((pl.col("time") - pl.col("mpi_time")).alias("compute_time"))


def regions(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return the columns `REGION_COLUMNS`, depth first."""
    rows = region_rows(profile, scope)
    path = rows["path"]
    last, full = (
        pl.Series(name, values, dtype=pl.String).gather(path)
        for name, values in (("last_name", scope.tree.names), ("full_name", scope.tree.full_names))
    )
    named = scope.name_regions(rows.with_columns(last, full), []).drop("region")
    return named.rename({"last_name": "region", "full_name": "path"}).select(REGION_COLUMNS)


def region_rows(profile: ProfileData, scope: Scope, rows: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return `path` and the numbers of `REGION_COLUMNS`, for each path that a rank entered.

    `rows` are those of `rank_rows`, if they are there already.
    """
    totals = profile.source.over_ranks(scope.exclusive)
    if totals is not None:
        return scope.select_chosen(_add_missing_columns(totals))
    known = rank_rows(profile, scope) if rows is None else rows
    paths = known["path"]
    grouped = known.with_columns(paths.set_sorted()) if paths.is_sorted() else known
    reduced = grouped.group_by("path").agg(_reductions())
    mean = pl.col("bytes_sent_total") / pl.col("sends_total")
    return reduced.with_columns(pl.when(pl.col("sends_total") > 0).then(mean).alias("mean_message"))


def _add_missing_columns(totals: pl.DataFrame) -> pl.DataFrame:
    """Return totals with all columns of `regions`; unknown ones are null."""
    kinds = {name: pl.Float64 if _is_fraction(name) else pl.Int64 for name in _NUMBERS}
    known = [pl.col(name).cast(kind) for name, kind in kinds.items() if name in totals.columns]
    unknown = [pl.lit(None, kind).alias(name) for name, kind in kinds.items() if name not in totals.columns]
    return totals.select("path", *known, *unknown).select("path", *_NUMBERS)


def _is_fraction(name: str) -> bool:
    return "time" in name or name.endswith("_mean") or name == "mean_message"


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
    reduced = {"min": column.min, "max": column.max, "mean": column.mean}
    if kind == "total":  # a sum over unknown values would be 0
        return pl.when(column.count() > 0).then(column.sum()).alias(name)
    return reduced[kind]().alias(name)
