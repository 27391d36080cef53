"""The answer of an analysis in two sentences: the program's own time, and the time that the machine adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import count_text, percent_text, time_text

if TYPE_CHECKING:
    from haloscope.markov.analysis import RegimeAnalysis
    from haloscope.markov.statistics.added_time import Added

_NAMES = {
    "machine": "while the whole machine was slow",
    "host": "while one host was",
    "rank": "while one rank was",
    "scattered": "scattered, without a slow time or place",
}
_LEAST = 0.0005  # a share that would be shown as 0.0 %


def answer(analysis: RegimeAnalysis) -> list[str]:
    """Return the two sentences, and a third one where the regimes themselves are in doubt."""
    found = analysis.added
    if found is None:
        return ["The program's own time is unknown: all instances are in slow regimes."]
    program = (
        f"The program itself takes {time_text(found.program)} per instance"
        f" [{time_text(found.program_low)}, {time_text(found.program_high)}], the mean of the"
        f" {percent_text(1 - found.slow, 1)} of instances outside of slow regimes."
    )
    return [program, _machine(found, analysis), *_doubts(analysis)]


def _machine(found: Added, analysis: RegimeAnalysis) -> str:
    if not found.slow:
        return "The machine adds no detectable time: no regime is 1.25 times as slow as the fastest one."
    significance = "" if found.sure else " (not significant)"
    interval = f"[{100 * found.share_low:.1f}, {100 * found.share_high:.1f}]"
    return printable(
        f"The machine adds {time_text(found.added)} on average, {percent_text(found.share, 1)} of all time"
        f" {interval}{significance}: {_describe_parts(found)}{_describe_episode(analysis)}."
    )


def _describe_parts(found: Added) -> str:
    parts = sorted(found.parts.items(), key=lambda part: -part[1])
    texts = []
    for name, share in parts:
        if abs(share) < _LEAST:
            continue
        who = found.most.get(name)
        most = f" (the most {name} {who[0]}, {percent_text(who[1], 1)})" if who else ""
        texts.append(f"{percent_text(share, 1)} {_NAMES[name]}{most}")
    return ", ".join(texts) or "in no place more than elsewhere"


def _describe_episode(analysis: RegimeAnalysis) -> str:
    """Return the most expensive slow episode of the whole machine, if there was one."""
    machine = analysis.episodes.filter(pl.col("kind") == "machine")
    if not len(machine):
        return ""
    row = machine.row(0, named=True)
    start = "" if row["start"] is None else f", from {time_text(row['start'])} on"
    return f"; worst in the instances {count_text(row['first'])} to {count_text(row['last'])}{start}"


def _doubts(analysis: RegimeAnalysis) -> list[str]:
    verdicts = analysis.goodness.verdicts
    if not verdicts:
        return []
    return [
        printable(f"How sure: intervals hold in 95 % of cases if the regimes are right; but {verdicts[0]}.")
    ]
