"""Whether times that were measured again are surely longer than those learned, and what would be noticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, permutation_test, t

from haloscope.markov.statistics import faster_by_runs

# The share of checks in which any time fails by chance, if all times were measured again.
_WRONG = 0.01
_PERMUTATIONS = 19_999
_DRAWN = 2000  # samples that tell how a quick half scatters
_FOUND = 0.95  # of the slow-downs that are called noticed, if times were normal


@dataclass(frozen=True)
class Slowness:
    """Whether runs are surely slower, and by how much in words."""

    sure: bool
    text: str


def quick_half(times: Sequence[float]) -> float:
    """Return the geometric mean of the quicker half of some times: what else runs there only adds to them."""
    return float(np.exp(_quick_half(np.log(times))))


def _quick_half(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the mean of the smaller half, with the middle one of an odd number."""
    half = (values.shape[axis] + 1) // 2
    least = np.partition(values, half - 1, axis=axis)
    return np.asarray(least.take(range(half), axis=axis).mean(axis=axis))


def looks_slow(learned: Sequence[float], found: float, slower: float) -> bool:
    """Return whether a time has half of the slowness that fails: only measuring again decides."""
    return found > quick_half(learned) * (1 + slower / 2)


def surely_slower(learned: Sequence[float], again: Sequence[float], slower: float, rules: int) -> Slowness:
    """Return whether `again` takes surely longer than `learned`, and by the share `slower` at least.

    All `rules` about times share the 1 % of the checks that may be wrong, and so do two tests of each.
    Welch's speaks of the mean, without the slowest and quickest tenth. The other one asks how often the
    quicker half would be so much longer if all times were dealt out anew: what disturbs some runs only adds
    to their times, and leaves that half alone.
    """
    row = faster_by_runs(again, learned, 1 - _WRONG / rules)
    if row["faster_high"] is None:
        return Slowness(True, "it is not in the runs that were measured again")
    longer, low, high = (-row[key] for key in ("faster", "faster_high", "faster_low"))
    text = f"{longer:+.1f} % [{low:+.1f}, {high:+.1f}] by {len(again)} runs again"
    if low > 0 and longer >= 100 * slower:
        return Slowness(True, text)
    quick = 100 * (quick_half(again) / quick_half(learned) - 1)
    if quick < 100 * slower or _by_chance(learned, again) >= _WRONG / 2 / rules:
        return Slowness(False, text)
    return Slowness(True, f"{quick:+.1f} % in the quicker half of {len(again)} runs again")


def _by_chance(learned: Sequence[float], again: Sequence[float]) -> float:
    """Return how likely the quicker half of `again` is so much longer if both come from the same runs."""

    def longer(first: np.ndarray, second: np.ndarray, axis: int = -1) -> np.ndarray:
        further: np.ndarray = _quick_half(first, axis) - _quick_half(second, axis)
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


def noticed_slowdown(learned: Sequence[float], again: int, slower: float, rules: int) -> float:
    """Return the share by which times must be longer to fail in about nine checks of ten.

    It follows from how the quicker half of the learned times scatters when it is drawn anew from them, and
    from `again` runs that scatter as much.
    """
    values, random = np.log(learned), np.random.default_rng(0)
    spread = 0.0
    for size in (len(learned), again):
        drawn = _quick_half(random.choice(values, (_DRAWN, size)))
        # A few runs show less than there is of what they are drawn from.
        spread += float(drawn.var()) * len(learned) / max(len(learned) - 1, 1)
    spread = float(np.sqrt(spread))
    sure = t.isf(_WRONG / 2 / rules, max(len(learned) - 1, 1)) * spread
    least = max(sure, float(np.log1p(slower)))
    return float(np.expm1(least + norm.isf(1 - _FOUND) * spread))
