"""The table `pop`: POP's efficiencies of each region, from the times of its ranks."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from haloscope.profile import waiting
from haloscope.profile.shown.profile_tables import SHOWN
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.tree import Scope
from haloscope.profile.tables.ranks import main_thread_rows, rank_rows, shows_main_threads

# Columns from a replay of a trace, for the whole run only.
_REPLAYED = ("serialisation", "transfer", "ideal_time")
_OPENMP = ("openmp", "openmp_load_balance", "openmp_scheduling", "openmp_serial")


def pop(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return one row per region; that of `<program>` comes from the trace, if there is one."""
    rows = efficiency_rows(profile, scope, rank_rows(profile, scope))
    return scope.name_regions(rows, []).select(SHOWN["pop"].columns)


def efficiency_rows(
    profile: ProfileData, scope: Scope, of_ranks: pl.DataFrame, *, is_replayed: bool = True
) -> pl.DataFrame:
    """Return the table by path, unsorted, from the rows of `rank_rows`.

    `is_replayed`: a trace is analysed, which takes long for many events. Shares are null if no rank
    computed, no time is known, or other threads than the main thread do the communication.
    """
    computing = pl.col("computing").clip(0)
    with_threads = _with_threads(profile, of_ranks)
    of_main = main_thread_rows(profile, scope, of_ranks)
    rows = (
        (with_threads if of_main is of_ranks else _with_threads(profile, of_main))
        .group_by("path", maintain_order=True)
        .agg(
            pl.col("time").max().alias("run_time"),
            computing.mean().alias("computing_mean"),
            computing.max().alias("computing_max"),
        )
        .with_columns(pl.lit(None, pl.Float64).alias(name) for name in _REPLAYED)
    )
    whole = (
        profile.once(waiting.analyse_waiting).efficiency
        if is_replayed and profile.has_trace and not scope.exclusive
        else None
    )
    if whole is not None:
        replayed = pl.DataFrame([{"path": 0, **asdict(whole)}], schema_overrides={"path": pl.Int64})
        rows = rows.update(replayed.select(rows.columns), on="path")
    mean, most = pl.col("computing_mean"), pl.col("computing_max")
    known = (most > 0) & (pl.col("run_time") > 0) & shows_main_threads(profile)
    shares = {"parallel": mean / pl.col("run_time"), "load_balance": mean / most}
    shares["communication"] = most / pl.col("run_time")
    of_openmp = _openmp_efficiencies(with_threads, scope.exclusive)
    return (
        rows.with_columns(pl.when(known).then(share).alias(name) for name, share in shares.items())
        .join(of_openmp, on="path", how="left", maintain_order="left")
        .with_columns((pl.col("parallel") * pl.col("openmp")).alias("hybrid"))
    )


def _with_threads(profile: ProfileData, of_ranks: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `omp_most`, the most OpenMP threads of the rank anywhere, and `computing`.

    A thread in MPI inside of a parallel region is one of several: it does not keep the others from
    computing. Where several threads call MPI, all may be in MPI there.
    """
    team = (
        profile.frame("ranks", ["rank", "omp_threads"])
        .group_by("rank")
        .agg(omp_most=pl.col("omp_threads").max())
    )
    processes = profile.frame("processes", ["rank", "threads", "duration"])
    rows = of_ranks.join(team, on="rank", how="left", maintain_order="left")
    rows = rows.join(processes, on="rank", how="left", maintain_order="left")
    most = pl.col("omp_most")
    others = pl.col("omp_mpi_time") * (1 - 1 / most)
    is_alone = (pl.col("threads") <= 1) & (most > 1)
    inside = pl.when(is_alone).then(others).otherwise(0.0)
    return rows.with_columns((pl.col("compute_time") + inside).alias("computing"))


def _openmp_efficiencies(rows: pl.DataFrame, is_exclusive: bool) -> pl.DataFrame:
    """Return `path` and the efficiencies of OpenMP of regions with parallel regions, in a run with teams.

    A region without them is serial, or inside of one. The two are not distinguished.

    With the formulas of TALP, of the time outside of MPI: useful time over that of all threads. Between
    parallel regions, and in smaller teams, threads idle. The rest is lost to imbalance and to scheduling.
    """
    most, alone = pl.col("omp_most").fill_null(1).clip(1), pl.col("threads") <= 1
    # Of several threads that call MPI, `time` is the sum, and only that of the whole run is known.
    is_whole = pl.lit(not is_exclusive) & (pl.col("path") == 0)
    time = pl.when(alone).then("time").when(is_whole).then("duration")
    outside_mpi = (pl.col("mpi_time") - pl.col("omp_mpi_time")).clip(0)
    serial = (time - pl.col("omp_parallel_time") - outside_mpi).clip(0)
    available = most * (serial + pl.col("omp_parallel_time")) - pl.col("omp_mpi_time")
    unused = (most * pl.col("omp_parallel_time") - pl.col("omp_team_time")).clip(0)
    sums = (
        rows.filter(
            (pl.col("omp_most").max() > 1).over("path") & (pl.col("omp_regions").sum() > 0).over("path")
        )
        .group_by("path")
        .agg(
            useful=(serial + pl.col("omp_thread_time")).sum(),
            idle=((most - 1) * serial + unused).sum(),
            imbalance=pl.col("omp_imbalance_time").sum(),
            available=available.sum(),
            is_known=(serial.is_not_null() & pl.col("omp_thread_time").is_not_null()).all(),
        )
    )
    useful, idle, imbalance = pl.col("useful"), pl.col("idle"), pl.col("imbalance")
    used = useful + idle + imbalance
    available = pl.max_horizontal("available", used)
    shares = (useful / available, (useful + idle) / used, used / available, useful / (useful + idle))
    known = pl.col("is_known") & (useful > 0)
    return sums.select(
        "path", *(pl.when(known).then(share).alias(name) for name, share in zip(_OPENMP, shares, strict=True))
    )
