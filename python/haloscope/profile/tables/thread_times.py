"""Times of ranks in which several threads call MPI: those in tables are sums over these threads."""

from __future__ import annotations

import polars as pl

from haloscope.profile.store.profile_data import ProfileData

# Largest ratio between ranks of their mean number of threads, for a comparison by times.
_ALIKE = 1.1


def mean_threads(profile: ProfileData) -> pl.DataFrame:
    """Return `rank` and `in_mpi`: the number of its threads that call MPI, averaged over its duration.

    A time of a rank divided by this is that of its mean thread, which is no longer than the run.
    """
    return profile.once(_count_threads)


def has_comparable_ranks(profile: ProfileData) -> bool:
    """Return whether all ranks have about the same number of threads that call MPI.

    Otherwise ranks cannot be compared by times: a thread that waits may be the helper of one that computes.
    """
    number = mean_threads(profile)["in_mpi"].to_numpy()
    return not len(number) or bool(number.max() <= _ALIKE * number.min())


def _count_threads(profile: ProfileData) -> pl.DataFrame:
    processes = profile.frame("processes", ["rank", "threads", "duration"])
    is_several = (pl.col("threads") > 1) & (pl.col("duration") > 0)
    if processes.filter(is_several).is_empty():
        return processes.select("rank", pl.lit(1.0).alias("in_mpi"))
    whole = profile.frame("ranks", ["path", "rank", "time"]).filter(pl.col("path") == 0).drop("path")
    number = pl.when(is_several).then((pl.col("time") / pl.col("duration")).clip(1.0))
    joined = processes.join(whole, on="rank", how="left")
    return joined.select("rank", number.fill_null(1.0).alias("in_mpi"))
