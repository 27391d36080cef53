"""The collectives of a program by its profile: sizes, numbers of ranks, calls and times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haloscope import explain
from haloscope.base.errors import ProfileError
from haloscope.base.units import noun_text, time_text
from haloscope.predict.mpi_library import COLLECTIVES, DEFAULT

if TYPE_CHECKING:
    import polars as pl

_MOST_BYTES = 1 << 26
_FEWEST = 10  # smallest number of calls for a median
# Profiles store the bytes for all ranks: of a scatter at its root, of an all-to-all at each rank.
_WHOLE = frozenset({"alltoall", "alltoallv", "scatter", "scatterv"})
_ROOTED = ("scatter", "scatterv")
_UNEVEN = frozenset({"allgatherv", "alltoallv", "gatherv", "scatterv"})


@dataclass(frozen=True, order=True)
class CollectivePoint:
    """A collective with its number of ranks and its size, as OSU counts it."""

    collective: str
    ranks: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.collective} of {self.bytes} B on {noun_text(self.ranks, 'rank')}"


@dataclass(frozen=True)
class Workload:
    """Calls of each point, summed over ranks, and its time by the profile (s)."""

    calls: Mapping[CollectivePoint, int]
    seconds: Mapping[CollectivePoint, float]
    other: Mapping[str, float] = field(default_factory=dict)
    """Time in collectives that cannot be measured, by name (s)."""
    omitted: float = 0.0
    """Time at points that are omitted because their share is small (s)."""

    def iterations(self, most: int) -> dict[CollectivePoint, int]:
        """Return the number of measured calls of each point, in proportion to its calls by the program.

        The most frequent point is measured `most` times or as often as the program calls it, whichever is
        less. Rare points are measured ten times, or `most` times if that is less.
        """
        counts = {point: number / point.ranks for point, number in self.calls.items()}
        share = min(1.0, most / max(counts.values()))
        return {point: clip_calls(round(share * number), most) for point, number in counts.items()}


def clip_calls(calls: int, most: int) -> int:
    """Return the number of calls to measure: `calls`, but at least ten, or `most` if that is less."""
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
    """Return the points that take `share` of the time in collectives.

    Collectives with a count per rank are measured with equal counts. Their sizes within a factor of two are
    one point, with the mean size.

    Raises:
        ProfileError: The profile has no collective of more than one rank that can be measured.
    """

    with explain.open(path) as profile:
        rows = profile.table("collectives", exclusive=True).to_dicts()
    uses, other = _read_uses(rows)
    for name, ranks in {key[:2] for key in uses}:
        line = sorted(key for key in uses if key[:2] == (name, ranks))
        if name in _ROOTED:
            line = _keep_roots(uses, line)
        if name in _UNEVEN:
            _merge_sizes(uses, line)
    if not uses:
        called = f" (the program calls {', '.join(sorted(other))})" if other else ""
        raise ProfileError(f"{path}: no measurable collective of at least 2 ranks{called}")
    points = {
        CollectivePoint(name, ranks, round(use.volume / max(use.calls, 1))): use
        for (name, ranks, _), use in uses.items()
    }
    seconds = {point: use.seconds for point, use in points.items()}
    chosen = _select_longest(seconds, share)
    if not chosen:
        most = _MOST_BYTES >> 20
        raise ProfileError(f"{path}: its collectives have 0 bytes or more than {most} MiB")
    return Workload(
        {point: points[point].calls for point in chosen},
        {point: seconds[point] for point in chosen},
        other,
        sum(seconds.values()) - sum(seconds[point] for point in chosen),
    )


def _read_uses(rows: Iterable[Mapping[str, Any]]) -> tuple[dict[_Key, _Use], dict[str, float]]:
    """Return the uses in the table `collectives`, and the time of collectives that cannot be measured (s)."""
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


def _keep_roots(uses: dict[_Key, _Use], line: list[_Key]) -> list[_Key]:
    """Return the keys of roots, whose calls represent those of all ranks, which have no bytes."""
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


def _merge_sizes(uses: dict[_Key, _Use], line: list[_Key]) -> None:
    """Merge sizes that are at most twice the smallest of them."""
    first = line[0]
    for key in line[1:]:
        if key[2] <= 2 * first[2]:
            uses[first].add(uses.pop(key))
        else:
            first = key


def _select_longest(seconds: Mapping[CollectivePoint, float], share: float) -> list[CollectivePoint]:
    total, sum_so_far = sum(seconds.values()), 0.0
    chosen = []
    for point in sorted(seconds, key=lambda point: -seconds[point]):
        if point.collective == "barrier" or 0 < point.bytes <= _MOST_BYTES:
            chosen.append(point)
        sum_so_far += seconds[point]
        if sum_so_far >= share * total:
            break
    return sorted(chosen)


def workload_text(work: Workload, points: pl.DataFrame) -> str:
    """Return a line that compares the time of a program's calls with measurements of them alone."""
    own: dict[CollectivePoint, float] = {}
    best: dict[CollectivePoint, float] = {}
    for row in points.filter(status="ok").iter_rows(named=True):
        point = CollectivePoint(row["collective"], row["ranks"], row["bytes"])
        best[point] = min(best.get(point, math.inf), row["median"])
        if row["algorithm"] == DEFAULT:
            own[point] = min(own.get(point, math.inf), row["median"])
    both = [point for point in work.calls if point in own]
    recorded = sum(work.seconds[point] for point in both)
    alone, fastest = (sum(work.calls[point] * times[point] for point in both) for times in (own, best))
    rest = sum(work.seconds.values()) - recorded + work.omitted + sum(work.other.values())
    return (
        f"time of all ranks in the program {time_text(recorded)}, including waiting for late ranks; measured "
        f"alone {time_text(alone)} with the library's own choice, {time_text(fastest)} with the fastest "
        f"algorithm of each point; {time_text(rest)} in other collectives"
    )
