"""Rates of false statements about regimes, and of detected differences, for known distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from common import Estimate, emit
from laws import autoregressive, stays, table_1
from numpy.typing import NDArray
from scipy.stats import binomtest

from haloscope.markov import ClaimMethod as Method
from haloscope.markov import RegimeModel, RegimeOptions, Timings, analyse, claims
from haloscope.markov.statistics import episodes

Floats = NDArray[np.float64]
Law = Callable[[np.random.Generator], Floats]

ALLOWED, EPISODES_ALLOWED = 0.07, 0.05  # shares of comparisons, and of runs, with a false statement
RUNS = 3  # of a method
SLOWER = 1.1  # the slowdown for which power is measured


def report_rate(
    case: str, hits: Iterable[bool], allowed: float | None = None, *, wanted: bool = False
) -> None:
    """Emit a rate in percent; the ratio is the share of correct results, with its exact interval."""
    found = np.array(list(hits))
    good = found if wanted else ~found
    test = binomtest(int(good.sum()), len(good))
    interval = test.proportion_ci(method="exact")
    emit(
        "regimes",
        f"{case}, {len(good)} times",
        ours=100 * float(found.mean()),
        peer=100.0 if wanted else 100 * (allowed or 0.0),
        peer_name="all" if wanted else "nothing to aim at" if allowed is None else "allowed",
        unit="%",
        ratio=Estimate(float(test.statistic), interval.low, interval.high),
        target=None if allowed is None else 1 - allowed,
    )


def _alone(shape: str) -> dict[str, Law]:
    """Return the distributions of single runs."""
    ranks, instances = map(int, shape.split(" x "))
    return {
        f"independent ranks, {shape}": lambda random: table_1(random, ranks, instances),
        f"AR(0.98), {shape}": lambda random: autoregressive(random, ranks, instances, 0.98),
    }


def _differ(first: list[Floats], second: list[Floats]) -> bool:
    """Return whether a claim about two methods states that one is faster."""
    methods = [
        Method(
            name,
            [
                analyse(Timings.from_matrix(times, f"{name}{number}"), RegimeOptions(emission="gaussian"))
                for number, times in enumerate(runs)
            ],
        )
        for name, runs in (("A", first), ("B", second))
    ]
    return any(claim.sure for claim in claims(methods))


def _pair(random: np.random.Generator, law: Law, runs: int, effect: float, slower: float) -> bool:
    """Compare two methods, one `slower` than the other; runs of a method differ by `effect`."""
    first, second = (
        [factor * np.exp(effect * random.normal()) * law(random) for _ in range(runs)]
        for factor in (1.0, slower)
    )
    return _differ(first, second)


def measure_comparisons(repetitions: int) -> None:
    """Print rates of claims "faster" or "slower" for equal distributions, and for 10 % difference."""
    single = {**_alone("4 x 500"), **_alone("1 x 300")}
    for name, law in single.items():
        hits = [_pair(np.random.default_rng(i), law, 1, 0, 1) for i in range(repetitions)]
        report_rate(f"alike, one run a side, {name}: called different", hits, ALLOWED)
    fewer = max(repetitions // 2, 1)
    random_of = np.random.default_rng
    hits = [
        _differ([table_1(random_of(i), 4, 500)], [table_1(random_of(1 << 20 | i), 4, 500, 0.45)])
        for i in range(fewer)
    ]
    report_rate("slow regime 33 % and 45 %, one run a side: called different", hits)
    law = single["independent ranks, 4 x 500"]
    for effect in (0.0, 0.01, 0.03):
        hits = [_pair(random_of(i), law, RUNS, effect, 1) for i in range(repetitions)]
        case = f"{RUNS} runs a side, {100 * effect:g} % from run to run"
        report_rate(f"alike, {case}: called different", hits, ALLOWED)
        hits = [_pair(random_of(i), law, RUNS, effect, SLOWER) for i in range(fewer)]
        report_rate(f"10 % apart, {case}: called different", hits, wanted=True)
    hits = [_pair(random_of(i), law, 1, 0, SLOWER) for i in range(fewer)]
    report_rate("10 % apart, one run a side: called different", hits, wanted=True)


def _has_episode(random: np.random.Generator, ranks: int, instances: int, planted: int) -> bool:
    """Return whether a machine-wide episode is found; if `planted`, of about this number of instances."""
    states = stays(random, ranks, instances, 0.93, np.array([0.45, 0.45, 0.1])).astype(np.uint8)
    begin = int(random.integers(0, instances - planted)) if planted else 0
    inside = slice(begin, begin + planted)
    states[:, inside] = np.where(random.random((ranks, planted)) < 0.8, 2, states[:, inside])
    durations = np.array([1e-3, 2e-3, 5e-3])[states]
    hosts = tuple(f"node{rank // 16}" for rank in range(ranks))
    found = episodes(durations, states, 3, ranks=np.arange(ranks), hosts=hosts)
    machine = found.filter(found["kind"] == "machine")
    if planted:
        machine = machine.filter(machine["first"].is_between(begin - planted, begin + planted))
    return len(machine) > 0


def measure_episodes(repetitions: int) -> None:
    """Print rates of machine-wide episodes: false ones of independent ranks, and planted ones."""
    for ranks in (2, 8, 20, 64):
        for instances in (400, 2000):
            hits = [_has_episode(np.random.default_rng(i), ranks, instances, 0) for i in range(repetitions)]
            case = f"{ranks} independent ranks x {instances}: a machine-wide episode"
            report_rate(case, hits, EPISODES_ALLOWED)
        for planted in (20, 100):
            hits = [
                _has_episode(np.random.default_rng(i), ranks, 2000, planted)
                for i in range(max(repetitions // 4, 1))
            ]
            case = f"{ranks} ranks x 2000, all slow at {planted}: found"
            report_rate(case, hits, wanted=True)


def measure_starts(repetitions: int) -> None:
    """Print how often the fit finds the paper's Table 1: two regimes are close to the slow one's flank."""
    hits = []
    for seed in range(repetitions):
        found = RegimeModel(3).fit(table_1(np.random.default_rng(seed), 20, 8192))
        hits.append(bool(np.allclose(found.means_, [1.79e-3, 1.89e-3, 2.89e-3], rtol=0.02)))
    report_rate("RegimeModel(3) finds Table 1, 20 x 8192", hits, 0.0, wanted=True)
