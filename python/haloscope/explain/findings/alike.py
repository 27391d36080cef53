"""By how much ranks that have the same work differ all the same, so that it is no finding."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Floats
from haloscope.explain.findings.ground import Ground

_LEAST_SLICES = 5
# Batches of slices: ranks that are slow for a while are slow in slices that follow each other.
_MOST_BATCHES = 8
_LEVEL = 0.05
# In short runs one detour of the system counts (s), where ranks share CPUs such a share of the run.
_DETOUR, _CROWDED = 0.02, 0.04
# Of the computing: what one process takes longer than the mean of others with the same work, all through a
# run. Where its memory lies and who else uses the caches is another thing in each run.
_SAME_WORK = 0.15
# Enough ranks say themselves how much they differ: so many of their spreads, within these shares.
_MANY_RANKS, _SPREADS, _LEAST, _MOST = 8, 4.0, 0.03, 0.2
_MAD = 1.4826  # of a normal distribution: its deviation over the median of absolute ones


def doubt(ground: Ground, computing: Floats, ranks: int = 1) -> float:
    """Return by how much (s) ranks may seem to compute longer than others, though they have no more work.

    `computing` has the seconds of each rank in the regions that are looked at. `ranks` is how many compute
    longer together: what each of them has by chance they have not all.
    """
    is_short = ground.profile.table("slices")["slice"].n_unique() < _LEAST_SLICES
    # The longest of many, one of which each rank may have.
    detour = _DETOUR * max(1.0, math.log(len(computing))) if is_short else 0.0
    crowded = _CROWDED * ground.run_time if ground.is_crowded else 0.0
    chance = _share(computing) * float(computing.mean()) / math.sqrt(ranks)
    return max(crowded, math.hypot(detour, chance))


def _share(computing: Floats) -> float:
    """Return the part of their computing by which one of these ranks may differ from the others by chance."""
    if len(computing) < _MANY_RANKS:
        return _SAME_WORK
    middle = float(np.median(computing))
    spread = _MAD * float(np.median(np.abs(computing - middle))) / max(middle, 1e-300)
    return float(np.clip(_SPREADS * spread, _LEAST, _MOST))


def find_repeated_excess(ground: Ground, rows: Flags, regions: Flags) -> float | None:
    """Return how much longer (s) than a mean rank these ranks compute for certain, by repetitions of the run.

    It is the low end of a 95 % interval over these runs: what a process is slow by for its life is drawn anew
    in each, more work is not. None where there are fewer than two.
    """
    count = len(ground.again)
    if count < 2:
        return None
    times = [computing[:, regions].sum(axis=1) for computing in ground.again]
    excess = np.array([float(one[rows].mean() - one.mean()) for one in times])
    half = student(count - 1, _LEVEL) * float(np.std(excess, ddof=1)) / math.sqrt(count)
    return float(excess.mean()) - half


def unsteadiness(ground: Ground, place: int) -> float:
    """Return the relative half interval (95 %) of a rank's excess over the run; 0 if slices are too few.

    1 or more: it computes longer for a while only, and nobody knows whether it would do so again.
    """
    rows = ground.profile.table("slices")
    busy = pl.sum_horizontal("p2p_time", "coll_time", "rma_time", "io_time")
    times = rows.with_columns((pl.col("duration") - busy).alias("computing")).with_columns(
        pl.col("computing").mean().over("slice").alias("mean")
    )
    mine = times.filter(pl.col("rank") == ground.ranks[place]).sort("slice")
    excess = (mine["computing"] - mine["mean"]).drop_nulls().to_numpy()
    if len(excess) < _LEAST_SLICES or excess.mean() <= 0:
        return 0.0
    batches = [float(part.mean()) for part in np.array_split(excess, min(_MOST_BATCHES, len(excess)))]
    error = float(np.std(batches, ddof=1)) / math.sqrt(len(batches))
    half = student(len(batches) - 1, _LEVEL) * error
    return half / float(excess.mean())


def student(freedom: int, level: float) -> float:
    """Return beyond which Student's t lies with this probability, on either side; `freedom`: a whole number.

    By the sum that its distribution is then: every run is looked at so, and SciPy is an extra.
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
