"""Proof of a gain: a rank test in rounds, which ends early and rarely takes chance for a gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from haloscope.base.arrays import Floats

# Runs of each side in a round, which are in random order. So neither drift nor outliers favour a side.
PAIRS = 3
LEAST_GAIN = 0.03  # smallest gain of a remedy that is kept, as a share of the time
_HOPELESS = 1.01  # a gain so far with which more rounds are of no use
_MOST_ROUNDS = 8
_COVERAGE = 0.95


@dataclass(frozen=True)
class Proof:
    """The gain (time before / time after) of remedies over others, in interleaved runs.

    `before` and `after` have the times (or other costs) of the runs, in rounds of `PAIRS`. `gain` is the
    median over all pairs of a round, `low` and `high` its 95 % interval. `is_significant` is the result of
    the test at its level.
    """

    remedies: tuple[str, ...]
    over: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    gain: float
    low: float
    high: float
    is_significant: bool

    @property
    def holds(self) -> bool:
        """Whether the gain is significant and at least 3 %."""
        return self.is_significant and self.gain >= 1 + LEAST_GAIN

    def figures(self) -> dict[str, Any]:
        """Return the proof as an object for JSON; an unknown bound is None."""
        bound = self.high if np.isfinite(self.high) else None
        return vars(self) | {"high": bound, "holds": self.holds}


class SequentialTest:
    """A test of one remedy after each round, with a bound on the chance of a wrong gain in any of them.

    In a round, all orders of its runs are equally likely. If the remedy changes nothing, the number of pairs
    in which it was faster has the distribution of Mann and Whitney, whatever the noise is. After each round
    half of the remaining level is used, after the last one all of it.
    """

    def __init__(self, level: float, runs: int) -> None:
        self.rounds = min(runs // (2 * PAIRS), _MOST_ROUNDS)
        self.needed = _find_limits(level, self.rounds)
        self.before: list[float] = []
        self.after: list[float] = []

    @property
    def is_possible(self) -> bool:
        """Whether any result of its rounds is significant."""
        return any(number is not None for number in self.needed)

    @property
    def is_over(self) -> bool:
        """Whether more rounds are of no use."""
        done = len(self.after) // PAIRS
        if not done:
            return False
        gain = float(np.exp(np.median(self._compare_pairs())))
        return done >= self.rounds or self._is_significant() or gain < _HOPELESS

    def add(self, before: Sequence[float], after: Sequence[float]) -> None:
        """Add a round."""
        self.before += before
        self.after += after

    def conclude(self, remedies: tuple[str, ...], over: tuple[str, ...]) -> Proof:
        """Return the result of all rounds."""
        logs = self._compare_pairs()
        gain = float(np.exp(np.median(logs)))
        low, high = _find_interval(logs, len(self.after) // PAIRS)
        before, after = tuple(self.before), tuple(self.after)
        return Proof(remedies, over, before, after, gain, low, high, self._is_significant())

    def _is_significant(self) -> bool:
        needed = self.needed[len(self.after) // PAIRS - 1]
        return needed is not None and int((self._compare_pairs() > 0).sum()) >= needed

    def _compare_pairs(self) -> Floats:
        """Return the logarithms of before / after of all pairs of each round."""
        before = np.log(np.reshape(self.before, (-1, PAIRS, 1)))
        return np.asarray(before - np.log(np.reshape(self.after, (-1, 1, PAIRS))), dtype=np.float64).ravel()


def _find_limits(level: float, rounds: int) -> list[int | None]:
    """Return the number of faster pairs that is significant after each round."""
    limits: list[int | None] = []
    left = level
    for done in range(1, rounds + 1):
        share = left if done == rounds else left / 2
        tail = _count_orders(done)[::-1].cumsum()[::-1]  # chance of this number or more
        fits = np.flatnonzero(tail <= share)
        limits.append(int(fits[0]) if len(fits) else None)
        left -= float(tail[fits[0]]) if len(fits) else 0.0
    return limits


def _find_interval(logs: Floats, rounds: int) -> tuple[float, float]:
    """Return the interval of the gain: the gains that the test on both sides does not reject."""
    below = _count_orders(rounds).cumsum()
    rejected = int((below <= (1 - _COVERAGE) / 2).sum())
    if not rejected:
        return 0.0, np.inf
    ordered = np.exp(np.sort(logs))
    return float(ordered[rejected - 1]), float(ordered[-rejected])


@cache
def _count_orders(rounds: int) -> Floats:
    """Return the probability of each number of faster pairs if the remedy changes nothing."""
    single = np.zeros(PAIRS**2 + 1)
    for places in combinations(range(2 * PAIRS), PAIRS):
        single[sum(place - index for index, place in enumerate(places))] += 1
    total = np.ones(1)
    for _ in range(rounds):
        total = np.convolve(total, single / single.sum())
    return np.asarray(total, dtype=np.float64)
