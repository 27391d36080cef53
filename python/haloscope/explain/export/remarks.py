"""Remarks about events that an export of a trace leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from haloscope.base.units import noun_text, time_text
from haloscope.explain.export.trace_columns import TraceColumns
from haloscope.profile.trace import Trace

_WHY = {
    "messages": "their other end is not a rank of this world, or unknown",
    "collectives": "the format has no such operation, or their communicator is unknown",
}


def list_remarks(trace: Trace, columns: TraceColumns, kinds: Sequence[str] = tuple(_WHY)) -> list[str]:
    """Return one line per kind of event that was lost or left out."""
    counts = {kind: count for kind, count in columns.omitted.items() if kind in kinds}
    lines = [f"{noun_text(count, kind[:-1])} left out: {_WHY[kind]}" for kind, count in counts.items()]
    lost = int(trace.dropped["events"].sum())
    if lost:
        lines.append(
            f"{noun_text(lost, 'event')} of {noun_text(len(trace.dropped), 'rank')} lost during recording"
        )
    if moved := int(trace.clocks["moved"].sum()):
        longest = max(trace.clocks["moved_max"])
        lines.append(
            f"{moved} calls and regions moved by at most {time_text(longest)}, so that no message arrives"
            " before it was"
            " sent: clocks of machines differ"
        )
    return lines
