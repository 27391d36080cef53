"""Findings as text for a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import percent_text, time_text
from haloscope.explain.findings.alike import SHORTEST
from haloscope.explain.findings.finding import Finding
from haloscope.explain.findings.machine_limits import has_shared_cpus
from haloscope.profile import Profile
from haloscope.profile.tables import shows_main_threads

# Smallest share of the time without a core that makes times depend on other threads.
_LEAST_WITHOUT_CORE = 0.1


def finding_line(finding: Finding) -> str:
    """Return a finding in one line, for the summary of a run."""
    gain = f"{percent_text(finding.share, 1.0)} of the run: " if finding.gain else ""
    return printable(f"finding: {gain}{finding.sentence}")


def describe_silence(profile: Profile) -> str:
    """Return why a run without findings may have problems, empty if nothing is known about that."""
    reasons = [describe_unjudged(profile)]
    if has_shared_cpus(profile):
        reasons.append("more ranks than CPUs: ranks share CPUs, which is not a finding")
    reasons.append(describe_other_threads(profile))
    return "; ".join(filter(None, reasons))


def describe_unjudged(profile: Profile) -> str:
    """Return why the times of a run cannot be judged, empty if they can."""
    if not shows_main_threads(profile.data):
        return "times of ranks are not compared, as other threads than the main one communicate"
    duration = float(profile.info.get("duration") or 0.0)
    if not 0 < duration < SHORTEST:
        return ""
    return f"the run is too short to judge: {time_text(duration)} of at least {SHORTEST:g} s"


def describe_other_threads(profile: Profile) -> str:
    """Return a text about ranks that waited long for a core, in MPI or outside; empty if not known."""
    if not float(profile.info.get("duration") or 0.0) >= SHORTEST or has_shared_cpus(profile):
        return ""
    # Slices with long calls overlap, so their durations exceed those of the ranks.
    alone = profile.frame("processes", ["rank", "duration", "threads"]).filter(pl.col("threads") == 1)
    slices = profile.table("slices").join(alone, on="rank", how="semi")
    waited, time = float(slices["core_wait_time"].sum()), float(alone["duration"].sum())
    if not waited >= _LEAST_WITHOUT_CORE * time > 0:
        return ""
    return f"other threads had the ranks' cores for {percent_text(waited, time)} of the time"


def finding_lines(found: Sequence[Finding], path: Path, *, silence: str = "") -> list[str]:
    """Return findings for a terminal: sentence, gain, remedy, and the command that shows the evidence.

    Args:
        found: The findings.
        path: The profile, for the command that shows the evidence.
        silence: What `describe_silence` returns, for a run without findings.
    """
    if not found:
        note = f" ({silence})" if silence else ""
        return [f"no findings: no rule explains 2 % of the run time{note}"]
    lines = []
    for number, finding in enumerate(found, 1):
        lines.append(printable(f"{number}. {finding.rule}: {finding.sentence}"))
        if finding.gain:
            lines.append(
                f"   gain: {time_text(finding.gain)} [{time_text(finding.gain_low)},"
                f" {time_text(finding.gain_high)}]"
                f" of this run, {percent_text(finding.share, 1.0)}"
            )
        lines += [printable(f"   do:   {finding.remedy}"), f"   look: {show_command(finding, path)}"]
    return lines


def show_command(finding: Finding, path: Path) -> str:
    """Return the command that shows the evidence of a finding."""
    first = finding.evidence[0]
    words = ["haloscope", "show", str(path), "--table", first.table]
    if "region" in first.rows:
        words += ["--region", str(first.rows["region"]), *([] if first.nested else ["--exclusive"])]
    return printable(shlex.join(words))
