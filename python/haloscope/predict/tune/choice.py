"""Selection of algorithms that are significantly faster than the library's default.

For each collective and number of ranks, the candidates at a size are the algorithms that are significantly
faster, and by more than a margin. The tests are one-sided tests on the logarithms of launches' medians, or
Welch tests on those of batches if there is one launch each; Holm's correction covers all comparisons. The
selection then minimises the total time over the sizes, where each change of the algorithm costs the margin,
so that noise does not create a rule for a single size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import TimingsError, UsageError
from haloscope.predict.bench.sweep import Sweep
from haloscope.predict.bench.workload import CollectivePoint
from haloscope.predict.laws import CollectiveLaws
from haloscope.predict.machine import Machine
from haloscope.predict.prediction import choose, predict
from haloscope.predict.tune.tuning_rules import DEFAULT, TuningRule, count_bytes

# A tuned point; its name in `haloscope.predict.tune`.
Point = CollectivePoint

_BATCHES = 20
_UNSIZED = frozenset({"alltoallv", "barrier"})


@dataclass(frozen=True, order=True)
class Candidate:
    """An algorithm with its segment size and fan-out; 0 is the library's default."""

    name: str = DEFAULT
    number: int = 0
    segment: int = 0
    fanout: int = 0


_OWN = Candidate()


# The times of a point: logarithms of medians of batches of iterations, by candidate and launch.
Batches = Mapping[Candidate, "Sequence[Floats]"]


def choose_from(sweep: Sweep, margin: float = 0.05, level: float = 0.05) -> dict[CollectivePoint, Candidate]:
    """Return the choice for each measured point: `Candidate()` if no algorithm is significantly faster."""
    points = _collect_points(sweep)
    faster = _find_faster(points, margin, level)
    chosen: dict[CollectivePoint, Candidate] = {}
    lines = dict.fromkeys((point.collective, point.ranks) for point in points)
    for collective, ranks in lines:
        line = sorted(point for point in points if (point.collective, point.ranks) == (collective, ranks))
        chosen |= zip(line, _find_path([faster[point] for point in line], math.log1p(margin)), strict=True)
    return chosen


def _collect_points(sweep: Sweep) -> dict[CollectivePoint, dict[Candidate, list[Floats]]]:
    rows = sweep.points.with_row_index("row")
    mappings = rows["mapping"].unique().to_list()
    if len(mappings) > 1:
        raise UsageError(
            "the sweep has several mappings of ranks, which rules cannot distinguish: "
            f"{', '.join(map(str, mappings))}; measure with one"
        )
    points: dict[CollectivePoint, dict[Candidate, list[Floats]]] = {}
    for row in rows.iter_rows(named=True):
        point = CollectivePoint(row["collective"], row["ranks"], row["bytes"])
        if row["ranks"] >= 2 and row["status"] == "ok":
            launches = points.setdefault(point, {}).setdefault(_make_candidate(row), [])
            launches.append(batch_medians(sweep.samples(row["row"])))
    compared = {key: value for key, value in points.items() if _OWN in value and len(value) > 1}
    if not compared:
        raise TimingsError(
            "nothing to choose from: no point with 2 ranks or more has measurements of both the library's "
            "default and another algorithm"
        )
    return compared


def _make_candidate(row: Mapping[str, Any]) -> Candidate:
    if row["algorithm"] == DEFAULT:
        return _OWN
    extras = row["segment"] or 0, row["fanout"] or 0
    return Candidate(row["algorithm"], row["number"] or 0, *extras)


