"""Choosing an algorithm where measurements say that it is faster than the library's own choice.

Per collective and number of ranks: which algorithms are significantly faster at a size (one-sided
tests on the logarithms of launches' medians, or where each was launched once Welch tests on those of
batches; Holm's correction over all that is compared), and by more than a margin; then the way through the
sizes that takes least, where each change of the algorithm costs the margin as well, so that noise does not
make a rule of its own for a size.
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
from haloscope.predict.tune.tuning_rules import DEFAULT, TuningRule, counted_bytes

# What is tuned; its name in `haloscope.predict.tune`.
Point = CollectivePoint

_BATCHES = 20
_UNSIZED = frozenset({"alltoallv", "barrier"})


@dataclass(frozen=True, order=True)
class Candidate:
    """An algorithm with its segment size and fan-out; 0 is the library's own."""

    name: str = DEFAULT
    number: int = 0
    segment: int = 0
    fanout: int = 0


_OWN = Candidate()


# The times of a point: for each candidate and each of its launches, logarithms of the medians of batches of
# iterations.
Batches = Mapping[Candidate, "Sequence[Floats]"]


def choose_from(sweep: Sweep, margin: float = 0.05, level: float = 0.05) -> dict[CollectivePoint, Candidate]:
    """Return what to use at each measured point: `Candidate()` where nothing is surely faster."""
    points = _points(sweep)
    faster = _faster(points, margin, level)
    chosen: dict[CollectivePoint, Candidate] = {}
    lines = dict.fromkeys((one.collective, one.ranks) for one in points)
    for collective, ranks in lines:
        line = sorted(one for one in points if (one.collective, one.ranks) == (collective, ranks))
        chosen |= zip(line, _path([faster[one] for one in line], math.log1p(margin)), strict=True)
    return chosen


def _points(sweep: Sweep) -> dict[CollectivePoint, dict[Candidate, list[Floats]]]:
    rows = sweep.points.with_row_index("row")
    mappings = rows["mapping"].unique().to_list()
    if len(mappings) > 1:
        raise UsageError(
            "the sweep has several mappings of ranks, which rules cannot tell apart: "
            f"{', '.join(map(str, mappings))}; measure with one"
        )
    points: dict[CollectivePoint, dict[Candidate, list[Floats]]] = {}
    for row in rows.iter_rows(named=True):
        point = CollectivePoint(row["collective"], row["ranks"], row["bytes"])
        if row["ranks"] >= 2 and row["status"] == "ok":
            launches = points.setdefault(point, {}).setdefault(_candidate(row), [])
            launches.append(batches(sweep.samples(row["row"])))
    compared = {key: value for key, value in points.items() if _OWN in value and len(value) > 1}
    if not compared:
        raise TimingsError(
            "nothing to choose from: at no point of at least 2 ranks are both the library's own "
            "choice (default) and another algorithm measured"
        )
    return compared


def _candidate(row: Mapping[str, Any]) -> Candidate:
    if row["algorithm"] == DEFAULT:
        return _OWN
    extras = row["segment"] or 0, row["fanout"] or 0
    return Candidate(row["algorithm"], row["number"] or 0, *extras)


