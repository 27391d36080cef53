"""The summary of a run as text."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from haloscope.base.errors import printable, shorten_text
from haloscope.base.units import bytes_text, duration_text, noun_text, percent_text, ranks_text
from haloscope.explain.findings import describe_unjudged, finding_line, findings
from haloscope.explain.reporting.run_efficiency import describe_efficiency, list_doubts
from haloscope.profile import Profile
from haloscope.profile.shown import site_text
from haloscope.profile.store import PROGRAM, list_regions, region_text
from haloscope.profile.tables import run_information

_MOST_LINES = 12
_COSTLIEST = 3
_FINDINGS = 2
MOST_EVENTS = 200_000  # largest trace that a summary analyses
_LONGEST_END = 300  # characters
# Largest shares of the time that are not mentioned: in unnamed functions, and by rounding.
_UNSAID, _ROUNDING = 0.05, 1e-3
# A phase that is printed: smallest share of a rank's calls, and fewest calls of an iteration. One or two
# calls that repeat may be a part of one.
_LEAST_COVERED, _LEAST_LENGTH = 0.5, 3
_KINDS = {"point-to-point": "p2p", "collective": "coll", "one-sided": "rma", "I/O": "io", "polling": "poll"}
# Kinds whose share is always printed, and the smallest shares of another kind and of the rest.
_ALWAYS, _LEAST, _LEAST_REST = ("point-to-point", "collective"), 1e-3, 1e-2


def summary(profile: Profile, *, next_steps: bool = True) -> list[str]:
    """Return lines about a run: efficiency, communication, findings, warnings, and next steps.

    There are twelve at most: warnings take the place of the parts of communication. Only rare combinations
    of warnings need more.

    Raises:
        ProfileError: The profile is damaged.
    """
    return profile.data.guard(lambda: _make_summary(profile, next_steps))


def _make_summary(profile: Profile, next_steps: bool) -> list[str]:
    info = run_information(profile.data)
    regions = profile.table("regions")
    whole = regions.row(0, named=True) if len(regions) else None
    name = printable(shlex.quote(str(profile.path)))
    first = [_make_headline(info), *describe_efficiency(profile, MOST_EVENTS)]
    first += [] if whole is None else [_describe_communication(profile, whole)]
    last = [
        *_describe_findings(profile, name),
        *list_doubts(profile),
        *list_unknown_regions(profile),
        *list_warnings(info),
    ]
    if next_steps:
        last.append(f"profile: {name}")
        last.append(f"look further: haloscope show {name}; haloscope report {name} --open")
    parts = [] if whole is None else _list_shares(profile, whole, len(regions))
    parts += [*_describe_sites(profile), *_describe_phases(profile)]
    return [*first, *parts[: max(_MOST_LINES - len(first) - len(last), 0)], *last]


def _list_shares(profile: Profile, whole: dict[str, Any], regions: int) -> list[str]:
    """Return lines about the regions and functions in which the communication is."""
    lines = _Shares.of(_read_calls(profile), "call", "time_total", whole).list_line(printable, "function")
    if regions < 2 or profile.has_phases:  # those have a line of their own
        return lines
    ranks = profile.table("ranks", exclusive=True)
    return _Shares.of(ranks, "region", "mpi_time", whole).list_line(_place_name, "region") + lines


def _describe_findings(profile: Profile, name: str) -> list[str]:
    found = findings(profile, most_events=MOST_EVENTS)
    if not found:
        reason = describe_unjudged(profile)
        return [f"no findings: {reason}"] if reason else []
    lines = [finding_line(finding) for finding in found[:_FINDINGS]]
    more = len(found) - len(lines)
    return [*lines, f"{more} more: haloscope findings {name}"] if more else lines


def _make_headline(info: dict[str, Any]) -> str:
    nodes = len(info["hosts"])
    on_nodes = f" on {noun_text(nodes, 'node')}" if nodes else ""
    return (
        f"{printable(info['program'] or 'program')}: {noun_text(info['ranks'], 'rank')}{on_nodes},"
        f" {duration_text(info['duration'])}"
    )


def _describe_phases(profile: Profile) -> list[str]:
    """Return a line about the phase with the most calls; none if it is a candidate, small or short.

    A marker or an abort ends the search: then the share of the run's calls is unknown, and the number of
    iterations is not that of the run.
    """
    iterations, share = pl.col("iterations"), pl.col("share")
    phases = (
        profile.table("phases")
        .filter(pl.col("phase").is_in(profile.data.whole_phases))
        .group_by("phase")
        .agg(
            iterations.min().alias("least"),
            iterations.max().alias("most"),
            pl.col("length").mean(),
            share.mean(),
            share.fill_null(0).min().alias("covered"),
        )
        .filter(pl.col("length") >= _LEAST_LENGTH, pl.col("covered") >= _LEAST_COVERED)
    )
    for phase in phases.sort("share", "phase", descending=[True, False]).head(1).to_dicts():
        low, high = phase["least"], phase["most"]
        times = noun_text(high, "iteration") if low == high else f"{low} to {noun_text(high, 'iteration')}"
        return [
            f"phase {phase['phase']}: {times} of {noun_text(round(phase['length']), 'call')},"
            f" {percent_text(phase['share'], 1.0)} of the calls; found from the sequence of calls"
        ]
    return []


def list_kinds(whole: dict[str, Any]) -> list[str]:
    """Return the share of the time of each kind of communication, of a row of the table `regions`."""
    time = whole["time_mean"]
    parts = {kind: whole[f"{name}_time_mean"] for kind, name in _KINDS.items()}
    kinds = [
        f"{kind} {percent_text(part, time)}"
        for kind, part in parts.items()
        if kind in _ALWAYS or (time and part and part >= _LEAST * time)
    ]
    if None in (time, whole["mpi_time_mean"], *(parts[kind] for kind in _ALWAYS)):
        return kinds
    # Such as those that create communicators.
    rest = whole["mpi_time_mean"] - sum(part or 0.0 for part in parts.values())
    return [*kinds, f"other calls {percent_text(rest, time)}"] if rest >= _LEAST_REST * time > 0 else kinds


def _describe_communication(profile: Profile, whole: dict[str, Any]) -> str:
    whose = "the threads' time" if profile.data.source.rows("main_thread") else "the time"
    share = percent_text(whole["mpi_time_mean"], whole["time_mean"])
    return (
        f"communication: {share} of {whose} ({', '.join(list_kinds(whole))});"
        f" {noun_text(whole['sends_total'], 'message')}, {bytes_text(whole['bytes_sent_total'])}"
    )


def _read_calls(profile: Profile) -> pl.DataFrame:
    """Return the functions of each region, without the protocols of the shm library inside them."""
    calls = profile.table("calls", exclusive=True)
    return calls.filter(pl.col("chunks").is_null()) if "chunks" in calls.columns else calls


def _describe_sites(profile: Profile) -> list[str]:
    """Return a line with the most expensive source lines; none without call sites."""
    if not profile.data.source.rows("sites"):
        return []
    rows = profile.table("sites", exclusive=True)
    keys = ["site", "function", "call"]
    sums = rows.group_by(keys, maintain_order=True).agg(pl.col("time_total").sum())
    total = float(rows["time_total"].sum())
    costs = sums.filter(pl.col("time_total") > _ROUNDING * total).sort("time_total", descending=True)
    named = [
        f"{site_text(site, function)} ({printable(call)}) {percent_text(time, total)}"
        for site, function, call, time in costs.head(_COSTLIEST).iter_rows()
    ]
    return [f"  by source line: {', '.join(named)}"] if named else []


def _place_name(region: str) -> str:
    return "no marked region" if region == PROGRAM else region_text(region)


@dataclass(frozen=True)
class _Shares:
    """Shares of the MPI time of all ranks, largest first; `total` is None if unknown.

    `polling` is the time of polls, which functions may not have.
    """

    costs: list[tuple[str, float]]
    total: float | None
    polling: float

    @classmethod
    def of(cls, frame: pl.DataFrame, key: str, cost: str, whole: dict[str, Any]) -> _Shares:
        sums = frame.group_by(key, maintain_order=True).agg(pl.col(cost).sum())
        mean = whole["mpi_time_mean"]
        return cls(
            list(sums.filter(pl.col(cost) > 0).sort(cost, descending=True).rows()),
            None if mean is None else mean * whole["ranks"],
            (whole["poll_time_mean"] or 0.0) * whole["ranks"],
        )

    def list_line(self, called: Callable[[str], str], noun: str) -> list[str]:
        """Return a line with the largest shares and the rest; none without shares."""
        named = [f"{called(name)} {percent_text(cost, self.total)}" for name, cost in self.costs[:_COSTLIEST]]
        return [f"  by {noun}: {', '.join([*named, *self._describe_rest(noun)])}"] if named else []

    def _describe_rest(self, noun: str) -> list[str]:
        """Return the rest after the largest shares, unless it is negligible."""
        others = self.costs[_COSTLIEST:]
        elsewhere = sum(cost for _, cost in others)
        total = self.total or 0.0
        missing = total - sum(cost for _, cost in self.costs)
        rest = []
        if elsewhere + max(missing, 0) > _UNSAID * total > 0:
            if others:
                rest.append(f"{noun_text(len(others), 'other ' + noun)} {percent_text(elsewhere, total)}")
            polling = min(missing, self.polling)
            for name, part in (("polling", polling), ("unattributed", missing - polling)):
                if part > _ROUNDING * total:
                    rest.append(f"{name} {percent_text(part, total)}")
        return rest


def list_unknown_regions(profile: Profile) -> list[str]:
    """Return a line about regions that the user named for the run and that it did not have; none if none."""
    info, tree = profile.info, profile.regions
    asked = [
        (option, name)
        for option in ("series", "only")
        for name in str(info.get(option) or "").splitlines()
        if not tree.is_recorded(name)
    ]
    if not asked:
        return []
    known = [name for name in tree.distinct_names if name != PROGRAM]
    named = ", ".join(f"--{option} {name}" for option, name in asked)
    return [printable(f"no such region: {named}; {list_regions(asked[0][1], known)}")]


def list_warnings(info: dict[str, Any]) -> list[str]:
    """Return at most three lines, so that the summary has at most twelve."""
    lines = (
        [f"read from {info['source']}: values that it does not record are unknown"]
        if info.get("source")
        else []
    )
    if info["partial"]:
        lost = [
            f"{ranks_text(info[key])} {text}"
            for key, text in (
                ("missing_ranks", "left no record"),
                ("unfinished_ranks", "did not reach MPI_Finalize"),
            )
            if info[key]
        ]
        line = "partial: " + ("; ".join(lost) or "not every rank reached MPI_Finalize")
        if info["ended_in"]:
            line += f"; at the end {printable(shorten_text(info['ended_in'], _LONGEST_END))}"
        lines.append(line)
    if info["dropped"]:
        lines.append(
            f"{noun_text(info['dropped'], 'record')} dropped, as memory was full; raise HALOSCOPE_MEMORY"
            " (regions nested deeper than 1024 are always dropped)"
        )
    odd = [
        noun_text(info[key], *nouns)
        for key, nouns in (
            ("unmatched_begins", ("region begin without an end", "region begins without an end")),
            ("unmatched_ends", ("region end without a begin", "region ends without a begin")),
        )
        if info[key]
    ]
    if info["unaccounted"]:
        odd.append("not counted: " + printable(", ".join(list(info["unaccounted"])[:4])))
    if info.get("rows_left_out"):
        odd.append(f"{noun_text(info['rows_left_out'], 'row')} left out (HALOSCOPE_SIZE_LIMIT)")
    if info.get("only") or info.get("from") or info.get("until"):
        odd.append("only a part was counted (--only, HALOSCOPE_AFTER, HALOSCOPE_UNTIL)")
    if odd:
        lines.append("; ".join(odd))
    return lines
