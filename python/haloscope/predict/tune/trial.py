"""Measurements by `bench`: all algorithms at points, and interleaved default and tuned runs."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.base.errors import RecorderError
from haloscope.predict.bench.grid import LaunchPoints, group_points, shuffle_launches
from haloscope.predict.bench.launches import Launches, measure
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.surroundings import describe_environment
from haloscope.predict.bench.sweep import Sweep, SweepJournal, make_row
from haloscope.predict.bench.sweep_records import identify_point
from haloscope.predict.bench.workload import CollectivePoint
from haloscope.predict.budget import Measuring, TrialLaunch, measure_within, reduce_calls
from haloscope.predict.laws import Way
from haloscope.predict.mpi_library import DEFAULT, Algorithm
from haloscope.predict.tune.choice import Candidate, correct_holm
from haloscope.predict.tune.verification import Bench

Step = Callable[[str], None]
_TUNED = "tuned"
_OWN = Candidate()


@dataclass(frozen=True)
class Trial:
    """The times (s) of one point, one per round, with the library's default and with the rules."""

    default: Floats
    tuned: Floats

    @property
    def gains(self) -> Floats:
        """The logarithms of default / tuned, one per round."""
        return np.log(self.default / self.tuned)


def count_steps(
    bench: Bench, points: Sequence[CollectivePoint], segments: Sequence[int], launches: int = 1
) -> int:
    """Return the number of points that `measure_all` measures."""
    return launches * sum(len(unit.sizes) for unit in _make_launches(bench, points, segments))


def measure_all(
    bench: Bench,
    points: Sequence[CollectivePoint],
    segments: Sequence[int],
    method: CollectiveMethod,
    step: Step,
) -> Sweep:
    """Measure every algorithm at these points in random order, in `method.launches` launches each."""
    order = random.Random(method.seed)
    units = [
        replace(unit, launch=launch)
        for launch in range(method.launches)
        for unit in shuffle_launches(_make_launches(bench, points, segments), order)
    ]
    journal = _make_journal(bench, method)
    measure(units, bench.library, method, journal, step)
    return Sweep.of(journal.environment, list(journal.points.values()))


def measure_best(
    bench: Bench,
    calls: Mapping[CollectivePoint, int],
    segments: Sequence[int],
    method: CollectiveMethod,
    budget: float,
    step: Step,
) -> Sweep:
    """Measure for `budget` seconds, in order of the expected gain for a program with these numbers of calls.

    The library's default is measured at all points, even beyond the budget. Each point has a tenth of the
    method's calls.
    """
    method = replace(method, iterations=reduce_calls(method.iterations), warmup=reduce_calls(method.warmup))
    units = {
        Way(unit.collective, unit.algorithm.name, unit.segment): unit
        for unit in _make_launches(bench, list(calls), segments)
    }
    journal = _make_journal(bench, method)
    weights = {(point.collective, point.ranks, point.bytes): float(number) for point, number in calls.items()}
    selected = {way: bench.library.select(unit.algorithm) for way, unit in units.items()}
    kinds = {way: algorithm.settings for way, algorithm in selected.items() if algorithm is not None}
    measuring = Measuring(units, weights, method.iterations + method.warmup, kinds=kinds)

    def measured(launch: TrialLaunch) -> tuple[dict[int, float], float]:
        begin = time.monotonic()
        unit = replace(units[launch.way], ranks=launch.ranks, sizes=launch.sizes)
        launches.measure(unit)
        rows = [make_row(journal.points[identify_point(unit.point(size))]) for size in launch.sizes]
        medians = {row["bytes"]: row["median"] for row in rows if row["status"] == "ok"}
        return medians, time.monotonic() - begin

    with Launches(bench.library, method, journal, step) as launches:
        measure_within(measuring, measured, budget)
    return Sweep.of(journal.environment, list(journal.points.values()))


def _make_launches(
    bench: Bench, points: Sequence[CollectivePoint], segments: Sequence[int]
) -> list[LaunchPoints]:
    return [
        LaunchPoints(algorithm.with_segment(segment), segment, 0, ranks, bench.mapping, sizes)
        for (collective, ranks), sizes in group_points(points).items()
        for algorithm in bench.library.algorithms(collective)
        for segment in (segments if algorithm.segments else (0,))
    ]


