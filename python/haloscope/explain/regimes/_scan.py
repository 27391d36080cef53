"""Stretches of a sequence in which events are unusually frequent: a likelihood scan.

Each instance scores log P(count | raised rate) − log P(count | base rate), both binomial, the
raised rate halfway from the base rate to one. A stretch begins where the running score leaves
nought and ends at its peak (Page's cumulative sum, 1954). By Wald's inequality a peak of h happens
by chance with at most e^−h for every instance that a stretch could begin at, if instances are
independent; so `bar` is log(places / chance).
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["bar", "covered", "scores", "stretches", "stretches_of_row"]

# The chance that anything at all is reported of a machine on which nothing happened.
_CHANCE = 0.05


def bar(places: int) -> float:
    """Return the score that by chance none of `places` reaches, but for one case in twenty."""
    return log(max(places, 1) / _CHANCE)


def scores(base: float, stays: float = 0) -> tuple[float, float]:
    """Return what an event and what its absence scores, where its base rate is `base`, in (0, 1).

    If an event follows another with probability `stays` by nature, a long row of them is no more
    than it is likely: it scores −log `stays` each at most, and absence in proportion.
    """
    raised = (1 + base) / 2
    event, absence = log(raised / base), log((1 - raised) / (1 - base))
    factor = min(1.0, -log(stays) / event) if stays > 0 else 1.0
    return event * factor, absence * factor


def stretches(steps: Sequence[float], height: float) -> list[tuple[int, int]]:
    """Return first and last step of each stretch whose score reaches `height`.

    A stretch also ends where the score has fallen from its peak by as much: what comes is another.
    """
    found = []
    total = peak = 0.0
    first = last = 0
    for index, score in enumerate(steps):
        if total <= 0:
            total, peak, first = 0.0, 0.0, index
        total += score
        if total > peak:
            peak, last = total, index
        elif peak >= height and (total <= 0 or total < peak - height):
            found.append((first, last))
            total = 0.0
    return [*found, (first, last)] if total > 0 and peak >= height else found


def stretches_of_row(
    events: NDArray[np.bool_],
    counted: NDArray[np.bool_],
    rates: tuple[float, float],
    height: float,
) -> list[tuple[int, int]]:
    """Return the stretches in one rank's instances; those not `counted` score nothing.

    Quick: works on runs of instances that score alike, and leaves out rows where nothing can be.
    """
    if not events.size:
        return []
    points = np.where(counted, np.where(events, *rates), 0.0)
    begins = np.concatenate(([0], np.flatnonzero(points[1:] != points[:-1]) + 1))
    lengths = np.diff(begins, append=points.size)
    steps = points[begins] * lengths
    total = np.cumsum(steps)
    if (total - np.minimum.accumulate(np.minimum(total, 0))).max() < height:
        return []
    found = stretches(steps.tolist(), height)
    ends = (begins + lengths - 1).tolist()
    return [(int(begins[first]), ends[last]) for first, last in found]


def covered(found: Sequence[tuple[int, int]], instances: int) -> NDArray[np.bool_]:
    """Return which instances are in one of the stretches."""
    inside = np.zeros(instances, dtype=bool)
    for first, last in found:
        inside[first : last + 1] = True
    return inside
