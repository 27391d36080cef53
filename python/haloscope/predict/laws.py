"""Laws of all algorithms of a sweep, how wide their intervals have to be, and what to choose by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import UsageError
from haloscope.predict.collective_growth import Growths
from haloscope.predict.law import Estimate, Law, Width

if TYPE_CHECKING:
    import polars as pl

    from haloscope.predict.machine import Machine

DEFAULT = "default"
_HELD = 0.95  # the share of points that an interval should hold
_ALIKE = 0.02  # relative difference of times up to which the library's choice is taken to be an algorithm
_ENOUGH = 20  # errors from which widths can be told


@dataclass(frozen=True, order=True)
class Way:
    """How a collective is done: an algorithm with its segment and fan-out; 0 is the algorithm's own."""

    collective: str
    algorithm: str
    segment: int = 0
    fanout: int = 0


@dataclass(frozen=True)
class Decision:
    """What to use, what it should take, and what the library's own choice should."""

    way: Way
    expected: Estimate
    default: Estimate
    fastest: Way
    """The algorithm with the least expected time, sure or not."""

    fastest_time: Estimate
    """What that one should take."""

    @property
    def gain(self) -> float:
        """How many times as long as the fastest the library's own choice should take."""
        return self.default.time / self.fastest_time.time

    @property
    def sure(self) -> bool:
        """True if an algorithm is faster than the library's own choice for certain."""
        return self.way.algorithm != DEFAULT


Times = Mapping[tuple[int, int], float]


