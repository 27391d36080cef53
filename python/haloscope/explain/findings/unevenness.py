"""Rules about uneven computing: ranks that share a CPU, a slow host or rank, and uneven work."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Floats
from haloscope.base.errors import printable
from haloscope.base.units import noun_text, percent_text, ranks_text, time_text
from haloscope.explain.findings.alike import estimate_doubt, estimate_unsteadiness, find_repeated_excess
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground
from haloscope.explain.findings.run_times import FAMILIES, place_text
from haloscope.profile.tables import numbers_of

# Smallest excess of a region that counts, as a share of the run.
_LEAST_EXCESS = 0.01
# Smallest slowdown of a slow host or rank, in each region with at least this share of the computing.
_LEAST_SLOWDOWN, _LEAST_REGION = 1.08, 0.05
_NO_TIME = 1e-12  # s: a rank that computes for less in a region does not work there
# Largest relative difference of the slowdowns of one host or rank, and between its ranks.
_ALIKE = 0.08
# Ranks that alternate on CPUs use these, or wait for them, for at least this share of the CPUs' time, and use
# them for at most this share.
_BUSY = (0.7, 1.1)
# Blame imbalance only if at least this share of the predicted waiting was observed.
_SEEN = 0.7


def find_shared_cpus(ground: Ground) -> list[Finding]:
    """Find ranks of a host that are bound to fewer CPUs than ranks."""
    rows = ground.profile.table("binding").drop_nulls("cpus")
    groups = rows.group_by("host", "cpus").agg(pl.col("rank").sort()).filter(pl.col("rank").list.len() > 1)
    found = []
    for host, cpus, ranks in groups.sort("host", "cpus").iter_rows():
        numbers = numbers_of(cpus) or []
        on_host = rows.filter(pl.col("host") == host)["cpus"].unique().to_list()
        known = {cpu for text in on_host for cpu in numbers_of(text) or []}
        is_bound = len(numbers) == 1 or len(numbers) < len(known)
        if not numbers or len(ranks) <= len(numbers) or not is_bound:
            continue
        if not _use_cpus(ground, rows.filter(pl.col("rank").is_in(ranks)), len(numbers)):
            continue
        slowed = float(ground.computing[np.isin(ground.ranks, ranks)].sum(axis=1).mean())
        # If all ranks share CPUs, they also wait in MPI while others compute.
        waited = sum(float(part.sum()) for part in ground.left.values()) if len(ranks) == len(rows) else 0.0
        spared = 1 - len(numbers) / len(ranks)
        gain = (slowed + waited) * spared
        finding = ground.make_finding(
            "shared_cpu",
            f"{ranks_text(ranks)} on {printable(host)} are bound to {'CPU' if len(numbers) == 1 else 'CPUs'}"
            f" {cpus} and alternate there while they compute for {time_text(slowed)}"
            + f" and wait for {time_text(waited)}"
            * (waited > 0),
            "bind each rank to its own CPU (mpiexec --bind-to core, srun --cpu-bind=cores)",
            gains=(0.5 * gain, gain, max(ground.run_time * spared, spared * slowed + waited)),
            ranks=ranks,
            evidence=[Evidence("binding", {"rank": ranks}, {"cpus": len(numbers), "ranks": len(ranks)})],
        )
        found += finding
    if found:
        # A rank that waits for a CPU appears to compute or to be late, so neither can be judged.
        ground.give_up_waiting()
    return found


def _use_cpus(ground: Ground, rows: pl.DataFrame, cpus: int) -> bool:
    """Return whether ranks would keep their CPUs busy, as far as known: ranks that sleep do not alternate.

    Ranks with more CPU time than their CPUs have run threads elsewhere. Other programs may have the CPUs too.
    """
    if rows["cpu_time"].null_count():
        return True
    used = float(rows["cpu_time"].sum())
    slices = ground.profile.table("slices").filter(pl.col("rank").is_in(rows["rank"].implode()))
    waited = float(slices["core_wait_time"].fill_null(0).sum())
    least, most = (share * cpus * ground.run_time for share in _BUSY)
    return least <= used + waited and used <= most


def find_slow_places(ground: Ground) -> list[Finding]:
    """Find one host, or one rank, that computes longer by the same factor in every region."""
    slow = _find_slowest(ground)
    if slow is None:
        return []
    ranks = [rank for rank, is_in in zip(ground.ranks, slow.rows, strict=True) if is_in]
    totals = ground.computing.sum(axis=1)
    others = float(np.median(totals[~slow.rows]))
    as_work = float(totals.max() - totals.mean())
    gain = min(float(totals[slow.rows].max()) - others, float(sum_waits(ground)[~slow.rows].mean()))
    sure = find_repeated_excess(ground, slow.rows, np.ones(len(ground.regions), dtype=np.bool_))
    low = min(as_work, gain)
    low = low - estimate_doubt(ground, totals, len(ranks)) if sure is None else min(low, sure)
    name = f"host {printable(slow.host)} ({ranks_text(ranks)})" if slow.host else ranks_text(ranks)
    many = len(slow.regions)
    where = f"all {many} regions that compute" if many > 1 else place_text(slow.regions[0][0])
    evidence = [
        Evidence(
            "ranks", {"rank": ranks, "region": region}, {"compute_time": mine, "compute_time_others": theirs}
        )
        for region, mine, theirs in slow.regions[:4]
    ]
    finding = ground.make_finding(
        "slow_place",
        f"{name} computes {slow.factor:.2f} times as long as the others in {where}; the others wait. Either"
        f" the {'host' if slow.host else 'core'} is slow, or it has more work in all of them",
        "find the cause (haloscope bench noise, other programs, clock speed), do not use it, or give it less"
        " work",
        gains=(low, gain, max(gain, float(totals.max() - totals.min()))),
        ranks=ranks,
        evidence=evidence,
    )
    if finding:
        subtract_waits(ground, totals.max() - totals)
        for computing in (ground.computing, *ground.again):
            computing[slow.rows] /= slow.factor
    return finding


def find_imbalance(ground: Ground) -> list[Finding]:
    """Find regions in which some ranks compute longer than the others, which wait for them."""
    computing, found = ground.computing, []
    if len(computing) < 2:
        return []
    excess = computing.max(axis=0) - computing.mean(axis=0)
    counts = excess >= _LEAST_EXCESS * ground.run_time
    if not counts.any():
        return []
    scale = _waited_share(ground, excess, counts)
    slowest = np.argmax(computing, axis=0)
    for row in dict.fromkeys(slowest[counts].tolist()):
        mine = counts & (slowest == row)
        gain = float(scale * excess[mine].sum())
        most = max(float((computing.max(axis=0) - computing.min(axis=0))[mine].sum()) * scale, gain)
        sure = find_repeated_excess(ground, np.arange(len(computing)) == row, mine)
        if sure is None:
            chance = estimate_doubt(ground, computing[:, mine].sum(axis=1))
            low = gain - max(0.2 * gain, math.hypot(estimate_unsteadiness(ground, row) * gain, chance))
        else:
            low = min(0.8 * gain, scale * sure)
        found += _make_imbalance_finding(ground, row, mine, (low, gain, most))
    if found:
        subtract_waits(ground, _predict_waits(ground, counts, scale))
    return found


def _make_imbalance_finding(
    ground: Ground, row: int, mine: Flags, gains: tuple[float, float, float]
) -> list[Finding]:
    """Return the finding about the regions in which one rank computes longest; `row` is its row."""
    computing = ground.computing
    excess = (computing.max(axis=0) - computing.mean(axis=0)) * mine
    worst = int(np.argmax(excess))
    region = ground.regions[worst]
    times = computing[:, mine].sum(axis=1)
    mean, most = float(times.mean()), float(times[row])
    ranks = [rank for rank, time in zip(ground.ranks, times, strict=True) if time > (mean + most) / 2]
    many = int(mine.sum())
    where = place_text(region) + (f" and {noun_text(many - 1, 'more region')}" if many > 1 else "")
    waits = float(np.delete(ground.waiting.sum(axis=1), row).mean())
    function = ground.find_waiting_function(np.array(ground.ranks) != ground.ranks[row])
    again = len(ground.again)
    agree = f"; {again} repeated runs agree" if again > 1 else ""
    verb = "computes" if len(ranks) == 1 else "compute up to"
    return ground.make_finding(
        "imbalance",
        f"{ranks_text(ranks)} {verb} {percent_text(most - mean, mean)} longer than the mean of all ranks in"
        f" {where} ({time_text(most)}, mean {time_text(mean)}); the others wait"
        f"{f', mostly in {function}' if function else ''}{agree}",
        f"distribute the work of {place_text(region)} evenly; if it is even, the core is slow: check it with"
        " haloscope bench noise",
        gains=gains,
        region=region,
        ranks=ranks,
        evidence=[
            Evidence(
                "ranks",
                {"region": region, "rank": ranks},
                {"compute_time": most, "compute_time_mean": mean, "wait_time_others": waits},
            )
        ],
    )


def _waited_share(ground: Ground, excess: Floats, counts: Flags) -> float:
    """Return the share of the regions' excesses for which other ranks wait.

    It is 1 if ranks wait for each other between regions. Otherwise the excess of one rank in one region
    compensates that of a different rank in the next. The observed waiting decides between the two.
    """
    computing = ground.computing
    totals = computing.sum(axis=1)
    together = float(excess[counts].sum())
    apart = float(totals.max() - totals.mean())
    awaited = (computing.max(axis=0) - computing)[:, counts].sum(axis=1)
    waited = sum_waits(ground)
    waits = awaited > _LEAST_EXCESS * ground.run_time
    seen = float((waited[waits] / awaited[waits]).min(initial=1.0))
    explained = together * min(seen, 1.0) if seen >= _SEEN else apart
    return min(max(explained, min(apart, together)), float(waited.mean())) / together


def sum_waits(ground: Ground) -> Floats:
    """Return the waiting time per rank (s), including that in MPI_Finalize."""
    waits: Floats = ground.waiting.sum(axis=1) + ground.waits_at_end
    return waits


def _predict_waits(ground: Ground, counts: Flags, scale: float) -> Floats:
    computing = ground.computing
    awaited: Floats = scale * (computing.max(axis=0) - computing)[:, counts].sum(axis=1)
    return awaited


def subtract_waits(ground: Ground, awaited: Floats) -> None:
    """Subtract waiting for slower ranks (s, per rank) from the unexplained time."""
    more = {family: ground.mpi[family] - ground.mpi[family].min(axis=0) for family in FAMILIES}
    whole = sum((matrix.sum(axis=1) for matrix in more.values()), np.zeros(len(ground.ranks)))
    shares = np.minimum(1.0, awaited / np.maximum(whole, 1e-12))
    rest = float(awaited.mean())
    for family, matrix in more.items():
        explained = np.minimum((matrix * shares[:, None]).mean(axis=0), ground.left[family])
        ground.uneven[family] += explained
        ground.left[family] -= explained
        rest -= float(explained.sum())
    # The rest is waiting that is equal on all ranks, as if they wait alternately.
    for family in FAMILIES:
        rest -= ground.take_anywhere(family, rest)


@dataclass(frozen=True)
class _Slow:
    """A slow host or rank: rows of its ranks in the matrices, name if it is a host, slowdown, evidence."""

    rows: Flags
    host: str | None
    factor: float
    regions: list[tuple[str, float, float]]


def _list_candidates(ground: Ground) -> Iterator[tuple[Flags, str | None]]:
    hosts = np.array([host or "" for host in ground.hosts])
    names = sorted(set(hosts.tolist()))
    if len(names) > 1:
        for name in names:
            yield hosts == name, name
    slowest = int(np.argmax(ground.computing.sum(axis=1)))
    yield np.arange(len(ground.ranks)) == slowest, None


def _find_slowest(ground: Ground) -> _Slow | None:
    found = [slow for rows, host in _list_candidates(ground) if (slow := _rate_slowness(ground, rows, host))]
    return max(found, key=lambda slow: (slow.factor, slow.host is not None), default=None)


def _rate_slowness(ground: Ground, rows: Flags, host: str | None) -> _Slow | None:
    """Return the slowdown of a host or rank; None if it is not slow, or not equally slow in all regions."""
    computing = ground.computing
    if rows.all() or not computing.any():
        return None
    relevant = np.flatnonzero(computing.mean(axis=0) >= _LEAST_REGION * computing.sum(axis=1).mean())
    # For one rank in one region the work cannot be excluded as the cause.
    if not len(relevant) or (len(relevant) < 2 and (host is None or rows.sum() < 2)):
        return None
    mine, theirs = computing[rows][:, relevant], computing[~rows][:, relevant]
    if min(mine.mean(axis=0).min(), theirs.mean(axis=0).min()) < _NO_TIME:
        return None
    factors = mine.mean(axis=0) / theirs.mean(axis=0)
    whole = float(mine.sum() / len(mine) / (theirs.sum() / len(theirs)))
    spread = max(float(np.ptp(part.sum(axis=1)) / part.sum(axis=1).mean()) for part in (mine, theirs))
    is_alike = float(np.abs(factors / whole - 1).max()) <= _ALIKE and spread <= 2 * _ALIKE
    if whole < _LEAST_SLOWDOWN or spread >= whole - 1 or not is_alike:
        return None
    regions = [
        (ground.regions[column], float(mine[:, i].mean()), float(theirs[:, i].mean()))
        for i, column in enumerate(relevant.tolist())
    ]
    return _Slow(rows, host, whole, regions)
