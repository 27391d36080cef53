"""What the times of any profile say of one another: MPI and computing are parts of the time."""

from __future__ import annotations

import polars as pl

from haloscope.explain import Profile

KINDS = ("p2p", "coll", "rma", "io", "other")


def read_ranks(profile: Profile, table: str = "ranks") -> pl.DataFrame:
    """Return the file's table `ranks`, or that of main threads, with the time of polls."""
    polls = profile.frame(table, ["path", "rank", "poll_time"]).with_columns(
        pl.col("poll_time").fill_null(0.0)
    )
    return profile.frame(table).join(polls, on=["path", "rank"], how="left", maintain_order="left")


def mpi_time() -> pl.Expr:
    """Return the time in MPI of a row of `read_ranks`."""
    return pl.sum_horizontal(*(f"{kind}_time" for kind in KINDS), "poll_time")


def check_times(profile: Profile) -> None:
    """Asserts that MPI time is at least 0 and at most the time, per rank, region, slice and function.

    The same holds for the CPU time of each rank and region.
    """
    own = _own_times(profile)
    _hold(own, **{f"{kind}_time": pl.col(f"{kind}_time") >= 0 for kind in (*KINDS, "poll")})
    _hold(own, regions=pl.col("own") >= -1e-9, computing=_fits(mpi_time(), pl.col("own")))
    if "cpu_time" in own.columns:
        used = pl.col("cpu_time").fill_null(0)
        _hold(own, cpu_time=(used >= 0) & _fits(used, pl.col("time")))
    per_path = own.group_by("path").agg(pl.col("own").sum())
    per_call = profile.frame("calls").group_by("path", "call").agg(pl.col("time_total").sum())
    both = per_call.join(per_path, on="path", how="left")
    _hold(both, functions=(pl.col("time_total") >= 0) & _fits(pl.col("time_total"), pl.col("own")))
    threads = profile.frame("processes").select("rank", "threads")
    _check_main_threads(profile)
    slices = profile.frame("slices").join(threads, on="rank")
    times = [f"{kind}_time" for kind in KINDS if f"{kind}_time" in slices.columns]
    length = pl.col("duration") * pl.col("threads")
    _hold(slices, slices=_fits(pl.sum_horizontal(times), length))


def _check_main_threads(profile: Profile) -> None:
    """Asserts that a main thread has a part of each sum over threads, and its MPI time fits into its time."""
    threads = profile.frame("processes").select("rank", "threads", "duration")
    main = read_ranks(profile, "main_thread").join(threads, on="rank")
    names = (
        "instances",
        "time",
        "sends",
        "recvs",
        "colls",
        "wait_time",
        *(f"{kind}_time" for kind in KINDS),
        "poll_time",
    )
    both = main.join(read_ranks(profile), on=["path", "rank"], how="left", suffix="_whole")
    rules = {f"main {name}": _fits(pl.col(name), pl.col(f"{name}_whole")) for name in names}
    _hold(both, **rules, several=pl.col("threads") > 1, run=_fits(pl.col("time"), pl.col("duration")))
    whole = main.group_by("rank").agg(mpi_time().sum().alias("mpi"), pl.col("time").max())
    _hold(whole, main_computing=_fits(pl.col("mpi"), pl.col("time")))


def _own_times(profile: Profile) -> pl.DataFrame:
    """The time of each rank in each region, without that of nested regions: `own`."""
    ranks = read_ranks(profile).join(profile.frame("paths").select("path", "parent"), on="path")
    nested = ranks.group_by("parent", "rank").agg(pl.col("time").sum().alias("nested"))
    joined = ranks.join(nested, left_on=["path", "rank"], right_on=["parent", "rank"], how="left")
    return joined.with_columns((pl.col("time") - pl.col("nested").fill_null(0)).alias("own"))


def _fits(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return part <= whole * (1 + 1e-7) + 1e-9


def _hold(frame: pl.DataFrame, **rules: pl.Expr) -> None:
    for name, rule in rules.items():
        broken = frame.filter(~rule.fill_null(value=False))
        columns = ["path", "rank", "slice", "own", *rule.meta.root_names()]
        shown = [column for column in dict.fromkeys(columns) if column in broken.columns]
        assert broken.is_empty(), f"{name}: {broken.select(shown).head(5).to_dicts()}"
