"""What an export of a trace could not say, in lines for people."""

from __future__ import annotations

from collections.abc import Sequence

from haloscope.explain.export.trace_columns import TraceColumns
from haloscope.profile.trace import Trace

_WHY = {
    "messages": "their other side is not a rank of this world, or not known",
    "collectives": "the format has no such operation, or their communicator is not known",
}


def remarks_on(trace: Trace, columns: TraceColumns, kinds: Sequence[str] = tuple(_WHY)) -> list[str]:
    """Return a line for each kind of event that was lost or left out."""
    told = {kind: count for kind, count in columns.left_out.items() if kind in kinds}
    lines = [f"{count} {kind} are left out: {_WHY[kind]}" for kind, count in told.items()]
    lost = int(trace.dropped["events"].sum())
    if lost:
        lines.append(f"{lost} events of {len(trace.dropped)} ranks were lost while they were recorded")
    if moved := int(trace.clocks["moved"].sum()):
        longest = max(trace.clocks["moved_max"])
        lines.append(
            f"{moved} calls and regions were moved, {longest:.2g} s at most, "
            "so that no message arrives before it was sent: clocks of machines differ"
        )
    return lines
