"""Uneven computing: ranks that share a CPU, a place that is slow, or work that is not shared out evenly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Floats
from haloscope.base.errors import printable
from haloscope.base.units import percent_text, ranks_text, time_text
from haloscope.explain.findings.alike import doubt, find_repeated_excess, unsteadiness
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import FAMILIES, Ground, place_text
from haloscope.profile.tables import numbers_of

# Of the run: what a region's excess must be for it to count.
_LEAST_EXCESS = 0.01
# A place is slow if it is slower by so much, in each region that has such a share of the computing.
_LEAST_SLOWDOWN, _LEAST_REGION = 1.08, 0.05
_NO_TIME = 1e-12  # s: who computes for less in a region does nothing there
# Slowdowns of one place, and ranks of one kind, differ by so much at most (of 1).
_ALIKE = 0.08
# Waiting is for those who compute longer if at least so much of what would be waited for them is there.
_SEEN = 0.7


def shared_cpu(ground: Ground) -> list[Finding]:
    """Ranks of a host that are bound to fewer CPUs than they are."""
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
        slowed = float(ground.computing[np.isin(ground.ranks, ranks)].sum(axis=1).mean())
        # Ranks that all share CPUs also wait in MPI until it is the turn of the others.
        waited = sum(float(part.sum()) for part in ground.left.values()) if len(ranks) == len(rows) else 0.0
        spared = 1 - len(numbers) / len(ranks)
        gain = (slowed + waited) * spared
        finding = ground.finding(
            "shared_cpu",
            f"{ranks_text(ranks)} on {printable(host)} are bound to CPU{'s' * (len(numbers) > 1)} {cpus}:"
            f" they take turns on it, while they compute for {time_text(slowed)}"
            + f" and wait for {time_text(waited)}"
            * (waited > 0),
            "bind each rank to a CPU of its own (mpiexec --bind-to core, srun --cpu-bind=cores)",
            gains=(0.5 * gain, gain, max(ground.run_time * spared, spared * slowed + waited)),
            ranks=ranks,
            evidence=[Evidence("binding", {"rank": ranks}, {"cpus": len(numbers), "ranks": len(ranks)})],
        )
        found += finding
    if found:
        # What waits for a CPU seems to compute, or to be late: nothing can be said of either.
        ground.give_up_waiting()
    return found


def slow_place(ground: Ground) -> list[Finding]:
    """One host, or one rank, that computes longer by the same factor in every region."""
    slow = _slowest_place(ground)
    if slow is None:
        return []
    ranks = [rank for rank, is_in in zip(ground.ranks, slow.rows, strict=True) if is_in]
    totals = ground.computing.sum(axis=1)
    others = float(np.median(totals[~slow.rows]))
    as_work = float(totals.max() - totals.mean())
    gain = min(float(totals[slow.rows].max()) - others, float(_waits(ground)[~slow.rows].mean()))
    sure = find_repeated_excess(ground, slow.rows, np.ones(len(ground.regions), dtype=np.bool_))
    low = min(as_work, gain)
    low = low - doubt(ground, totals, len(ranks)) if sure is None else min(low, sure)
    what = f"host {printable(slow.host)} ({ranks_text(ranks)})" if slow.host else ranks_text(ranks)
    many = len(slow.regions)
    where = f"all {many} regions that compute" if many > 1 else place_text(slow.regions[0][0])
    evidence = [
        Evidence(
            "ranks", {"rank": ranks, "region": region}, {"compute_time": mine, "compute_time_others": theirs}
        )
        for region, mine, theirs in slow.regions[:4]
    ]
    finding = ground.finding(
        "slow_place",
        f"{what} computes {slow.factor:.2f} times as long as the others in {where}:"
        f" the {'host' if slow.host else 'core'} is slow, or has more of all work; the others wait",
        "look what takes its time (haloscope bench noise, other programs, clock speed), leave it out, or give"
        " it less work",
        gains=(low, gain, max(gain, float(totals.max() - totals.min()))),
        ranks=ranks,
        evidence=evidence,
    )
    if finding:
        _explain(ground, totals.max() - totals)
        for computing in (ground.computing, *ground.again):
            computing[slow.rows] /= slow.factor
    return finding


def imbalance(ground: Ground) -> list[Finding]:
    """Some ranks compute longer in a region than others, which wait for them."""
    computing, found = ground.computing, []
    if len(computing) < 2:
        return []
    excess = computing.max(axis=0) - computing.mean(axis=0)
    counts = excess >= _LEAST_EXCESS * ground.run_time
    if not counts.any():
        return []
    scale = _scale(ground, excess, counts)
    slowest = np.argmax(computing, axis=0)
    for place in dict.fromkeys(slowest[counts].tolist()):
        mine = counts & (slowest == place)
        gain = float(scale * excess[mine].sum())
        most = max(float((computing.max(axis=0) - computing.min(axis=0))[mine].sum()) * scale, gain)
        sure = find_repeated_excess(ground, np.arange(len(computing)) == place, mine)
        if sure is None:
            chance = doubt(ground, computing[:, mine].sum(axis=1))
            low = gain - max(0.2 * gain, math.hypot(unsteadiness(ground, place) * gain, chance))
        else:
            low = min(0.8 * gain, scale * sure)
        found += _unbalanced(ground, place, mine, (low, gain, most))
    if found:
        _explain(ground, _awaited(ground, counts, scale))
    return found


def _unbalanced(ground: Ground, place: int, mine: Flags, gains: tuple[float, float, float]) -> list[Finding]:
    """Return the finding about the regions in which one rank computes longest."""
    computing = ground.computing
    excess = (computing.max(axis=0) - computing.mean(axis=0)) * mine
    worst = int(np.argmax(excess))
    region = ground.regions[worst]
    times = computing[:, mine].sum(axis=1)
    mean, most = float(times.mean()), float(times[place])
    ranks = [rank for rank, time in zip(ground.ranks, times, strict=True) if time > (mean + most) / 2]
    many = int(mine.sum())
    where = place_text(region) + (f" and {many - 1} more region{'s' * (many > 2)}" if many > 1 else "")
    waits = float(np.delete(ground.waiting.sum(axis=1), place).mean())
    at = ground.waiting_function(np.array(ground.ranks) != ground.ranks[place])
    return ground.finding(
        "imbalance",
        f"{ranks_text(ranks)} compute{'s' * (len(ranks) == 1)} {percent_text(most - mean, mean)} longer than"
        f" the mean of all ranks in {where} ({time_text(most)} against {time_text(mean)}); the others wait"
        f"{f', mostly in {at}' if at else ''}{_agreeing(ground)}",
        f"share out the work of {place_text(region)} evenly; if it is even, that core is slow:"
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


def _agreeing(ground: Ground) -> str:
    return f"; {len(ground.again)} other runs agree" if len(ground.again) > 1 else ""


def _scale(ground: Ground, excess: Floats, counts: Flags) -> float:
    """Return which part of the regions' excesses is waited for.

    All of it if ranks wait for each other between regions; else what one rank has too much in one makes up
    for what another has in the next. How much is waited tells.
    """
    computing = ground.computing
    totals = computing.sum(axis=1)
    together = float(excess[counts].sum())
    apart = float(totals.max() - totals.mean())
    awaited = (computing.max(axis=0) - computing)[:, counts].sum(axis=1)
    waited = _waits(ground)
    waits = awaited > _LEAST_EXCESS * ground.run_time
    seen = float((waited[waits] / awaited[waits]).min(initial=1.0))
    explained = together * min(seen, 1.0) if seen >= _SEEN else apart
    return min(max(explained, min(apart, together)), float(waited.mean())) / together


def _waits(ground: Ground) -> Floats:
    """Return how long each rank waits (s), also at the end for others to come to MPI_Finalize."""
    ends = ground.run_time - ground.time_of_ranks
    waits: Floats = ground.waiting.sum(axis=1) + ground.polled.sum(axis=1) + ends
    return waits


def _awaited(ground: Ground, counts: Flags, scale: float) -> Floats:
    computing = ground.computing
    awaited: Floats = scale * (computing.max(axis=0) - computing)[:, counts].sum(axis=1)
    return awaited


def _explain(ground: Ground, awaited: Floats) -> None:
    """Take what ranks wait for others (s, one each) off what is left, where they wait longer than others."""
    more = {family: ground.mpi[family] - ground.mpi[family].min(axis=0) for family in FAMILIES}
    whole = sum((matrix.sum(axis=1) for matrix in more.values()), np.zeros(len(ground.ranks)))
    shares = np.minimum(1.0, awaited / np.maximum(whole, 1e-12))
    rest = float(awaited.mean())
    for family, matrix in more.items():
        explained = np.minimum((matrix * shares[:, None]).mean(axis=0), ground.left[family])
        ground.uneven[family] += explained
        ground.left[family] -= explained
        rest -= float(explained.sum())
    # What waits alike on all ranks, as in turns, has the rest.
    for family in FAMILIES:
        rest -= ground.take_anywhere(family, rest)


@dataclass(frozen=True)
class _Slow:
    """The ranks of a place (rows of the matrices), its host if it is a whole one, and how slow it is."""

    rows: Flags
    host: str | None
    factor: float
    regions: list[tuple[str, float, float]]


def _places(ground: Ground) -> Iterator[tuple[Flags, str | None]]:
    hosts = np.array([host or "" for host in ground.hosts])
    names = sorted(set(hosts.tolist()))
    if len(names) > 1:
        for name in names:
            yield hosts == name, name
    slowest = int(np.argmax(ground.computing.sum(axis=1)))
    yield np.arange(len(ground.ranks)) == slowest, None


def _slowest_place(ground: Ground) -> _Slow | None:
    found = [slow for rows, host in _places(ground) if (slow := _slow(ground, rows, host))]
    return max(found, key=lambda slow: (slow.factor, slow.host is not None), default=None)


def _slow(ground: Ground, rows: Flags, host: str | None) -> _Slow | None:
    """Return by how much a place is slow; None if it is not, or not everywhere alike."""
    computing = ground.computing
    if rows.all() or not computing.any():
        return None
    relevant = np.flatnonzero(computing.mean(axis=0) >= _LEAST_REGION * computing.sum(axis=1).mean())
    # Of one rank in one region nobody can say that it is not the work.
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
        (ground.regions[place], float(mine[:, i].mean()), float(theirs[:, i].mean()))
        for i, place in enumerate(relevant.tolist())
    ]
    return _Slow(rows, host, whole, regions)
