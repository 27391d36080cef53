"""What a person wants to know first when a run has ended."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope._errors import printable
from haloscope.explain._info import run_information
from haloscope.explain._units import bytes_text, count_text, percent_text, ranks_text, time_text

if TYPE_CHECKING:
    from haloscope.explain._profile import Profile

__all__ = ["summary", "warnings"]

_COSTLIEST = 3


def summary(profile: Profile) -> list[str]:
    """Return at most ten lines: the run, its costliest regions, warnings, where to look further.

    Raises `ProfileError` if the profile is damaged.
    """
    return profile.guarded(lambda: _summary(profile))


def _summary(profile: Profile) -> list[str]:
    told = run_information(profile)
    regions = profile.table("regions")
    whole = regions.row(0, named=True) if len(regions) else None
    lines = [_headline(told)]
    if whole is not None:
        lines.append(_communication(whole))
        lines += _by_region(profile, whole) if len(regions) > 1 else _by_call(profile, whole)
    name = printable(shlex.quote(str(profile.path)))
    return [*lines, *warnings(told), f"profile: {name}", f"look further: haloscope show {name}"]


def _headline(told: dict[str, Any]) -> str:
    hosts = len(told["hosts"])
    return (
        f"{printable(told['program'] or 'program')}: {count_text(told['ranks'])} ranks on"
        f" {hosts} host{'' if hosts == 1 else 's'}, {time_text(told['duration'])}"
    )


def _communication(whole: dict[str, Any]) -> str:
    time = whole["time_mean"]
    return (
        f"communication: {percent_text(whole['mpi_time_mean'], time)} of the time"
        f" (point-to-point {percent_text(whole['p2p_time_mean'], time)},"
        f" collective {percent_text(whole['coll_time_mean'], time)});"
        f" {count_text(whole['sends_total'])} messages, {bytes_text(whole['bytes_sent_total'])}"
    )


def _by_region(profile: Profile, whole: dict[str, Any]) -> list[str]:
    ranks = profile.table("ranks", exclusive=True)
    total = _total(whole)
    costs = _costliest(ranks, "region", "mpi_time")
    return [f"  {percent_text(cost, total):>7} of it in {_place(region)}" for region, cost in costs]


def _total(whole: dict[str, Any]) -> float | None:
    """Return the seconds in MPI of all ranks together, None if they are unknown."""
    mean = whole["mpi_time_mean"]
    return None if mean is None else mean * whole["ranks"]


def _place(region: str) -> str:
    return "no marked region" if region == "<program>" else f"region {printable(region)}"


def _by_call(profile: Profile, whole: dict[str, Any]) -> list[str]:
    total = _total(whole)
    calls = profile.table("calls")
    if "chunks" in calls.columns:  # protocols are at work within calls
        calls = calls.filter(pl.col("chunks").is_null())
    costs = _costliest(calls, "call", "time_total")
    return [f"  {percent_text(cost, total):>7} of it in {printable(call)}" for call, cost in costs]


def _costliest(frame: pl.DataFrame, key: str, cost: str) -> list[tuple[str, float]]:
    sums = frame.group_by(key, maintain_order=True).agg(pl.col(cost).sum())
    return list(sums.filter(pl.col(cost) > 0).sort(cost, descending=True).head(_COSTLIEST).rows())


def warnings(told: dict[str, Any]) -> list[str]:
    """At most three lines, so that ten are never exceeded."""
    lines = []
    if told["partial"]:
        lost = [
            f"{ranks_text(told[key])} {text}"
            for key, text in (
                ("missing_ranks", "left no record"),
                ("unfinished_ranks", "did not come to MPI_Finalize"),
            )
            if told[key]
        ]
        lines.append("partial: " + ("; ".join(lost) or "not every rank came to MPI_Finalize"))
    if told["dropped"]:
        lines.append(
            f"{told['dropped']} records were dropped for want of memory; raise HALOSCOPE_MEMORY"
            " (regions nested deeper than 1024 are, too)"
        )
    odd = [
        f"{told[key]} {text}"
        for key, text in (
            ("unmatched_begins", "region begins without an end"),
            ("unmatched_ends", "region ends without a begin"),
        )
        if told[key]
    ]
    if told["unaccounted"]:
        odd.append("not counted: " + printable(", ".join(list(told["unaccounted"])[:4])))
    if told.get("rows_left_out"):
        odd.append(f"{told['rows_left_out']} rows were left out (--size-limit)")
    if told.get("only") or told.get("from") or told.get("until"):
        odd.append("a part only was counted (--only, --from, --until)")
    if odd:
        lines.append("; ".join(odd))
    return lines
