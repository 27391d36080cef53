"""The verdict on a run: how efficient it is, and what its times do not show."""

from __future__ import annotations

import polars as pl

from haloscope.base.units import noun_text
from haloscope.explain.findings import find_crowded_host, has_small_trace
from haloscope.profile import Profile
from haloscope.profile.store import PROGRAM

# POP examines efficiencies below 80 %. Those below 60 % are called poor.
_GOOD, _FAIR = 0.8, 0.6
# CPU time of a process, in durations of the run, from which it had further threads. MPI's own take less.
_THREADED = 1.5


def compute_efficiency(profile: Profile, most_events: int) -> dict[str, float]:
    """Return POP's parallel efficiency and then its factors; nothing for one rank or unknown times.

    A trace of at most `most_events` events divides communication into serialisation and transfer.
    """
    ranks = profile.table("ranks", region=PROGRAM)
    if len(ranks) < 2:
        return {}
    shares = _read_replayed(profile) if has_small_trace(profile, most_events) else _compute_shares(ranks)
    known = {name.replace("_", " "): share for name, share in shares.items() if share is not None}
    return known if len(known) == len(shares) else {}


def grade_efficiency(share: float) -> str:
    """Return good, fair or poor."""
    return "good" if share >= _GOOD else "fair" if share >= _FAIR else "poor"


def describe_efficiency(shares: dict[str, float]) -> list[str]:
    """Return a line with an efficiency and its factors; none if they are unknown."""
    if not shares:
        return []
    rates = [f"{100 * share:.0f} % ({grade_efficiency(share)})" for share in shares.values()]
    factors = [f"{name} {rate}" for name, rate in zip(shares, rates, strict=True)][1:]
    return [f"efficiency: {rates[0]} = {' × '.join(factors)}"]


def _read_replayed(profile: Profile) -> dict[str, float | None]:
    whole = profile.table("pop").row(0, named=True)
    return {name: whole[name] for name in ("parallel", "load_balance", "serialisation", "transfer")}


def _compute_shares(ranks: pl.DataFrame) -> dict[str, float | None]:
    computing = ranks["compute_time"].to_numpy().clip(0)
    mean, most, run = float(computing.mean()), float(computing.max()), float(ranks["time"].to_numpy().max())
    known = most > 0 and run > 0
    shares = {"parallel": (mean, run), "load_balance": (mean, most), "communication": (most, run)}
    return {name: part / whole if known else None for name, (part, whole) in shares.items()}


def list_doubts(profile: Profile) -> list[str]:
    """Return lines about times that are not the program's, and about threads that are not recorded."""
    lines = []
    if crowded := find_crowded_host(profile):
        ranks, cpus = crowded
        lines.append(
            f"{noun_text(ranks, 'rank')} on {noun_text(cpus, 'CPU')}: counts are exact, times are not"
        )
    used = pl.col("cpu_time") / pl.col("duration")
    busy = profile.data.frame("processes", ["cpu_time", "duration"]).filter(pl.col("duration") > 0)
    most = busy.select(used.max()).item()
    if most is not None and most >= _THREADED:
        lines.append(
            f"threads without MPI calls, as of OpenMP, are not recorded: a rank used {most:.1f} CPUs"
        )
    return lines