class CollectiveLaws:
    """What was measured of every algorithm, as laws that go beyond it."""

    def __init__(self, times: Mapping[Way, Times], machine: Machine | None = None) -> None:
        self._growths = Growths(machine)
        self._times = times
        self._widths = self._calibrated()
        self._laws = {way: Law(self._growths, points, widths=self._widths) for way, points in times.items()}

    @classmethod
    def of(cls, points: pl.DataFrame, machine: Machine | None = None) -> CollectiveLaws:
        """Return the laws of the points of a sweep that were measured, on a machine if it is described.

        A machine's levels tell what messages cost that cross more of them than any that was measured.
        """
        times: dict[Way, dict[tuple[int, int], float]] = {}
        columns = ("collective", "algorithm", "segment", "fanout", "ranks", "bytes", "time")
        done = points.filter((points["status"] == "ok") & (points["time"] > 0) & (points["ranks"] >= 2))
        for collective, algorithm, segment, fanout, ranks, size, time in done.select(columns).iter_rows():
            way = Way(collective, algorithm, segment or 0, fanout or 0)
            times.setdefault(way, {})[ranks, size] = time
        if not times:
            raise UsageError("the sweep has no measured point of two or more ranks")
        return cls(times, machine)

    @classmethod
    def of_machine(cls, machine: Machine) -> CollectiveLaws:
        """Return the laws of its measured points. Raises `UsageError` if it has none."""
        times: dict[Way, dict[tuple[int, int], float]] = {}
        for model in machine.fitted:
            for ranks, size, segment, fanout, time in model.times:
                way = Way(model.collective, model.algorithm, segment, fanout)
                if ranks >= 2 and time > 0:
                    times.setdefault(way, {})[ranks, size] = time
        if not times:
            raise UsageError(
                f"{machine.name}: has no measured points of algorithms;"
                " haloscope bench fit MACHINE SWEEP.jsonl -o FITTED.yaml keeps them"
            )
        return cls(times, machine)

    @property
    def collectives(self) -> tuple[str, ...]:
        """Those that have laws."""
        return tuple(sorted({way.collective for way in self._laws}))

    def ways(self, collective: str) -> list[Way]:
        """Return all ways of a collective, the library's own choice among them."""
        return sorted(way for way in self._laws if way.collective == collective)

    def estimate(self, way: Way, ranks: int, size: int) -> Estimate:
        """Return the time of a way with its interval. Raises `UsageError` if it was not measured."""
        if way not in self._laws:
            raise UsageError(
                f"{way.collective} {way.algorithm}: was not measured, so nothing says how it grows"
            )
        if way.algorithm == DEFAULT:
            return self._of_default(way, ranks, size)
        return self._laws[way].estimate(ranks, size)

    def choose(
        self,
        collective: str,
        ranks: int,
        size: int,
        *,
        among: Iterable[Way] | None = None,
        margin: float = 0.0,
    ) -> Decision:
        """Return the fastest way if it is faster than the library's own choice for certain, else that.

        For certain is where the 95 % interval of the ratio of their times lies on one side of 1, by the share
        `margin`. Among several such ways the fastest is taken. `among` are the ways that may be taken.
        """
        default = Way(collective, DEFAULT)
        ways = [one for one in (among or self.ways(collective)) if one != default and one in self._laws]
        own = self.estimate(default, ranks, size) if default in self._laws else _UNKNOWN
        if not ways:
            return Decision(default, own, own, default, own)
        expected = {way: self.estimate(way, ranks, size) for way in ways}
        ordered = sorted(ways, key=lambda way: expected[way].time)
        for way in ordered:
            if expected[way].surely_below(own, margin):
                return Decision(way, expected[way], own, ordered[0], expected[ordered[0]])
        return Decision(default, own, own, ordered[0], expected[ordered[0]])

    def _of_default(self, way: Way, ranks: int, size: int) -> Estimate:
        """Return what the algorithm takes that the choice was at the nearest points, else by its own law.

        A choice has no growth of its own: where it changes from one algorithm to another, no law of its times
        holds.
        """
        own = self._laws[way].estimate(ranks, size)
        stand_ins = list(self._stand_ins(way, ranks, size))
        if not stand_ins or None in stand_ins:
            return own
        found = [self._laws[one].estimate(ranks, size) for one in stand_ins if one is not None]
        middle = float(np.exp(np.mean([np.log(one.time) for one in found])))
        return Estimate(middle, min(one.low for one in found), max(one.high for one in found))

    def _stand_ins(self, way: Way, ranks: int, size: int) -> Iterator[Way | None]:
        """Yield the algorithms that were the choice around a point; None for an unknown one."""
        law, times = self._laws[way], self._times[way]
        for count in _find_neighbours(law.ranks.tolist(), ranks):
            for near in _find_neighbours(law.sizes.tolist(), size):
                time = times.get((count, near))
                if time is None:
                    continue
                yield self._alike(way, count, near, time)

    def _alike(self, way: Way, ranks: int, size: int, time: float) -> Way | None:
        off = {
            one: abs(points[ranks, size] / time - 1)
            for one, points in self._times.items()
            if one.collective == way.collective and one != way and (ranks, size) in points
        }
        best = min(off, key=lambda one: off[one], default=None)
        return best if best is not None and off[best] <= _ALIKE else None

    def _calibrated(self) -> tuple[Width, Width]:
        """Return widths that hold as many points beyond the others as they should, for ranks and for sizes.

        Those are left out of laws that are made for this alone, and then compared with them: the last two
        numbers of ranks, and every second size.
        """
        return self._width(_fewer_ranks, 1), self._width(_fewer_sizes, 2)

    def _width(self, fewer: Callable[[Times], Times], part: int) -> Width:
        rows: list[tuple[float, float, float]] = []
        for points in self._times.values():
            seen = fewer(points)
            law = Law(self._growths, seen) if seen else None
            for place, time in points.items():
                if law is not None and place not in seen:
                    said = law.parts(*place)
                    distance = max(law.distance(place[0]), 0.5) if part == 1 else 1.0
                    rows.append((abs(float(np.log(time)) - said[0]), said[part], distance))
        errors = np.array([row for row in rows if np.isfinite(row).all()])
        if len(errors) < _ENOUGH:
            return Width()
        return Width.of(errors[:, 0], errors[:, 1], errors[:, 2], _HELD)


_UNKNOWN = Estimate(float("nan"), 0.0, float("inf"))


def _find_neighbours(values: list[int], value: int) -> list[int]:
    """Return the value if it is there, else those next to it."""
    if value in values:
        return [value]
    below, above = [one for one in values if one < value], [one for one in values if one > value]
    return ([below[-1]] if below else []) + ([above[0]] if above else [])


def _fewer_ranks(points: Times) -> Times:
    ranks = sorted({count for count, _ in points})
    return {place: time for place, time in points.items() if place[0] in ranks[:-2]} if len(ranks) > 4 else {}


def _fewer_sizes(points: Times) -> Times:
    sizes = sorted({size for _, size in points})
    kept = {*sizes[::2], *sizes[-1:]}
    return {place: time for place, time in points.items() if place[1] in kept} if len(sizes) > 3 else {}
