"""What a person wants to know first when a run has ended."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from haloscope.base.errors import printable, shorten_text
from haloscope.base.units import bytes_text, count_text, percent_text, ranks_text, time_text
from haloscope.explain.findings import finding_line, findings
from haloscope.profile import Profile
from haloscope.profile.shown import site_text
from haloscope.profile.store import PROGRAM, region_text
from haloscope.profile.tables import run_information

_COSTLIEST = 3
_FINDINGS = 2
_MOST_EVENTS = 200_000  # of a trace that a summary waits for
_LONGEST_END = 300  # characters
# Shares of the time that are not mentioned: in functions that are not named, and by rounding.
_UNSAID, _ROUNDING = 0.05, 1e-3


def summary(profile: Profile) -> list[str]:
    """Return at most twelve lines: the run, its costliest regions, findings, warnings, where to look further.

    With call sites there are three more, for the costliest of them.

    Raises `ProfileError` if the profile is damaged.
    """
    return profile.data.guard(lambda: _summary(profile))


def _summary(profile: Profile) -> list[str]:
    told = run_information(profile.data)
    regions = profile.table("regions")
    whole = regions.row(0, named=True) if len(regions) else None
    lines = [_headline(told)]
    if whole is not None:
        functions = _Shares.of(_calls(profile), "call", "time_total", whole)
        if len(regions) > 1:
            ranks = profile.table("ranks", exclusive=True)
            places = _Shares.of(ranks, "region", "mpi_time", whole)
            lines.append(_communication(whole) + functions.in_a_line())
            lines += places.in_lines(_place, "regions")
        else:
            lines.append(_communication(whole))
            lines += functions.in_lines(printable, "functions")
    lines += _sites(profile)
    lines += _phases(profile)
    found = findings(profile, most_events=_MOST_EVENTS)[:_FINDINGS]
    lines += [finding_line(finding) for finding in found]
    name = printable(shlex.quote(str(profile.path)))
    return [*lines, *warnings(told), f"profile: {name}", f"look further: haloscope show {name}"]


def _headline(told: dict[str, Any]) -> str:
    hosts = len(told["hosts"])
    place = f" on {hosts} host{'' if hosts == 1 else 's'}" if hosts else ""
    return (
        f"{printable(told['program'] or 'program')}: {count_text(told['ranks'])} ranks{place},"
        f" {time_text(told['duration'])}"
    )


def _phases(profile: Profile) -> list[str]:
    """Return a line about the phase with the most calls, as most of the recorded ranks have it."""
    phases = profile.table("phases")
    if not len(phases):
        return []
    ranks = profile.frame("processes", ["rank"])["rank"].n_unique()
    calls = (
        phases.group_by("phase").agg(pl.col("share").sum()).sort("share", "phase", descending=[True, False])
    )
    kinds = phases.filter(phase=calls["phase"][0]).group_by("phase", "iterations")
    found = kinds.agg(pl.len(), pl.col("share", "length").mean())
    first = found.sort("len", "share", "iterations", descending=True).row(0, named=True)
    told = (
        f"phase {first['phase']}: {count_text(first['iterations'])} iterations of"
        f" {count_text(round(first['length']))} calls, {percent_text(first['share'], 1.0)} of the calls;"
        " found from the sequence of calls"
    )
    if first["len"] < ranks:
        told += f" of {count_text(first['len'])} of {count_text(ranks)} ranks; the others differ"
    return [told]


def _communication(whole: dict[str, Any]) -> str:
    time = whole["time_mean"]
    return (
        f"communication: {percent_text(whole['mpi_time_mean'], time)} of the time"
        f" (point-to-point {percent_text(whole['p2p_time_mean'], time)},"
        f" collective {percent_text(whole['coll_time_mean'], time)});"
        f" {count_text(whole['sends_total'])} messages, {bytes_text(whole['bytes_sent_total'])}"
    )


def _calls(profile: Profile) -> pl.DataFrame:
    """Return the functions of each region; the shm library's protocols are at work within them."""
    calls = profile.table("calls", exclusive=True)
    return calls.filter(pl.col("chunks").is_null()) if "chunks" in calls.columns else calls


