"""Measures through `bench`: all algorithms at points, and default against tuned, interleaved."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.errors import RecorderError
from haloscope.predict.bench._collective import Method, measure
from haloscope.predict.bench._grid import Unit
from haloscope.predict.bench._journal import Journal
from haloscope.predict.bench._mpi_library import DEFAULT, Algorithm
from haloscope.predict.bench._surroundings import surroundings
from haloscope.predict.bench._sweep import Sweep
from haloscope.predict.tune._verify import Bench, Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Trial", "known", "measure_all", "measure_both", "steps_of_all", "steps_of_both"]

Step = Callable[[str], None]
_TUNED = "tuned"


@dataclass(frozen=True)
class Trial:
    """The times of one point, one a round, by the library's own choice and by the rules."""

    default: NDArray[np.float64]
    tuned: NDArray[np.float64]

    @property
    def gains(self) -> NDArray[np.float64]:
        """The logarithms of default / tuned, one a round."""
        return np.log(self.default / self.tuned)


def _lines(points: Iterable[Point]) -> dict[tuple[str, int], tuple[int, ...]]:
    """The sizes of each collective and number of ranks."""
    lines: dict[tuple[str, int], list[int]] = {}
    for point in sorted(points):
        lines.setdefault((point.collective, point.ranks), []).append(point.bytes)
    return {line: tuple(sizes) for line, sizes in lines.items()}


def steps_of_all(bench: Bench, points: Sequence[Point], segments: Sequence[int]) -> int:
    """Return how many points `measure_all` measures."""
    return sum(len(unit.sizes) for unit in _units(bench, points, segments))


def measure_all(
    bench: Bench, points: Sequence[Point], segments: Sequence[int], method: Method, step: Step
) -> Sweep:
    """Measure every algorithm of the library at these points, in random order."""
    units = _units(bench, points, segments)
    random.Random(method.seed).shuffle(units)
    kept = _journal(bench, method)
    measure(units, bench.library, method, kept, step)
    return Sweep.of(kept.environment, list(kept.points.values()))


def _units(bench: Bench, points: Sequence[Point], segments: Sequence[int]) -> list[Unit]:
    return [
        Unit(one.with_segment(segment), segment, 0, ranks, bench.mapping, sizes)
        for (collective, ranks), sizes in _lines(points).items()
        for one in bench.library.algorithms(collective)
        for segment in (segments if one.segments else (0,))
    ]


def steps_of_both(points: Sequence[Point], rounds: int) -> int:
    """How many points `measure_both` measures."""
    return 2 * rounds * len(points)


def measure_both(
    bench: Bench,
    points: Sequence[Point],
    environment: Mapping[str, str],
    method: Method,
    rounds: int,
    step: Step,
) -> dict[Point, Trial]:
    """Measure default and tuned in turn, each a launch of its own, which of them first by lot."""
    lot = random.Random(method.seed + 1)
    found: dict[Point, tuple[list[float], list[float]]] = {point: ([], []) for point in points}
    for _ in range(rounds):
        for (collective, ranks), sizes in _lines(points).items():
            ways = [Algorithm(collective), Algorithm(collective, _TUNED, None, _pairs(environment))]
            lot.shuffle(ways)
            order = tuple(lot.sample(sizes, len(sizes)))
            kept = _journal(bench, method)
            units = [Unit(one, 0, 0, ranks, bench.mapping, order) for one in ways]
            measure(units, bench.library, method, kept, step)
            _collect(Sweep.of(kept.environment, list(kept.points.values())), found)
    return {point: Trial(np.array(a), np.array(b)) for point, (a, b) in found.items()}


def _pairs(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(environment.items())


def _collect(sweep: Sweep, found: Mapping[Point, tuple[list[float], list[float]]]) -> None:
    for row in sweep.points.iter_rows(named=True):
        point = Point(row["collective"], row["ranks"], row["bytes"])
        if row["status"] != "ok":
            way = "with the rules" if row["algorithm"] == _TUNED else "without rules"
            raise RecorderError(f"{point} {way}: {row['reason']}")
        found[point][row["algorithm"] == _TUNED].append(row["median"])


def _journal(bench: Bench, method: Method) -> Journal:
    about: dict[str, Any] = surroundings(bench.library.name, "", method.words())
    return Journal(about, None)


def known(bench: Bench, collective: str, name: str, segment: int, fanout: int) -> Algorithm:
    """The library's algorithm of that name. Raises `RecorderError` if it has none."""
    for one in bench.library.algorithms(collective):
        if one.name == name and name != DEFAULT:
            return replace(one).with_segment(segment).with_fanout(fanout)
    raise RecorderError(
        f"{bench.library.name} has no algorithm {name} for {collective}: it was measured with "
        "another library or version; measure again with this one (haloscope bench collective)"
    )
