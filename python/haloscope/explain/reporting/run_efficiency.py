"""The verdict on a run: how efficient it is, and what its times do not show."""

from __future__ import annotations

from typing import Any

import polars as pl

from haloscope.base.units import noun_text
from haloscope.explain.findings import describe_other_threads, find_crowded_host, has_small_trace
from haloscope.profile import Profile
from haloscope.profile.store import PROGRAM, Scope
from haloscope.profile.tables import efficiency_rows, rank_rows

# POP examines efficiencies below 80 %. Those below 60 % are called poor.
_GOOD, _FAIR = 0.8, 0.6
# CPU time of a process beyond that of its recorded threads, in durations of the run, from which it had
# further threads. MPI's own take less.
_UNRECORDED = 0.5
# Columns of the table `pop` by their names in a line: an efficiency and its factors.
_MEASURED = {"parallel": "parallel", "load balance": "load_balance", "communication": "communication"}
_REPLAYED = {
    "parallel": "parallel",
    "load balance": "load_balance",
    "serialisation": "serialisation",
    "transfer": "transfer",
}
_OPENMP = {
    "parallel": "openmp",
    "load balance": "openmp_load_balance",
    "scheduling": "openmp_scheduling",
    "serial code": "openmp_serial",
}
# The reason why threads are not recorded, by the column `openmp` of `processes`.
_UNSEEN = {
    "": "threads without MPI calls, as of OpenMP, are not recorded",
    "no interface": "OpenMP threads are not recorded, as GCC's runtime has no interface for tools",
    "another tool": "OpenMP threads are not recorded, as another tool has the runtime's interface",
}


def compute_efficiency(profile: Profile, most_events: int) -> dict[str, float]:
    """Return POP's parallel efficiency and then its factors; nothing for one rank or unknown times.

    A trace of at most `most_events` events divides communication into serialisation and transfer. If OpenMP
    threads are recorded, the factors are the efficiencies of MPI and of OpenMP.
    """
    of_mpi, of_openmp = _read_shares(profile, most_events)
    return _join(of_mpi, of_openmp) if of_mpi and of_openmp else of_mpi or of_openmp


def describe_efficiency(profile: Profile, most_events: int) -> list[str]:
    """Return a line with the efficiency and its factors; none if they are unknown.

    If both MPI and OpenMP have an efficiency, a line for each follows.
    """
    of_mpi, of_openmp = _read_shares(profile, most_events)
    if not of_openmp:
        return _describe_factors("efficiency", of_mpi)
    if not of_mpi:
        return _describe_factors("efficiency of OpenMP", of_openmp)
    return [
        *_describe_factors("efficiency", _join(of_mpi, of_openmp)),
        *_describe_factors("  MPI", of_mpi),
        *_describe_factors("  OpenMP", of_openmp),
    ]


def grade_efficiency(share: float) -> str:
    """Return good, fair or poor."""
    return "good" if share >= _GOOD else "fair" if share >= _FAIR else "poor"


def _join(of_mpi: dict[str, float], of_openmp: dict[str, float]) -> dict[str, float]:
    mpi, openmp = of_mpi["parallel"], of_openmp["parallel"]
    return {"parallel": mpi * openmp, "MPI": mpi, "OpenMP": openmp}


def _describe_factors(title: str, shares: dict[str, float]) -> list[str]:
    if not shares:
        return []
    rates = [f"{100 * share:.0f} % ({grade_efficiency(share)})" for share in shares.values()]
    factors = [f"{name} {rate}" for name, rate in zip(shares, rates, strict=True)][1:]
    return [f"{title}: {rates[0]} = {' × '.join(factors)}"]


def _read_shares(profile: Profile, most_events: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the efficiencies of MPI and of OpenMP with their factors, nothing where they are unknown."""
    scope = Scope.from_region(profile.regions, False, PROGRAM)
    ranks = rank_rows(profile.data, scope)
    is_replayed = has_small_trace(profile, most_events)
    rows = efficiency_rows(profile.data, scope, ranks, is_replayed=is_replayed).to_dicts()
    whole = rows[0] if rows else {}
    of_mpi = _name_shares(whole, _REPLAYED if is_replayed else _MEASURED) if len(ranks) > 1 else {}
    return of_mpi, _name_shares(whole, _OPENMP)


def _name_shares(whole: dict[str, Any], columns: dict[str, str]) -> dict[str, float]:
    shares = {name: whole.get(column) for name, column in columns.items()}
    known = {name: share for name, share in shares.items() if share is not None}
    return known if len(known) == len(shares) else {}


def list_doubts(profile: Profile) -> list[str]:
    """Return lines about times that are not the program's, and about threads that are not recorded."""
    lines = []
    if crowded := find_crowded_host(profile):
        ranks, threads, cpus = crowded
        users = noun_text(ranks, "rank")
        users += f" with {noun_text(threads, 'thread')}" if threads > ranks else ""
        lines.append(f"{users} on {noun_text(cpus, 'CPU')}: counts are exact, times are not")
    elif others := describe_other_threads(profile):
        lines.append(f"{others}: counts are exact, times are not")
    return [*lines, *_list_unrecorded_threads(profile)]


def _list_unrecorded_threads(profile: Profile) -> list[str]:
    """Return a line if a rank used more CPUs than its recorded threads can."""
    teams = profile.frame("ranks", ["rank", "omp_threads"]).group_by("rank").agg(pl.col("omp_threads").max())
    processes = profile.frame("processes", ["rank", "cpu_time", "duration", "threads", "openmp"])
    used = pl.col("cpu_time") / pl.col("duration")
    recorded = pl.max_horizontal("threads", "omp_threads").fill_null(1).clip(1)
    busiest = (
        processes.filter(pl.col("duration") > 0)
        .join(teams, on="rank", how="left")
        .filter(used >= recorded + _UNRECORDED)
        .sort(used, descending=True)
        .select(used.alias("used"), "openmp")
        .head(1)
    )
    return [
        f"{_UNSEEN.get(openmp, _UNSEEN[''])}: a rank used {used:.1f} CPUs" for used, openmp in busiest.rows()
    ]