def _sites(profile: Profile) -> list[str]:
    """Return a line for each of the costliest lines of source, none without call sites."""
    if not profile.data.source.rows("sites"):
        return []
    rows = profile.table("sites", exclusive=True)
    place = ["site", "function", "call"]
    sums = rows.group_by(place, maintain_order=True).agg(pl.col("time_total").sum())
    total = float(rows["time_total"].sum())
    costs = sums.filter(pl.col("time_total") > _ROUNDING * total).sort("time_total", descending=True)
    return [
        f"  {percent_text(time, total):>7} of it at {site_text(site, function)}: {printable(call)}"
        for site, function, call, time in costs.head(_COSTLIEST).iter_rows()
    ]


def _place(region: str) -> str:
    return "no marked region" if region == PROGRAM else f"region {region_text(region)}"


@dataclass(frozen=True)
class _Shares:
    """Where the time in MPI of all ranks went, the costliest first; `total` is None if unknown."""

    costs: list[tuple[str, float]]
    total: float | None

    @classmethod
    def of(cls, frame: pl.DataFrame, key: str, cost: str, whole: dict[str, Any]) -> _Shares:
        sums = frame.group_by(key, maintain_order=True).agg(pl.col(cost).sum())
        mean = whole["mpi_time_mean"]
        return cls(
            list(sums.filter(pl.col(cost) > 0).sort(cost, descending=True).rows()),
            None if mean is None else mean * whole["ranks"],
        )

    def in_lines(self, called: Callable[[str], str], what: str) -> list[str]:
        """Return a line for each of the first; the last one says how much is elsewhere."""
        lines = [
            f"  {percent_text(cost, self.total):>7} of it in {called(name)}"
            for name, cost in self.costs[:_COSTLIEST]
        ]
        if lines and (rest := self._rest(what)):
            lines[-1] += "; " + ", ".join(rest)
        return lines

    def in_a_line(self) -> str:
        named = [
            f"{printable(name)} {percent_text(cost, self.total)}" for name, cost in self.costs[:_COSTLIEST]
        ]
        return "; in " + ", ".join([*named, *self._rest("functions")]) if named else ""

    def _rest(self, what: str) -> list[str]:
        """Return what the first ones leave, unless it is next to nothing."""
        others = self.costs[_COSTLIEST:]
        elsewhere = sum(cost for _, cost in others)
        total = self.total or 0.0
        missing = total - sum(cost for _, cost in self.costs)
        rest = []
        if elsewhere + max(missing, 0) > _UNSAID * total > 0:
            if others:
                rest.append(f"{percent_text(elsewhere, total)} in {len(others)} other {what}")
            if missing > _ROUNDING * total:
                rest.append(f"{percent_text(missing, total)} unattributed")
        return rest


def warnings(told: dict[str, Any]) -> list[str]:
    """Return at most three lines, so that the summary never has more than twelve."""
    lines = (
        [f"read from {told['source']}: what that does not know is left open"] if told.get("source") else []
    )
    if told["partial"]:
        lost = [
            f"{ranks_text(told[key])} {text}"
            for key, text in (
                ("missing_ranks", "left no record"),
                ("unfinished_ranks", "did not come to MPI_Finalize"),
            )
            if told[key]
        ]
        line = "partial: " + ("; ".join(lost) or "not every rank came to MPI_Finalize")
        if told["ended_in"]:
            line += f"; at the end {printable(shorten_text(told['ended_in'], _LONGEST_END))}"
        lines.append(line)
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
        odd.append(f"{told['rows_left_out']} rows were left out (HALOSCOPE_SIZE_LIMIT)")
    if told.get("only") or told.get("from") or told.get("until"):
        odd.append("a part only was counted (--only, HALOSCOPE_AFTER, HALOSCOPE_UNTIL)")
    if odd:
        lines.append("; ".join(odd))
    return lines
