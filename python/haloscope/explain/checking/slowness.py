"""Tests for slower times: whether repeated runs are significantly slower, and the detectable slowdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, permutation_test, t

from haloscope.base.units import noun_text
from haloscope.markov.statistics import faster_by_runs

# Family-wise error rate: share of checks in which any time fails by chance, if all are measured again.
_WRONG = 0.01
_PERMUTATIONS = 19_999
_DRAWN = 2000  # bootstrap samples for the scatter of the faster half
_LEAST_HALF = 4  # smallest number of runs whose change is estimated
_LARGEST = 0.5  # slowdown (share); a larger one says that the times vary too much
_FOUND = 0.95  # share of the detectable slowdowns that are found, if times are normally distributed


@dataclass(frozen=True)
class Slowness:
    """Whether runs are significantly slower, and the slowdown as text."""

    sure: bool
    text: str


def mean_faster_half(times: Sequence[float]) -> float:
    """Return the geometric mean of the faster half of the times, as disturbances only make times longer."""
    return float(np.exp(_mean_smaller_half(np.log(times))))


def _mean_smaller_half(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the mean of the smaller half, including the median of an odd number."""
    half = (values.shape[axis] + 1) // 2
    least = np.partition(values, half - 1, axis=axis)
    return np.asarray(least.take(range(half), axis=axis).mean(axis=axis))


def looks_slow(learned: Sequence[float], found: float, slower: float) -> bool:
    """Return whether a time has at least half of the slowdown that fails, so that it is measured again."""
    return found > mean_faster_half(learned) * (1 + slower / 2)


def judge_slowdown(learned: Sequence[float], again: Sequence[float], slower: float, rules: int) -> Slowness:
    """Test whether `again` takes significantly longer than `learned`, by the share `slower` or more.

    The family-wise error rate of 1 % is divided by the number of time `rules` and by two tests per rule.
    The first is Welch's test of the means without the slowest and fastest tenth. The second is a permutation
    test of the faster half, which disturbances of single runs do not affect.

    Args:
        learned: Times (s) of the learned runs.
        again: Times (s) of the repeated runs.
        slower: Smallest relevant slowdown, as a share.
        rules: Number of rules about times.
    """
    row = faster_by_runs(again, learned, 1 - _WRONG / rules)
    if row["faster_high"] is None:
        return Slowness(True, "the repeated runs have no such time")
    longer, low, high = (-row[key] for key in ("faster", "faster_high", "faster_low"))
    text = f"{longer:+.1f} % [{low:+.1f}, {high:+.1f}] in {noun_text(len(again), 'repeated run')}"
    if low > 0 and longer >= 100 * slower:
        return Slowness(True, text)
    quick = 100 * (mean_faster_half(again) / mean_faster_half(learned) - 1)
    if quick < 100 * slower or _permutation_p_value(learned, again) >= _WRONG / 2 / rules:
        return Slowness(False, text)
    return Slowness(True, f"{quick:+.1f} % in the faster half of {noun_text(len(again), 'repeated run')}")


def _permutation_p_value(learned: Sequence[float], again: Sequence[float]) -> float:
    """Return the p-value of the faster half of `again` being longer by chance (permutation test)."""

    def longer(first: np.ndarray, second: np.ndarray, axis: int = -1) -> np.ndarray:
        further: np.ndarray = _mean_smaller_half(first, axis) - _mean_smaller_half(second, axis)
        return further

    dealt = permutation_test(
        (np.log(again), np.log(learned)),
        longer,
        vectorized=True,
        n_resamples=_PERMUTATIONS,
        alternative="greater",
        random_state=np.random.default_rng(0),  # the same runs get the same verdict
    )
    return float(dealt.pvalue)


def estimate_detectable_slowdown(learned: Sequence[float], again: int, slower: float, rules: int) -> float:
    """Return the slowdown (share) that fails in about nine of ten checks; infinite if it says little.

    It holds if the machine is as in the learned runs.
    """
    return _detectable(_estimate_scatter(learned), len(learned), again, slower, rules)


def find_needed_runs(
    learned: Sequence[float], again: Callable[[int], int], slower: float, rules: int, most: int
) -> int | None:
    """Return the smallest number of runs with this scatter that detect a slowdown; None: more than `most`.

    `again` returns the number of runs that are measured again.
    """
    scatter = _estimate_scatter(learned)
    numbers = range(len(learned) + 1, most + 1)
    found = (n for n in numbers if np.isfinite(_detectable(scatter, n, again(n), slower, rules)))
    return next(found, None)


def _estimate_scatter(learned: Sequence[float]) -> float:
    """Return the scatter of the logarithm of the faster half of N runs, times the square root of N.

    It is the larger of two estimates: by bootstrap, and of how far the first runs differ from the last. Real
    machines change slowly, which runs that are resampled do not show.
    """
    values, random = np.log(learned), np.random.default_rng(0)
    drawn = _mean_smaller_half(random.choice(values, (_DRAWN, len(values))))
    # The bootstrap variance of a few runs is too small by this factor.
    spread = float(np.sqrt(drawn.var() * len(values) / max(len(values) - 1, 1)))
    half = len(values) // 2
    if half < _LEAST_HALF:
        return float(spread * len(values) ** 0.5)
    shift = abs(float(_mean_smaller_half(values[:half]) - _mean_smaller_half(values[-half:])))
    # The difference of two halves has twice the scatter of the whole.
    return float(max(spread, shift / 2) * len(values) ** 0.5)


def _detectable(scatter: float, learned: int, again: int, slower: float, rules: int) -> float:
    spread = scatter * (1 / learned + 1 / again) ** 0.5
    sure = t.isf(_WRONG / 2 / rules, max(learned - 1, 1)) * spread
    slowdown = max(sure, float(np.log1p(slower))) + norm.isf(1 - _FOUND) * spread
    return float(np.expm1(slowdown)) if slowdown < np.log1p(_LARGEST) else np.inf
