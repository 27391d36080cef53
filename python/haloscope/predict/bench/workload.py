"""Which collectives a program calls, of what sizes, among how many ranks and how often: by its profile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haloscope import explain
from haloscope.base.errors import ProfileError
from haloscope.base.units import time_text
from haloscope.predict.mpi_library import COLLECTIVES, DEFAULT

if TYPE_CHECKING:
    import polars as pl

_MOST_BYTES = 1 << 26
_FEWEST = 10  # calls of which a median can be told
# A profile has a scatter's bytes of the whole at its root, and of an all-to-all what a rank has for all.
_WHOLE = frozenset({"alltoall", "alltoallv", "scatter", "scatterv"})
_ROOTED = ("scatter", "scatterv")
_UNEVEN = frozenset({"allgatherv", "alltoallv", "gatherv", "scatterv"})


@dataclass(frozen=True, order=True)
class CollectivePoint:
    """A collective of OSU's size on so many ranks."""

    collective: str
    ranks: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.collective} of {self.bytes} B on {self.ranks} ranks"


@dataclass(frozen=True)
class Workload:
    """How often each point is called, summed over ranks, and what the profile says of its time."""

    calls: Mapping[CollectivePoint, int]
    seconds: Mapping[CollectivePoint, float]
    other: Mapping[str, float] = field(default_factory=dict)
    """Seconds in collectives that cannot be measured, by name."""
    left_out: float = 0.0
    """Seconds at points that are not measured: the share that all of them have is small."""

    def iterations(self, most: int) -> dict[CollectivePoint, int]:
        """Return how often to measure each point, in proportion to how often it is done.

        What is done most often is measured `most` times, or as often as the program does it; what is done
        seldom, ten times, or `most` if that is less.
        """
        done = {point: number / point.ranks for point, number in self.calls.items()}
        share = min(1.0, most / max(done.values()))
        return {point: enough(round(share * number), most) for point, number in done.items()}


def enough(calls: int, most: int) -> int:
    """Return how many calls of a point to measure: so many, but ten at least, or `most` if that is less."""
    return max(min(_FEWEST, most), calls)


@dataclass
class _Use:
    calls: int = 0
    seconds: float = 0.0
    volume: int = 0  # bytes of all calls

    def add(self, other: _Use) -> None:
        self.calls += other.calls
        self.seconds += other.seconds
        self.volume += other.volume


_Key = tuple[str, int, int]  # a collective, ranks, bytes


def read_workload(path: Path, share: float = 0.99) -> Workload:
    """Return the points that take `share` of the time in collectives, the longest first.

    Counts of v forms are measured equal, so that of such calls sizes within a factor of two are one point, of
    their mean. Raises `ProfileError` for a profile without collectives of more than one rank.
    """

    with explain.open(path) as profile:
        rows = profile.table("collectives", exclusive=True).to_dicts()
    uses, other = _uses(rows)
    for name, ranks in {key[:2] for key in uses}:
        line = sorted(key for key in uses if key[:2] == (name, ranks))
        if name in _ROOTED:
            line = _by_roots(uses, line)
        if name in _UNEVEN:
            _join(uses, line)
    if not uses:
        there = f" (it calls {', '.join(sorted(other))})" if other else ""
        raise ProfileError(f"{path}: no collective of 2 ranks or more that could be measured is in it{there}")
    points = {
        CollectivePoint(name, ranks, round(use.volume / max(use.calls, 1))): use
        for (name, ranks, _), use in uses.items()
    }
    seconds = {point: use.seconds for point, use in points.items()}
    kept = _longest(seconds, share)
    if not kept:
        most = _MOST_BYTES >> 20
        raise ProfileError(f"{path}: its collectives are of no bytes, or of more than {most} MiB")
    return Workload(
        {point: points[point].calls for point in kept},
        {point: seconds[point] for point in kept},
        other,
        sum(seconds.values()) - sum(seconds[point] for point in kept),
    )


def _uses(rows: Iterable[Mapping[str, Any]]) -> tuple[dict[_Key, _Use], dict[str, float]]:
    """Return what is in the table `collectives`, and the seconds of what cannot be measured."""
    uses: dict[_Key, _Use] = {}
    other: dict[str, float] = {}
    for row in rows:
        name, ranks = row["operation"].lower(), row["comm_size"]
        if ranks < 2:
            continue
        if name not in COLLECTIVES:
            other[row["operation"]] = other.get(row["operation"], 0.0) + row["time_total"]
            continue
        size = 0 if name == "barrier" else row["bytes"] // (ranks if name in _WHOLE else 1)
        use = _Use(row["calls"], row["time_total"], row["calls"] * size)
        uses.setdefault((name, ranks, size), _Use()).add(use)
    return uses, other


def _by_roots(uses: dict[_Key, _Use], line: list[_Key]) -> list[_Key]:
    """Return a line's roots; the call of one stands for those of all ranks, which have no bytes."""
    roots = [key for key in line if key[2]]
    if not roots:
        return line
    calls = sum(uses[key].calls for key in roots)
    waited = sum(uses.pop(key).seconds for key in line if key not in roots)
    for key in roots:
        use, ranks = uses[key], key[1]
        seconds = use.seconds + waited * use.calls / calls
        uses[key] = _Use(use.calls * ranks, seconds, use.volume * ranks)
    return roots


def _join(uses: dict[_Key, _Use], line: list[_Key]) -> None:
    """Put sizes together that are at most twice the smallest of them."""
    first = line[0]
    for key in line[1:]:
        if key[2] <= 2 * first[2]:
            uses[first].add(uses.pop(key))
        else:
            first = key


def _longest(seconds: Mapping[CollectivePoint, float], share: float) -> list[CollectivePoint]:
    total, sum_so_far = sum(seconds.values()), 0.0
    kept = []
    for point in sorted(seconds, key=lambda one: -seconds[one]):
        if point.collective == "barrier" or 0 < point.bytes <= _MOST_BYTES:
            kept.append(point)
        sum_so_far += seconds[point]
        if sum_so_far >= share * total:
            break
    return sorted(kept)


def workload_text(work: Workload, points: pl.DataFrame) -> str:
    """Return what a program's calls took, and what they take when they are measured alone, in a line."""
    own: dict[CollectivePoint, float] = {}
    best: dict[CollectivePoint, float] = {}
    for row in points.filter(status="ok").iter_rows(named=True):
        point = CollectivePoint(row["collective"], row["ranks"], row["bytes"])
        best[point] = min(best.get(point, math.inf), row["median"])
        if row["algorithm"] == DEFAULT:
            own[point] = min(own.get(point, math.inf), row["median"])
    both = [point for point in work.calls if point in own]
    took = sum(work.seconds[point] for point in both)
    alone, fastest = (sum(work.calls[point] * times[point] for point in both) for times in (own, best))
    rest = sum(work.seconds.values()) - took + work.left_out + sum(work.other.values())
    return (
        f"{time_text(took)} of all ranks' time in the program, waiting for late ranks included; measured "
        f"alone {time_text(alone)} by the library's own choice, {time_text(fastest)} by what was the fastest "
        f"at each point here; {time_text(rest)} in other collectives"
    )