def batch_medians(samples: Integers) -> Floats:
    """Return logarithms of the medians of batches of iterations, of the slowest rank.

    Successive iterations are correlated; medians of a few dozen iterations are nearly independent.
    """
    longest = np.maximum(samples.astype(np.float64).max(axis=0), 1.0)
    parts = np.array_split(longest, max(1, min(_BATCHES, len(longest) // 3)))
    return np.log(np.array([np.median(part) for part in parts], dtype=np.float64))


def _find_faster(
    points: Mapping[CollectivePoint, Batches], margin: float, level: float
) -> dict[CollectivePoint, dict[Candidate, float]]:
    """Return the significantly faster candidates at each point, with the logarithm of the ratio."""
    pairs = [
        (point, candidate) for point, times in points.items() for candidate in times if candidate != _OWN
    ]
    p_values = [_p_value(points[point], candidate) for point, candidate in pairs]
    found: dict[CollectivePoint, dict[Candidate, float]] = {point: {_OWN: 0.0} for point in points}
    for (point, candidate), p in zip(pairs, correct_holm(p_values), strict=True):
        ratio = _mean_median(points[point][candidate]) - _mean_median(points[point][_OWN])
        if p < level and ratio <= -math.log1p(margin):
            found[point][candidate] = ratio
    return found


def _mean_median(launches: Sequence[Floats]) -> float:
    return float(np.mean([np.median(batch) for batch in launches]))


def _p_value(times: Batches, candidate: Candidate) -> float:
    """Return the p-value of the candidate being faster than the library's default.

    The variance between launches is pooled over all candidates of the point.
    """
    ours, default = times[candidate], times[_OWN]
    free = sum(len(launches) - 1 for launches in times.values())
    if min(len(ours), len(default)) < 2 or free < 2:
        return _welch_p_value(ours[0], default[0])
    from scipy.stats import t

    medians = [np.array([np.median(batch) for batch in launches]) for launches in times.values()]
    variance = sum(float(((of_one - of_one.mean()) ** 2).sum()) for of_one in medians) / free
    ratio = _mean_median(ours) - _mean_median(default)
    if variance == 0:
        return 0.0 if ratio < 0 else 1.0
    return float(t.cdf(ratio / math.sqrt(variance * (1 / len(ours) + 1 / len(default))), free))


def _welch_p_value(ours: Floats, default: Floats) -> float:
    """Return the p-value of the candidate being faster, by Welch's test."""
    from scipy.stats import t

    if min(len(ours), len(default)) < 3:
        return 1.0
    difference = float(ours.mean() - default.mean())
    squares = [float(times.var(ddof=1)) / len(times) for times in (ours, default)]
    error = math.sqrt(sum(squares))
    # Exact times of a simulation differ by rounding only.
    if error <= 10 * np.finfo(float).eps * abs(float(default.mean())):
        return 0.0 if difference < -error else 1.0
    freedom = sum(squares) ** 2 / sum(
        square**2 / (len(times) - 1) for square, times in zip(squares, (ours, default), strict=True)
    )
    return float(t.cdf(difference / error, freedom))


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values after Holm's correction for the number of tests."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [1.0] * len(p_values)
    most = 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, p_values[i] * (len(p_values) - rank)))
        corrected[i] = most
    return corrected


def _find_path(options: Sequence[Mapping[Candidate, float]], penalty: float) -> list[Candidate]:
    """Return one candidate per size that minimises the sum of logarithms and of penalties for changes."""
    costs: dict[Candidate, float] = {}
    trace: list[dict[Candidate, Candidate]] = []
    for option in options:
        now: dict[Candidate, float] = {}
        before: dict[Candidate, Candidate] = {}
        for candidate, gain in option.items():
            ways = {last: cost + penalty * (last != candidate) for last, cost in costs.items()}
            before[candidate] = min(ways, key=lambda last: ways[last]) if ways else candidate
            now[candidate] = gain + (ways[before[candidate]] if ways else 0.0)
        costs = now
        trace.append(before)
    path = [min(costs, key=lambda candidate: costs[candidate])]
    for before in reversed(trace[1:]):
        path.append(before[path[-1]])
    return path[::-1]


def make_rules(chosen: Mapping[CollectivePoint, Candidate]) -> list[TuningRule]:
    """Return rules for runs of consecutive sizes with one choice; the library decides elsewhere.

    A run extends from its first to its last measured size: unmeasured sizes are not changed, except between
    two neighbours with the same choice.
    """
    rules: list[TuningRule] = []
    last: tuple[CollectivePoint, Candidate] | None = None
    for point in sorted(chosen):
        choice = chosen[point]
        same = last is not None and _line_of(last[0]) == _line_of(point)
        if last and (not same or last[1] != choice):
            rules += _make_end_rule(*last)
        if not (same and last and last[1] == choice) and choice != _OWN:
            rules.append(_make_rule(point, choice))
        last = point, choice
    rules += _make_end_rule(*last) if last else []
    # If one run ends where the next begins, the next one applies.
    by_place = {}
    for rule in sorted(rules, key=lambda rule: not rule.is_default):
        by_place[rule.collective, rule.ranks, rule.bytes] = rule
    return sorted(by_place.values())


def _line_of(point: CollectivePoint) -> tuple[str, int]:
    return point.collective, point.ranks


def _make_rule(point: CollectivePoint, choice: Candidate) -> TuningRule:
    size = count_bytes(point.collective, point.ranks, point.bytes)
    rest = choice.name, choice.number, choice.segment, choice.fanout
    return TuningRule(point.collective, point.ranks, size, *rest)


def _make_end_rule(point: CollectivePoint, choice: Candidate) -> list[TuningRule]:
    if choice == _OWN or point.collective in _UNSIZED:
        return []
    size = count_bytes(point.collective, point.ranks, point.bytes)
    return [TuningRule(point.collective, point.ranks, size + 1)]


def make_model_points(
    machine: Machine, collectives: Sequence[str], ranks: Sequence[int], sizes: Sequence[int]
) -> list[CollectivePoint]:
    """Return the points of the grid, by default for all fitted collectives."""
    fitted = {model.collective for model in machine.fitted}
    if not fitted:
        raise UsageError(
            f"{machine.name}: has no models of algorithms; "
            "haloscope bench fit MACHINE SWEEP.jsonl -o FITTED.yaml makes them"
        )
    unknown = sorted(set(collectives) - fitted)
    if unknown:
        raise UsageError(
            f"{machine.name}: nothing was fitted to {', '.join(unknown)}; choose "
            f"from {', '.join(sorted(fitted))}"
        )
    return [
        CollectivePoint(collective, count, 0 if collective == "barrier" else size)
        for collective in (collectives or sorted(fitted))
        for count in ranks
        for size in ([0] if collective == "barrier" else sizes)
    ]


def choose_by_model(
    machine: Machine, points: Iterable[CollectivePoint], margin: float = 0.05, *, tried: bool = False
) -> dict[CollectivePoint, Candidate]:
    """Return the algorithms that are significantly faster than the default, by more than the margin.

    An algorithm is significantly faster if the intervals of the scaling models do not overlap; they widen
    with the distance from measured points. If the default was not measured, no algorithm is significantly
    faster. If the machine's file has no points, the fastest of its models is taken.

    Args:
        machine: Machine model with fitted algorithms.
        points: Points to choose for.
        margin: Smallest relevant gain, as a share.
        tried: Whether the choice is tested in real runs afterwards; then an expected gain is enough.
    """
    measured = {model.collective for model in machine.fitted if model.times}
    laws = CollectiveLaws.of_machine(machine) if measured else None
    numbers = {(model.collective, model.algorithm): model.number or 0 for model in machine.fitted}
    chosen: dict[CollectivePoint, Candidate] = {}
    for point in points:
        if laws is not None and point.collective in measured:
            decision = laws.choose(point.collective, point.ranks, point.bytes, margin=margin)
            bold = tried and decision.gain > 1 + margin
            way = decision.fastest if bold else decision.way
            found = Candidate(way.algorithm, numbers[way.collective, way.algorithm], way.segment, way.fanout)
            chosen[point] = found if bold or decision.is_significant else _OWN
        else:
            chosen[point] = _choose_by_models(machine, point, margin)
    return chosen


def _choose_by_models(machine: Machine, point: CollectivePoint, margin: float) -> Candidate:
    """Return the fastest algorithm by models without intervals, or the default if it is not much slower."""
    best = choose(machine, point.collective, point.ranks, point.bytes)
    if any((model.collective, model.algorithm) == (point.collective, DEFAULT) for model in machine.fitted):
        own = predict(machine, point.collective, DEFAULT, point.ranks, point.bytes)
        if own < best.time * (1 + margin):
            return _OWN
    return Candidate(best.algorithm, best.number or 0, best.segment, best.fanout)