def measure_both(
    bench: Bench,
    points: Sequence[CollectivePoint],
    environment: Mapping[str, str],
    method: CollectiveMethod,
    rounds: int,
    step: Step,
) -> dict[CollectivePoint, Trial]:
    """Measure default and tuned alternately in separate launches, in random order."""
    random_order = random.Random(method.seed + 1)
    found: dict[CollectivePoint, tuple[list[float], list[float]]] = {point: ([], []) for point in points}
    for _ in range(rounds):
        for (collective, ranks), sizes in group_points(points).items():
            ways = [Algorithm(collective), Algorithm(collective, _TUNED, None, tuple(environment.items()))]
            random_order.shuffle(ways)
            order = tuple(random_order.sample(sizes, len(sizes)))
            journal = _make_journal(bench, method)
            units = [LaunchPoints(way, 0, 0, ranks, bench.mapping, order) for way in ways]
            measure(units, bench.library, method, journal, step)
            _collect(Sweep.of(journal.environment, list(journal.points.values())), found)
    return {point: Trial(np.array(a), np.array(b)) for point, (a, b) in found.items()}


def _collect(sweep: Sweep, found: Mapping[CollectivePoint, tuple[list[float], list[float]]]) -> None:
    for row in sweep.points.iter_rows(named=True):
        point = CollectivePoint(row["collective"], row["ranks"], row["bytes"])
        if row["status"] != "ok":
            way = "with the rules" if row["algorithm"] == _TUNED else "without rules"
            raise RecorderError(f"{point} {way}: {row['reason']}")
        found[point][row["algorithm"] == _TUNED].append(row["median"])


def _make_journal(bench: Bench, method: CollectiveMethod) -> SweepJournal:
    about: dict[str, Any] = describe_environment(bench.library.name, "", method.words())
    return SweepJournal(about, None)


def find_algorithm(bench: Bench, collective: str, name: str, segment: int, fanout: int) -> Algorithm:
    """Return the library's algorithm with this name. Raises `RecorderError` if there is none."""
    for algorithm in bench.library.algorithms(collective):
        if algorithm.name == name and name != DEFAULT:
            return replace(algorithm).with_segment(segment).with_fanout(fanout)
    raise RecorderError(
        f"{bench.library.name} has no algorithm {name} for {collective}: it was measured with "
        "a different library or version; measure this one (haloscope bench collective)"
    )


def gain_interval(logarithms: Floats, level: float = 0.05) -> tuple[float, ...]:
    """Return the geometric mean of gains, one per round, and its interval by Student's t."""
    from scipy.stats import t

    count, middle = len(logarithms), float(np.mean(logarithms))
    if count < 2:
        return math.exp(middle), 0.0, math.inf
    half = float(t.ppf(1 - level / 2, count - 1) * np.std(logarithms, ddof=1) / math.sqrt(count))
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def mean_gain(trials: Mapping[CollectivePoint, Trial], level: float = 0.05) -> tuple[float, ...]:
    """Return the geometric mean over all points, with its interval over the rounds."""
    return gain_interval(np.mean([trial.gains for trial in trials.values()], axis=0), level)


def find_useless(
    chosen: Mapping[CollectivePoint, Candidate], trials: Mapping[CollectivePoint, Trial], level: float = 0.05
) -> set[CollectivePoint]:
    """Return the points whose rule has no significant gain, or slows them down significantly.

    A rule is tested over all of its sizes together, because they share the launches of a round. One
    significantly slower point is enough to drop it. Holm's correction applies over rules, and over points.
    """
    runs = group_runs(chosen)
    gained = correct_holm([_p_value([trials[p] for p in run], "greater") for run in runs])
    late = find_slower(trials, level)
    dropped: set[CollectivePoint] = set()
    for run, p in zip(runs, gained, strict=True):
        if p >= level or late.intersection(run):
            dropped.update(run)
    return dropped


def find_slower(trials: Mapping[CollectivePoint, Trial], level: float = 0.05) -> set[CollectivePoint]:
    """Return the points that are significantly slower with the rules."""
    points = list(trials)
    p_values = correct_holm([_p_value([trials[point]], "less") for point in points])
    return {point for point, p in zip(points, p_values, strict=True) if p < level}


def group_runs(chosen: Mapping[CollectivePoint, Candidate]) -> list[list[CollectivePoint]]:
    """Return the points of each rule: neighbours in size with the same choice, except the library's
    default."""
    runs: list[list[CollectivePoint]] = []
    before: CollectivePoint | None = None
    for point in sorted(chosen):
        line = before is not None and (before.collective, before.ranks) == (point.collective, point.ranks)
        if chosen[point] != _OWN:
            if line and before and chosen[before] == chosen[point]:
                runs[-1].append(point)
            else:
                runs.append([point])
        before = point
    return runs


def _p_value(trials: Sequence[Trial], alternative: Literal["greater", "less"]) -> float:
    """Return the p-value of the gains by a one-sided t-test over the rounds."""
    from scipy.stats import ttest_1samp

    rounds = np.mean([trial.gains for trial in trials], axis=0)
    if len(rounds) < 2:
        return 1.0
    if np.ptp(rounds) == 0:
        return 0.0 if (rounds[0] > 0) == (alternative == "greater") and rounds[0] else 1.0
    return float(ttest_1samp(rounds, 0.0, alternative=alternative).pvalue)
