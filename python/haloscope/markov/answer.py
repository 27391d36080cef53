"""The answer of an analysis in sentences: the program's own time, and the time that slow regimes add."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import count_text, percent_text, time_text

if TYPE_CHECKING:
    from haloscope.markov.analysis import RegimeAnalysis
    from haloscope.markov.statistics.added_time import Added

_NAMES = {
    "machine": "while all ranks were slow",
    "host": "while the ranks of one host were",
    "rank": "while one rank was",
    "scattered": "scattered, without a slow time or place",
}
_LEAST = 0.0005  # a share that would be shown as 0.0 %


def answer(analysis: RegimeAnalysis) -> list[str]:
    """Return the two sentences, and a third one about the cause of slow regimes."""
    found = analysis.added
    if found is None:
        return ["The program's own time is unknown: all instances are in slow regimes."]
    program = (
        f"The program itself takes {time_text(found.program)} per instance"
        f" [{time_text(found.program_low)}, {time_text(found.program_high)}], the mean of the"
        f" {percent_text(1 - found.slow, 1)} of instances outside of slow regimes."
    )
    return [program, _describe_added(found, analysis), *_describe_cause(found)]


def _describe_added(found: Added, analysis: RegimeAnalysis) -> str:
    if not found.slow:
        return "Slow regimes add no detectable time: none is 1.25 times as slow as the fastest one."
    significance = "" if found.sure else " (not significant)"
    interval = f"[{100 * found.share_low:.1f}, {100 * found.share_high:.1f}]"
    return printable(
        f"Slow regimes add {time_text(found.added)} on average, {percent_text(found.share, 1)} of all time"
        f" {interval}{significance}: {_describe_parts(found)}{_describe_episode(analysis)}."
    )


def _describe_cause(found: Added) -> list[str]:
    """Return what is known about the cause: a program's waiting is not the machine's."""
    if not found.slow or not found.sure:
        return []
    if found.waiting is None:
        return [
            "These times do not separate waiting for other ranks, so the excess may be the program's own."
        ]
    left = percent_text(max(found.share, 0) * (1 - found.waiting), 1)
    return [
        f"Of this excess {percent_text(found.waiting, 1)} is waiting in MPI, which belongs to the program; at"
        f" most {left} of all time is the machine's."
    ]


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
    """Return the most expensive slow episode of all ranks, if there was one."""
    machine = analysis.episodes.filter(pl.col("kind") == "machine")
    if not len(machine):
        return ""
    row = machine.row(0, named=True)
    start = "" if row["start"] is None else f", from {time_text(row['start'])} on"
    return f"; worst in the instances {count_text(row['first'])} to {count_text(row['last'])}{start}"