def batches(samples: Integers) -> Floats:
    """Return logarithms of the medians of batches of iterations, of the rank that takes longest.

    Successive iterations are not independent; medians of some dozen of them nearly are.
    """
    longest = np.maximum(samples.astype(np.float64).max(axis=0), 1.0)
    parts = np.array_split(longest, max(1, min(_BATCHES, len(longest) // 3)))
    return np.log(np.array([np.median(part) for part in parts], dtype=np.float64))


def _faster(
    points: Mapping[CollectivePoint, Batches], margin: float, level: float
) -> dict[CollectivePoint, dict[Candidate, float]]:
    """Return the candidates that are faster for certain at each point, with the ratio's logarithm."""
    pairs = [(point, one) for point, times in points.items() for one in times if one != _OWN]
    p_values = [_probability(points[point], one) for point, one in pairs]
    found: dict[CollectivePoint, dict[Candidate, float]] = {point: {_OWN: 0.0} for point in points}
    for (point, one), p in zip(pairs, holm(p_values), strict=True):
        ratio = _middle(points[point][one]) - _middle(points[point][_OWN])
        if p < level and ratio <= -math.log1p(margin):
            found[point][one] = ratio
    return found


def _middle(launches: Sequence[Floats]) -> float:
    return float(np.mean([np.median(batch) for batch in launches]))


def _probability(times: Batches, one: Candidate) -> float:
    """Return the probability of such times if the candidate were not faster than the library's own choice.

    What launches of the same differ by is pooled over all candidates of the point.
    """
    ours, default = times[one], times[_OWN]
    free = sum(len(launches) - 1 for launches in times.values())
    if min(len(ours), len(default)) < 2 or free < 2:
        return _welch(ours[0], default[0])
    from scipy.stats import t

    medians = [np.array([np.median(batch) for batch in launches]) for launches in times.values()]
    variance = sum(float(((of_one - of_one.mean()) ** 2).sum()) for of_one in medians) / free
    ratio = _middle(ours) - _middle(default)
    if variance == 0:
        return 0.0 if ratio < 0 else 1.0
    return float(t.cdf(ratio / math.sqrt(variance * (1 / len(ours) + 1 / len(default))), free))


def _welch(ours: Floats, default: Floats) -> float:
    """Return the probability of such times if the candidate were not faster."""
    from scipy.stats import ttest_ind

    if min(len(ours), len(default)) < 3:
        return 1.0
    if float(ours.std() + default.std()) == 0:  # a simulation's: exact
        return 0.0 if ours.mean() < default.mean() else 1.0
    return float(ttest_ind(ours, default, equal_var=False, alternative="less").pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values after Holm's correction for the number of tests."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [1.0] * len(p_values)
    most = 0.0
    for place, i in enumerate(order):
        most = max(most, min(1.0, p_values[i] * (len(p_values) - place)))
        corrected[i] = most
    return corrected


def _path(options: Sequence[Mapping[Candidate, float]], penalty: float) -> list[Candidate]:
    """Return one candidate a size, so that the sum of logarithms and of what changes cost is least."""
    costs: dict[Candidate, float] = {}
    trace: list[dict[Candidate, Candidate]] = []
    for option in options:
        now: dict[Candidate, float] = {}
        before: dict[Candidate, Candidate] = {}
        for one, gain in option.items():
            ways = {last: cost + penalty * (last != one) for last, cost in costs.items()}
            before[one] = min(ways, key=lambda last: ways[last]) if ways else one
            now[one] = gain + (ways[before[one]] if ways else 0.0)
        costs = now
        trace.append(before)
    path = [min(costs, key=lambda one: costs[one])]
    for before in reversed(trace[1:]):
        path.append(before[path[-1]])
    return path[::-1]


def rules_of(chosen: Mapping[CollectivePoint, Candidate]) -> list[TuningRule]:
    """Return rules for runs of sizes with one choice; between and beyond them the library decides.

    A run reaches from its first to its last measured size: what was not measured is not touched,
    except between two neighbours with the same choice.
    """
    rules: list[TuningRule] = []
    last: tuple[CollectivePoint, Candidate] | None = None
    for point in sorted(chosen):
        choice = chosen[point]
        same = last is not None and _line(last[0]) == _line(point)
        if last and (not same or last[1] != choice):
            rules += _end(*last)
        if not (same and last and last[1] == choice) and choice != _OWN:
            rules.append(_rule(point, choice))
        last = point, choice
    rules += _end(*last) if last else []
    # Where one run ends and the next begins at the same byte, the next one holds.
    by_place = {}
    for rule in sorted(rules, key=lambda rule: not rule.default):
        by_place[rule.collective, rule.ranks, rule.bytes] = rule
    return sorted(by_place.values())


def _line(point: CollectivePoint) -> tuple[str, int]:
    return point.collective, point.ranks


def _rule(point: CollectivePoint, choice: Candidate) -> TuningRule:
    size = counted_bytes(point.collective, point.ranks, point.bytes)
    rest = choice.name, choice.number, choice.segment, choice.fanout
    return TuningRule(point.collective, point.ranks, size, *rest)


def _end(point: CollectivePoint, choice: Candidate) -> list[TuningRule]:
    if choice == _OWN or point.collective in _UNSIZED:
        return []
    size = counted_bytes(point.collective, point.ranks, point.bytes)
    return [TuningRule(point.collective, point.ranks, size + 1)]


def model_points(
    machine: Machine, collectives: Sequence[str], ranks: Sequence[int], sizes: Sequence[int]
) -> list[CollectivePoint]:
    """Return the grid, over what was fitted where nothing is asked for."""
    fitted = {one.collective for one in machine.fitted}
    if not fitted:
        raise UsageError(
            f"{machine.name}: has no models of algorithms; "
            "haloscope bench fit MACHINE SWEEP.jsonl -o FITTED.yaml makes them"
        )
    unknown = sorted(set(collectives) - fitted)
    if unknown:
        raise UsageError(
            f"{machine.name}: nothing was fitted to {', '.join(unknown)}; there is "
            f"{', '.join(sorted(fitted))}"
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
    """Return what is faster than the library's own choice for certain, and by more than the margin.

    What is `tried` in real runs afterwards, where it has to hold, need only be expected to be faster.

    For certain is what the laws of the measured points say: their intervals, which grow with the distance
    from what was measured, do not overlap. Where the library's own choice was not measured nothing is
    certain, and where no points are kept in the machine's file, the fastest of its models is taken.
    """
    kept = {one.collective for one in machine.fitted if one.times}
    laws = CollectiveLaws.of_machine(machine) if kept else None
    numbers = {(one.collective, one.algorithm): one.number or 0 for one in machine.fitted}
    chosen: dict[CollectivePoint, Candidate] = {}
    for point in points:
        if laws is not None and point.collective in kept:
            decision = laws.choose(point.collective, point.ranks, point.bytes, margin=margin)
            bold = tried and decision.gain > 1 + margin
            way = decision.fastest if bold else decision.way
            found = Candidate(way.algorithm, numbers[way.collective, way.algorithm], way.segment, way.fanout)
            chosen[point] = found if bold or decision.sure else _OWN
        else:
            chosen[point] = _by_models(machine, point, margin)
    return chosen


def _by_models(machine: Machine, point: CollectivePoint, margin: float) -> Candidate:
    """Return the fastest by models without intervals; the library's own where it is not much slower."""
    best = choose(machine, point.collective, point.ranks, point.bytes)
    if any((one.collective, one.algorithm) == (point.collective, DEFAULT) for one in machine.fitted):
        own = predict(machine, point.collective, DEFAULT, point.ranks, point.bytes)
        if own < best.time * (1 + margin):
            return _OWN
    return Candidate(best.algorithm, best.number or 0, best.segment, best.fanout)
