"""Differences between ranks that have the same work: how large they may be by chance."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Floats
from haloscope.explain.findings.ground import LEAST_GAIN, Ground

_LEAST_SLICES = 5
# Batches of slices: ranks that are slow for a while are slow in slices that follow each other.
_MOST_BATCHES = 8
_LEVEL = 0.05
# One detour of the system in a short run (s), and the share of the run that ranks lose by sharing CPUs.
_DETOUR, _CROWDED = 0.02, 0.04
# A run (s) in which one detour is the smallest gain that is reported: less cannot be judged.
SHORTEST = _DETOUR / LEAST_GAIN
# Share of the computing by which one process may exceed the mean of others with the same work for a whole
# run. The cause (location of its memory, other users of the caches) changes from run to run.
_SAME_WORK = 0.15
# From this number of ranks on, the limit is this number of robust spreads, within these two shares.
_MANY_RANKS, _SPREADS, _LEAST, _MOST = 8, 4.0, 0.03, 0.2
_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


def estimate_doubt(ground: Ground, computing: Floats, ranks: int = 1) -> float:
    """Return the time (s) by which ranks may compute longer than others by chance, with the same work.

    Args:
        ground: The run.
        computing: Computing time (s) per rank in the regions of interest.
        ranks: Number of ranks that compute longer together. Independent chance averages out over them.
    """
    detour = estimate_detour(ground)
    crowded = _CROWDED * ground.run_time if ground.is_crowded else 0.0
    chance = _share(computing) * float(computing.mean()) / math.sqrt(ranks)
    return max(crowded, math.hypot(detour, chance))


def estimate_detour(ground: Ground) -> float:
    """Return the time (s) for which the system may interrupt the rank with the most interruptions.

    0 for longer runs, in which interruptions average out.
    """
    is_short = ground.profile.table("slices")["slice"].n_unique() < _LEAST_SLICES
    # Each rank may have one detour; the maximum over ranks grows with the logarithm.
    return _DETOUR * max(1.0, math.log(len(ground.ranks))) if is_short else 0.0


def _share(computing: Floats) -> float:
    """Return the share of the computing by which one rank may differ from the others by chance."""
    if len(computing) < _MANY_RANKS:
        return _SAME_WORK
    middle = float(np.median(computing))
    spread = _MAD * float(np.median(np.abs(computing - middle))) / max(middle, 1e-300)
    return float(np.clip(_SPREADS * spread, _LEAST, _MOST))


def find_repeated_excess(ground: Ground, rows: Flags, regions: Flags) -> float | None:
    """Return the lower bound (s) of how much longer than the mean these ranks compute in repeated runs.

    It is the low end of a 95 % interval over the repetitions. Chance differences of processes change from run
    to run, additional work does not. None with fewer than two repetitions.
    """
    count = len(ground.again)
    if count < 2:
        return None
    times = [computing[:, regions].sum(axis=1) for computing in ground.again]
    excess = np.array([float(run[rows].mean() - run.mean()) for run in times])
    half = student_quantile(count - 1, _LEVEL) * float(np.std(excess, ddof=1)) / math.sqrt(count)
    return float(excess.mean()) - half


def estimate_unsteadiness(ground: Ground, row: int) -> float:
    """Return the relative half interval (95 %) of a rank's excess over the run; 0 if slices are too few.

    1 or more: the rank computes longer only for a part of the run, which may not happen again.
    """
    rows = ground.profile.table("slices")
    busy = pl.sum_horizontal("p2p_time", "coll_time", "rma_time", "io_time", "poll_time")
    present = pl.col("duration") - pl.max_horizontal(busy, pl.col("off_cpu_time").fill_null(0))
    times = rows.with_columns(present.alias("computing")).with_columns(
        pl.col("computing").mean().over("slice").alias("mean")
    )
    mine = times.filter(pl.col("rank") == ground.ranks[row]).sort("slice")
    excess = (mine["computing"] - mine["mean"]).drop_nulls().to_numpy()
    if len(excess) < _LEAST_SLICES or excess.mean() <= 0:
        return 0.0
    batches = [float(part.mean()) for part in np.array_split(excess, min(_MOST_BATCHES, len(excess)))]
    error = float(np.std(batches, ddof=1)) / math.sqrt(len(batches))
    half = student_quantile(len(batches) - 1, _LEVEL) * error
    return half / float(excess.mean())


def student_quantile(freedom: int, level: float) -> float:
    """Return the two-sided quantile of Student's t at this level, for a whole number `freedom`.

    It uses the closed sum for whole degrees of freedom, because SciPy is an optional dependency.
    """

    def outside(angle: float) -> float:
        sine, cosine = math.sin(angle), math.cos(angle)
        term = cosine if freedom % 2 else 1.0
        total = 0.0
        for step in range(freedom % 2 + 1, freedom, 2):
            total += term
            term *= cosine * cosine * step / (step + 1)
        return 1 - (2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total)

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if outside(middle) > level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)
