"""How bad chance alone makes a machine look: the same ranks, each begun at another time.

What a rank does by itself, how often it is slow and how long that lasts, stays as it is; that
ranks are slow together is gone. So the largest score of such rotated runs is what independent
ranks reach, however their regimes persist.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from haloscope.explain.regimes._slow import Slow

__all__ = ["chance_peak", "peak"]

_CHANCE = 0.02  # that independent ranks score more; under 1 in 20, as time has begin and end
_FEWEST, _MOST, _POINTS = 49, 199, 1 << 27  # rotations, and instances of all of them


def chance_peak(seen: Slow, steps: Callable[[Slow], NDArray[np.float64]]) -> float:
    """Return the score that rotated runs seldom reach; `steps` scores each instance of a run."""
    number = int(np.clip(_POINTS // max(seen.events.size, 1), _FEWEST, _MOST))
    random = np.random.default_rng(0)
    peaks = np.sort([peak(steps(_rotated(seen, random))) for _ in range(number)])
    return float(peaks[int(np.ceil((1 - _CHANCE) * (number + 1))) - 1])


def peak(steps: NDArray[np.float64]) -> float:
    """Return the largest sum of steps in a row."""
    total = np.concatenate(([0.0], np.cumsum(steps)))
    return float((total - np.minimum.accumulate(total)).max())


def _rotated(seen: Slow, random: np.random.Generator) -> Slow:
    """Return the counts of a run whose ranks each began at another of their own instances."""
    bad = np.zeros_like(seen.bad)
    ends = np.maximum(seen.exists.shape[1] - seen.exists[:, ::-1].argmax(axis=1), 1)
    shifts = random.integers(0, ends)
    for row, (end, shift) in enumerate(zip(ends.tolist(), shifts.tolist(), strict=True)):
        events, counts = seen.events[row], bad[seen.group[row]]
        counts[shift:end] += events[: end - shift]
        counts[:shift] += events[end - shift : end]
    return replace(seen, bad=bad)
