"""Schedules executed again, slowly: by looking at every message until none is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Step", "ends"]


@dataclass(frozen=True)
class Step:
    """One message, or work where source and target are one."""

    source: int
    target: int
    source_step: int
    target_step: int
    meets: bool
    occupied: float
    latency: float
    work: float


def ends(messages: Sequence[Step], ranks: int) -> list[float]:
    """When each rank is done. A message waits for whatever must come before it, by definition."""
    sent: dict[int, float] = {}
    there: dict[int, float] = {}

    def begun(rank: int, step: int) -> float:
        """When all that the rank does in earlier steps is done."""
        times = [0.0]
        for i, one in enumerate(messages):
            if one.source != one.target and one.source == rank and one.source_step < step:
                times.append(sent[i])
            if one.target == rank and one.target_step < step:
                times.append(there[i])
        return max(times)

    def before(i: int, side: str) -> list[int]:
        """Messages that stand before this one at the same port."""
        rank = getattr(messages[i], side)
        return [
            j
            for j in range(i)
            if getattr(messages[j], side) == rank and messages[j].source != messages[j].target
        ]

    for i, one in enumerate(messages):
        had = begun(one.source, one.source_step)
        if one.source != one.target:
            start = max(
                [had, *(sent[j] for j in before(i, "source")), *(sent[j] for j in before(i, "target"))]
            )
            if one.meets:
                start = max(start, begun(one.target, one.target_step))
            sent[i] = start + one.occupied
            had = sent[i] + one.latency
        if one.work:
            busy = [there[j] for j in range(i) if messages[j].target == one.target and messages[j].work]
            had = max([had, begun(one.target, one.target_step), *busy])
        there[i] = had + one.work
    last = 1 + max((max(one.source_step, one.target_step) for one in messages), default=0)
    return [begun(rank, last) for rank in range(ranks)]
