"""Which points to measure next, where not all can be: those by which choices should gain the most a second.

What is known of an algorithm is its law. At a point where the best that was measured takes b seconds,
measuring an algorithm is expected to save E[max(0, b - T)] a call, T being log-normal with the law's
interval; weighed by how often the point is called, and divided by the seconds that the launch takes, that is
what launches are compared by. Where algorithms share a launch, the first of them pays for it.

A point is measured by a tenth of the calls that it is measured by elsewhere: so ten points are known to a few
per cent in the time of one that is known to one per cent, and what is chosen is measured again anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from haloscope.predict.bench.workload import enough
from haloscope.predict.collective_growth import Growths
from haloscope.predict.law import Law
from haloscope.predict.laws import DEFAULT, Way

if TYPE_CHECKING:
    from haloscope.predict.machine import Machine

_UNKNOWN = 0.7  # deviation of the logarithm of a time of which nothing is known but the library's own choice
_SLOWER = 0.2  # by which an algorithm is slower than that, in the mean
_DEVIATIONS = 1.96
_LAUNCH = 1.0  # seconds, until one has been seen
_ASKING = 0.02  # seconds that a launch which is there takes to begin with an algorithm
_WORTH = 1e-4  # of all time in collectives: what is expected to save less is not measured

Place = tuple[str, int, int]
"""A collective, ranks and bytes."""


@dataclass(frozen=True)
class TrialLaunch:
    """One launch: a way on so many ranks, at these sizes."""

    way: Way
    ranks: int
    sizes: tuple[int, ...]


def few_calls(calls: int) -> int:
    """Return how many calls of a point are enough where time is short, of so many otherwise."""
    return enough(calls // 10, calls)


def expected_saving(best: float, middle: float, deviation: float) -> float:
    """Return E[max(0, best - T)] of a T whose logarithm is normal."""
    if deviation <= 0:
        return max(0.0, best - math.exp(middle))
    at = (math.log(best) - middle) / deviation
    mean = math.exp(min(middle + deviation**2 / 2, 700.0))
    return max(0.0, best * _normal(at) - mean * _normal(at - deviation))


def _normal(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2))


class Measuring:
    """What is measured so far of points that are called `weights` times each, and what to measure next.

    Ways of the same of `kinds` share a launch on the same ranks; others have launches of their own.
    """

    def __init__(
        self,
        ways: Iterable[Way],
        weights: Mapping[Place, float],
        calls: int,
        machine: Machine | None = None,
        kinds: Mapping[Way, Hashable] | None = None,
    ) -> None:
        self._ways, self._weights, self._calls = tuple(ways), dict(weights), calls
        self._kinds = dict(kinds or {})
        self._open: Hashable = None
        self._growths = Growths(machine)
        self.times: dict[Way, dict[tuple[int, int], float]] = {}
        self._laws: dict[Way, Law] = {}
        self._said: dict[Way, dict[tuple[int, int], tuple[float, float]]] = {}
        self._gone: set[tuple[Way, int, int]] = set()
        self._launch = _LAUNCH

    def add(self, launch: TrialLaunch, times: Mapping[int, float], seconds: float) -> None:
        """Note what a launch brought, by size, and its seconds; a size that is missing is not tried again."""
        self._gone |= {(launch.way, launch.ranks, size) for size in launch.sizes}
        spent = sum(times.values()) * self._calls
        if self._place(launch) != self._open:
            self._launch += 0.2 * (max(0.05, seconds - spent) - self._launch)
        self._open = self._place(launch) if launch.way in self._kinds else None
        if times:
            known = self.times.setdefault(launch.way, {})
            known.update({(launch.ranks, size): time for size, time in times.items()})
            self._laws[launch.way], self._said[launch.way] = Law(self._growths, known), {}

    def next(self) -> TrialLaunch | None:
        """Return what should save the most for each second of measuring; None where nothing is worth it.

        The library's own choice comes first, at all points: that is what the others are compared with.
        """
        own = [launch for launch in self._launches() if launch.way.algorithm == DEFAULT]
        if own:
            return own[0]
        best: tuple[float, TrialLaunch | None] = (0.0, None)
        least = _WORTH * sum(
            weight * min(self._there(place).values(), default=0.0) for place, weight in self._weights.items()
        )
        places: dict[Hashable, list[TrialLaunch]] = {}
        for launch in self._launches():
            places.setdefault(self._place(launch), []).append(launch)
        for place, launches in places.items():
            found = self._worth(launches, least, _ASKING if place == self._open else self._launch)
            if found is not None and found[0] > best[0]:
                best = found
        return best[1]

    def chosen(self) -> dict[Place, Way]:
        """Return the fastest way at each point among those that were measured there."""
        found = {}
        for place in self._weights:
            there = self._there(place)
            if there:
                found[place] = min(there, key=lambda way: there[way])
        return found

    def _launches(self) -> Iterable[TrialLaunch]:
        for way in self._ways:
            lines: dict[int, list[int]] = {}
            for collective, ranks, size in self._weights:
                if collective == way.collective and (way, ranks, size) not in self._gone:
                    lines.setdefault(ranks, []).append(size)
            for ranks, sizes in lines.items():
                yield TrialLaunch(way, ranks, tuple(sorted(sizes)))

    def _place(self, launch: TrialLaunch) -> Hashable:
        """What launches have in common that can be one."""
        return self._kinds.get(launch.way, launch.way), launch.way in self._kinds, launch.ranks

    def _worth(
        self, launches: Sequence[TrialLaunch], least: float, cost: float
    ) -> tuple[float, TrialLaunch] | None:
        """Return the most that launches at one place save a second, with which to begin and at which sizes.

        They cost so many seconds besides their calls. None if what they save is below `least`.
        """
        savings = [saving for launch in launches for saving in self._savings(launch)]
        savings.sort(key=lambda one: one[0] / one[1], reverse=True)
        best_ratio, most, gain = 0.0, 0, 0.0
        for count, (saving, seconds, _, _) in enumerate(savings, 1):
            gain, cost = gain + saving, cost + seconds
            if gain / cost > best_ratio:
                best_ratio, most = gain / cost, count
        taken = savings[:most]
        if not taken or sum(one[0] for one in taken) < least:
            return None
        first = taken[0][2]
        sizes = tuple(sorted(size for _, _, launch, size in taken if launch is first))
        return best_ratio, TrialLaunch(first.way, first.ranks, sizes)

    def _savings(self, launch: TrialLaunch) -> Iterable[tuple[float, float, TrialLaunch, int]]:
        """Yield what each size of a launch is expected to save, and the seconds of its calls."""
        for size in launch.sizes:
            place = launch.way.collective, launch.ranks, size
            best = min(self._there(place).values(), default=None)
            if best is None:
                continue
            middle, deviation = self._expected(launch.way, launch.ranks, size, place)
            saving = self._weights[place] * expected_saving(best, middle, deviation)
            yield saving, self._calls * math.exp(min(middle, math.log(100 * best))), launch, size

    def _there(self, place: Place) -> dict[Way, float]:
        collective, ranks, size = place
        return {
            way: known[ranks, size]
            for way, known in self.times.items()
            if way.collective == collective and (ranks, size) in known
        }

    def _expected(self, way: Way, ranks: int, size: int, place: Place) -> tuple[float, float]:
        """Return the logarithm of the time that is expected, and its deviation."""
        own = self.times.get(Way(way.collective, DEFAULT), {}).get((ranks, size))
        fallback = math.log(own or min(self._there(place).values())) + _SLOWER
        if way not in self._laws:
            return fallback, _UNKNOWN
        said = self._said[way]
        if (ranks, size) not in said:
            said[ranks, size] = self._laws[way].logarithm(ranks, size)
        middle, width = said[ranks, size]
        if not math.isfinite(middle) or not math.isfinite(width):
            return (middle if math.isfinite(middle) else fallback), _UNKNOWN
        return middle, min(_UNKNOWN, width / _DEVIATIONS)


def measure_within(
    measuring: Measuring, measure: Callable[[TrialLaunch], tuple[Mapping[int, float], float]], budget: float
) -> float:
    """Measure until `budget` seconds are over, or nothing is worth it; return the seconds taken.

    `measure` returns the time at each size, and the seconds that the launch took.
    """
    taken = 0.0
    while taken < budget:
        launch = measuring.next()
        if launch is None:
            break
        times, seconds = measure(launch)
        measuring.add(launch, times, seconds)
        taken += seconds
    return taken
