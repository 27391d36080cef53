"""Selection of the next points to measure within a budget, by their expected gain per second.

The scaling model of an algorithm predicts its time T at a point, log-normal with the model's interval. If the
best measured time is b, measuring the algorithm is expected to save E[max(0, b - T)] per call. Launches are
compared by this saving, weighted by the calls of the point and divided by the seconds of the launch. If
algorithms share a launch, the first of them pays for it.

A point is measured with a tenth of the usual calls: ten points with an error of a few percent take the time
of one with an error of 1 %, and chosen algorithms are measured again anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from haloscope.predict.bench.workload import clip_calls
from haloscope.predict.collective_growth import Growths
from haloscope.predict.law import Law
from haloscope.predict.laws import DEFAULT, Way

if TYPE_CHECKING:
    from haloscope.predict.machine import Machine

_UNKNOWN = 0.7  # standard deviation of the logarithm of an unmeasured time, given the library's default
_SLOWER = 0.2  # mean relative slowness of an algorithm compared with the default
_DEVIATIONS = 1.96
_LAUNCH = 1.0  # seconds, until a launch was measured
_ASKING = 0.02  # seconds that a running launch takes to switch to an algorithm
_WORTH = 1e-4  # smallest expected saving that is measured, as a share of all time in collectives

Place = tuple[str, int, int]
"""A collective, ranks and bytes."""


@dataclass(frozen=True)
class TrialLaunch:
    """One launch: an algorithm on a number of ranks, at these sizes."""

    way: Way
    ranks: int
    sizes: tuple[int, ...]


def reduce_calls(calls: int) -> int:
    """Return the number of calls of a point within a budget, for a usual number of calls."""
    return clip_calls(calls // 10, calls)


def expected_saving(best: float, middle: float, deviation: float) -> float:
    """Return E[max(0, best - T)] of a log-normal T."""
    if deviation <= 0:
        return max(0.0, best - math.exp(middle))
    at = (math.log(best) - middle) / deviation
    mean = math.exp(min(middle + deviation**2 / 2, 700.0))
    return max(0.0, best * _normal_probability(at) - mean * _normal_probability(at - deviation))


def _normal_probability(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2))


class Measuring:
    """Results of measurements so far, and the selection of the next launch; `weights` are calls per point.

    Algorithms of equal `kinds` share a launch on the same ranks; others have separate launches.
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
        self._predictions: dict[Way, dict[tuple[int, int], tuple[float, float]]] = {}
        self._gone: set[tuple[Way, int, int]] = set()
        self._launch = _LAUNCH

    def add(self, launch: TrialLaunch, times: Mapping[int, float], seconds: float) -> None:
        """Store the times of a launch by size, and its seconds. Missing sizes are not tried again."""
        self._gone |= {(launch.way, launch.ranks, size) for size in launch.sizes}
        spent = sum(times.values()) * self._calls
        if self._launch_key(launch) != self._open:
            self._launch += 0.2 * (max(0.05, seconds - spent) - self._launch)
        self._open = self._launch_key(launch) if launch.way in self._kinds else None
        if times:
            known = self.times.setdefault(launch.way, {})
            known.update({(launch.ranks, size): time for size, time in times.items()})
            self._laws[launch.way], self._predictions[launch.way] = Law(self._growths, known), {}

    def next(self) -> TrialLaunch | None:
        """Return the launch with the largest expected saving per second; None if no launch is worth it.

        The library's default comes first, at all points, because the others are compared with it.
        """
        own = [launch for launch in self._list_launches() if launch.way.algorithm == DEFAULT]
        if own:
            return own[0]
        best: tuple[float, TrialLaunch | None] = (0.0, None)
        least = _WORTH * sum(
            weight * min(self._measured_times(key).values(), default=0.0)
            for key, weight in self._weights.items()
        )
        places: dict[Hashable, list[TrialLaunch]] = {}
        for launch in self._list_launches():
            places.setdefault(self._launch_key(launch), []).append(launch)
        for key, launches in places.items():
            found = self._rate_launches(launches, least, _ASKING if key == self._open else self._launch)
            if found is not None and found[0] > best[0]:
                best = found
        return best[1]

    def choose_fastest(self) -> dict[Place, Way]:
        """Return the fastest measured algorithm at each point."""
        found = {}
        for point in self._weights:
            measured = self._measured_times(point)
            if measured:
                found[point] = min(measured, key=lambda way: measured[way])
        return found

    def _list_launches(self) -> Iterable[TrialLaunch]:
        for way in self._ways:
            lines: dict[int, list[int]] = {}
            for collective, ranks, size in self._weights:
                if collective == way.collective and (way, ranks, size) not in self._gone:
                    lines.setdefault(ranks, []).append(size)
            for ranks, sizes in lines.items():
                yield TrialLaunch(way, ranks, tuple(sorted(sizes)))

    def _launch_key(self, launch: TrialLaunch) -> Hashable:
        """Return the key of launches that can be combined."""
        return self._kinds.get(launch.way, launch.way), launch.way in self._kinds, launch.ranks

    def _rate_launches(
        self, launches: Sequence[TrialLaunch], least: float, cost: float
    ) -> tuple[float, TrialLaunch] | None:
        """Return the largest saving per second of combined launches, and the first launch with its sizes.

        `cost` is their time (s) besides calls. None if the saving is below `least`.
        """
        savings = [saving for launch in launches for saving in self._list_savings(launch)]
        savings.sort(key=lambda saving_: saving_[0] / saving_[1], reverse=True)
        best_ratio, most, gain = 0.0, 0, 0.0
        for count, (saving, seconds, _, _) in enumerate(savings, 1):
            gain, cost = gain + saving, cost + seconds
            if gain / cost > best_ratio:
                best_ratio, most = gain / cost, count
        taken = savings[:most]
        if not taken or sum(saving_[0] for saving_ in taken) < least:
            return None
        first = taken[0][2]
        sizes = tuple(sorted(size for _, _, launch, size in taken if launch is first))
        return best_ratio, TrialLaunch(first.way, first.ranks, sizes)

    def _list_savings(self, launch: TrialLaunch) -> Iterable[tuple[float, float, TrialLaunch, int]]:
        """Yield the expected saving of each size of a launch, and the seconds of its calls."""
        for size in launch.sizes:
            point = launch.way.collective, launch.ranks, size
            best = min(self._measured_times(point).values(), default=None)
            if best is None:
                continue
            middle, deviation = self._predict(launch.way, launch.ranks, size, point)
            saving = self._weights[point] * expected_saving(best, middle, deviation)
            yield saving, self._calls * math.exp(min(middle, math.log(100 * best))), launch, size

    def _measured_times(self, point: Place) -> dict[Way, float]:
        collective, ranks, size = point
        return {
            way: known[ranks, size]
            for way, known in self.times.items()
            if way.collective == collective and (ranks, size) in known
        }

    def _predict(self, way: Way, ranks: int, size: int, point: Place) -> tuple[float, float]:
        """Return the expected logarithm of the time, and its standard deviation."""
        own = self.times.get(Way(way.collective, DEFAULT), {}).get((ranks, size))
        fallback = math.log(own or min(self._measured_times(point).values())) + _SLOWER
        if way not in self._laws:
            return fallback, _UNKNOWN
        predictions = self._predictions[way]
        if (ranks, size) not in predictions:
            predictions[ranks, size] = self._laws[way].log_estimate(ranks, size)
        middle, width = predictions[ranks, size]
        if not math.isfinite(middle) or not math.isfinite(width):
            return (middle if math.isfinite(middle) else fallback), _UNKNOWN
        return middle, min(_UNKNOWN, width / _DEVIATIONS)


def measure_within(
    measuring: Measuring, measure: Callable[[TrialLaunch], tuple[Mapping[int, float], float]], budget: float
) -> float:
    """Measure until `budget` seconds are over or no launch is worth it; return the seconds taken.

    `measure` returns the time at each size, and the seconds of the launch.
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
