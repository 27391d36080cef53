"""Which collectives, sizes and communicators a program uses, from its profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from haloscope.base.errors import ProfileError
from haloscope.predict.bench._mpi_library import COLLECTIVES
from haloscope.predict.tune._verify import Point

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Workload", "read_workload"]

_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Workload:
    """How often each point is called, summed over ranks, and what the profile says of its time."""

    calls: Mapping[Point, int]
    seconds: Mapping[Point, float]
    other: Mapping[str, float] = field(default_factory=dict)
    """Seconds in collectives that cannot be tuned, by name."""
    left_out: float = 0.0
    """Seconds at points that are not measured: the share that all of them have is small."""


def read_workload(path: Path, share: float = 0.99) -> Workload:
    """Return the points that take `share` of the time in collectives, the longest first.

    Raises `ProfileError` for a profile without collectives of more than one rank.
    """
    import haloscope

    with haloscope.open(path) as profile:
        rows = profile.table("collectives", exclusive=True).to_dicts()
    calls: dict[Point, int] = {}
    seconds: dict[Point, float] = {}
    other: dict[str, float] = {}
    for row in rows:
        name = row["operation"].lower()
        if row["comm_size"] < 2:
            continue
        if name not in COLLECTIVES:
            other[row["operation"]] = other.get(row["operation"], 0.0) + row["time_total"]
            continue
        point = _point(name, row["comm_size"], row["bytes"])
        calls[point] = calls.get(point, 0) + row["calls"]
        seconds[point] = seconds.get(point, 0.0) + row["time_total"]
    if not calls:
        there = f" (it calls {', '.join(sorted(other))})" if other else ""
        raise ProfileError(f"{path}: no collective of 2 ranks or more that could be tuned is in it{there}")
    kept = _longest(seconds, share)
    return Workload(
        {point: calls[point] for point in kept},
        {point: seconds[point] for point in kept},
        other,
        sum(seconds.values()) - sum(seconds[point] for point in kept),
    )


def _point(collective: str, ranks: int, size: int) -> Point:
    if collective in ("alltoall", "alltoallv"):
        return Point(collective, ranks, size // ranks)
    return Point(collective, ranks, 0 if collective == "barrier" else size)


def _longest(seconds: Mapping[Point, float], share: float) -> list[Point]:
    total, sum_so_far = sum(seconds.values()), 0.0
    kept = []
    for point in sorted(seconds, key=lambda one: -seconds[one]):
        if point.bytes <= _MOST_BYTES:
            kept.append(point)
        sum_so_far += seconds[point]
        if sum_so_far >= share * total:
            break
    return sorted(kept)
