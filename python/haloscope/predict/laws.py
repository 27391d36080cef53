"""Scaling models of all algorithms of a sweep, the calibration of their intervals, and choices by them."""

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
_HELD = 0.95  # nominal coverage of the intervals
_ALIKE = (
    0.02  # largest relative difference of times at which an algorithm is identified as the library's default
)
_ENOUGH = 20  # smallest number of errors that determines widths


@dataclass(frozen=True, order=True)
class Way:
    """An algorithm of a collective with its segment size and fan-out; 0 is the algorithm's default."""

    collective: str
    algorithm: str
    segment: int = 0
    fanout: int = 0


@dataclass(frozen=True)
class Decision:
    """The choice, its expected time, and that of the library's default."""

    way: Way
    expected: Estimate
    default: Estimate
    fastest: Way
    """The algorithm with the smallest expected time, significant or not."""

    fastest_time: Estimate
    """The expected time of the fastest algorithm."""

    @property
    def gain(self) -> float:
        """The expected ratio of the default's time to that of the fastest algorithm."""
        return self.default.time / self.fastest_time.time

    @property
    def is_significant(self) -> bool:
        """Whether an algorithm is significantly faster than the library's default."""
        return self.way.algorithm != DEFAULT


Times = Mapping[tuple[int, int], float]


class CollectiveLaws:
    """Scaling models of every measured algorithm."""

    def __init__(self, times: Mapping[Way, Times], machine: Machine | None = None) -> None:
        self._growths = Growths(machine)
        self._times = times
        # With the nominal coverage, by models without the last two numbers of ranks, or every second size.
        self._widths = self._calibrate_width(_drop_ranks, 1), self._calibrate_width(_drop_sizes, 2)
        self._laws = {way: Law(self._growths, points, widths=self._widths) for way, points in times.items()}

    @classmethod
    def of(cls, points: pl.DataFrame, machine: Machine | None = None) -> CollectiveLaws:
        """Return the models of the measured points of a sweep, on a machine if its model is given.

        The machine's levels determine the cost of messages that cross more levels than the measured ones.
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
        """Return the models of a machine's measured points. Raises `UsageError` if it has none."""
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
        """The collectives with models."""
        return tuple(sorted({way.collective for way in self._laws}))

    def list_ways(self, collective: str) -> list[Way]:
        """Return all measured variants of a collective, including the library's default."""
        return sorted(way for way in self._laws if way.collective == collective)

    def estimate(self, way: Way, ranks: int, size: int) -> Estimate:
        """Return the time of a variant with its interval. Raises `UsageError` if it was not measured."""
        if way not in self._laws:
            raise UsageError(f"{way.collective} {way.algorithm}: was not measured, so there is no model")
        if way.algorithm == DEFAULT:
            return self._estimate_default(way, ranks, size)
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
        """Return the fastest variant if it is significantly faster than the default, else the default.

        A variant is significantly faster if the 95 % interval of the ratio of their times is below 1, by the
        share `margin`.

        Args:
            collective: Name of the collective.
            ranks: Number of ranks.
            size: Bytes, as OSU counts them.
            among: Variants to choose from; by default all.
            margin: Smallest relevant gain, as a share.
        """
        default = Way(collective, DEFAULT)
        ways = [way for way in (among or self.list_ways(collective)) if way != default and way in self._laws]
        own = self.estimate(default, ranks, size) if default in self._laws else _UNKNOWN
        if not ways:
            return Decision(default, own, own, default, own)
        expected = {way: self.estimate(way, ranks, size) for way in ways}
        ordered = sorted(ways, key=lambda way: expected[way].time)
        for way in ordered:
            if expected[way].is_significantly_below(own, margin):
                return Decision(way, expected[way], own, ordered[0], expected[ordered[0]])
        return Decision(default, own, own, ordered[0], expected[ordered[0]])

    def _estimate_default(self, way: Way, ranks: int, size: int) -> Estimate:
        """Return the time of the algorithm that the default is at the nearest points, else of its own model.

        The default has no model of its own: where it changes the algorithm, no model fits its times.
        """
        own = self._laws[way].estimate(ranks, size)
        stand_ins = list(self._identify_default(way, ranks, size))
        if not stand_ins or None in stand_ins:
            return own
        found = [self._laws[item].estimate(ranks, size) for item in stand_ins if item is not None]
        middle = float(np.exp(np.mean([np.log(item.time) for item in found])))
        return Estimate(middle, min(item.low for item in found), max(item.high for item in found))

    def _identify_default(self, way: Way, ranks: int, size: int) -> Iterator[Way | None]:
        """Yield the algorithms that the default was around a point; None for an unknown one."""
        law, times = self._laws[way], self._times[way]
        for count in _find_neighbours(law.ranks.tolist(), ranks):
            for near in _find_neighbours(law.sizes.tolist(), size):
                time = times.get((count, near))
                if time is None:
                    continue
                yield self._find_equal(way, count, near, time)

    def _find_equal(self, way: Way, ranks: int, size: int, time: float) -> Way | None:
        off = {
            other: abs(points[ranks, size] / time - 1)
            for other, points in self._times.items()
            if other.collective == way.collective and other != way and (ranks, size) in points
        }
        best = min(off, key=lambda other: off[other], default=None)
        return best if best is not None and off[best] <= _ALIKE else None

    def _calibrate_width(self, fewer: Callable[[Times], Times], part: int) -> Width:
        rows: list[tuple[float, float, float]] = []
        for points in self._times.values():
            seen = fewer(points)
            law = Law(self._growths, seen) if seen else None
            for point, time in points.items():
                if law is not None and point not in seen:
                    predicted = law.estimate_parts(*point)
                    distance = max(law.distance(point[0]), 0.5) if part == 1 else 1.0
                    rows.append((abs(float(np.log(time)) - predicted[0]), predicted[part], distance))
        errors = np.array([row for row in rows if np.isfinite(row).all()])
        if len(errors) < _ENOUGH:
            return Width()
        return Width.of(errors[:, 0], errors[:, 1], errors[:, 2], _HELD)


_UNKNOWN = Estimate(float("nan"), 0.0, float("inf"))


def _find_neighbours(values: list[int], value: int) -> list[int]:
    """Return the value if it is in the list, else the values next to it."""
    if value in values:
        return [value]
    below, above = (
        [candidate for candidate in values if candidate < value],
        [candidate for candidate in values if candidate > value],
    )
    return ([below[-1]] if below else []) + ([above[0]] if above else [])


def _drop_ranks(points: Times) -> Times:
    ranks = sorted({count for count, _ in points})
    return {point: time for point, time in points.items() if point[0] in ranks[:-2]} if len(ranks) > 4 else {}


def _drop_sizes(points: Times) -> Times:
    sizes = sorted({size for _, size in points})
    sizes_left = {*sizes[::2], *sizes[-1:]}
    return {point: time for point, time in points.items() if point[1] in sizes_left} if len(sizes) > 3 else {}
