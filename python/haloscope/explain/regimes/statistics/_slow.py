"""Where slow instances are, what they cost, and stretches in which they are unusually frequent."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain.regimes.statistics._samples import ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Slow", "bar", "covered", "scores", "stretches", "stretches_of_row"]

# So that a handful of stretches, if they are all there is, don't seem the usual thing.
_FEW_RUNS = np.ones(10, dtype=np.int64)
# The chance that anything at all is reported of a machine on which nothing happened.
_CHANCE = 0.05


@dataclass(frozen=True)
class Slow:
    """Counts by group of ranks, those of one host, and instance: (groups, instances) each.

    `bad` instances in a bad regime, `there` instances at all, `excess` seconds over the rank's
    usual time; `exists` and `events`, (ranks, instances), the instances that there are and the bad
    ones; `usual` each rank's median time outside the bad regimes, or of all if it's always in one.
    `names` of the groups: hosts, and None for the ranks whose host is unknown. `stays`: the chance
    that a rank's bad instance follows a bad one, as the usual stretches have it: a few very long
    ones don't matter. `stretches` of bad instances there are, in all ranks.
    """

    names: list[str | None]
    group: NDArray[np.int64]
    exists: NDArray[np.bool_]
    events: NDArray[np.bool_]
    bad: NDArray[np.int64]
    there: NDArray[np.int64]
    excess: NDArray[np.float64]
    usual: NDArray[np.float64]
    stays: float
    stretches: int

    @classmethod
    def of(
        cls,
        durations: NDArray[np.float64],
        states: NDArray[np.uint8],
        regimes: range,
        hosts: tuple[str | None, ...],
    ) -> Slow:
        """Count; `regimes` are the bad states."""
        names = list(dict.fromkeys(hosts))
        group = np.array([names.index(host) for host in hosts], dtype=np.int64)
        shape = (len(names), durations.shape[1])
        bad, there = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        excess = np.zeros(shape)
        exists = states < regimes.stop
        events = exists & (states >= regimes.start)
        usual = np.empty(len(durations))
        for row, times in enumerate(durations):
            usual[row] = _usual(times, exists[row], events[row])
            index = group[row]
            bad[index] += events[row]
            there[index] += exists[row]
            excess[index] += np.where(exists[row], times - usual[row], 0)
        lengths = [_run_lengths(events[row : row + ROWS]) for row in range(0, len(events), ROWS)]
        stays = _stays(np.concatenate([_FEW_RUNS, *lengths]))
        number = sum(part.size for part in lengths)
        return cls(names, group, exists, events, bad, there, excess, usual, stays, number)

    def typical_share(self) -> NDArray[np.float64]:
        """Return the share of bad instances on the median host, the lower of two: (instances,).

        So that one host, of two or three, isn't the machine.
        """
        shares = np.where(self.there > 0, self.bad / np.maximum(self.there, 1), np.inf)
        present = (self.there > 0).sum(axis=0)
        ordered = np.sort(shares, axis=0)
        middle = np.maximum(present - 1, 0) // 2
        median = np.take_along_axis(ordered, middle[None, :], axis=0)[0]
        return np.where(present > 0, median, 0.0)


def _usual(times: NDArray[np.float64], exists: NDArray[np.bool_], bad: NDArray[np.bool_]) -> float:
    good = times[exists & ~bad]
    if not good.size:
        good = times[exists]
    return float(np.median(good, overwrite_input=True)) if good.size else 0.0


def _stays(lengths: NDArray[np.int64]) -> float:
    """Return the chance of a geometric distribution that has the median of these lengths."""
    median = float(np.median(lengths))
    return float(0.5 ** (1 / median)) if median > 1 else float((lengths > 1).mean())


def _run_lengths(events: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How long each stretch of events in a row is."""
    padded = np.zeros((len(events), events.shape[1] + 2), dtype=np.int8)
    padded[:, 1:-1] = events
    change = np.diff(padded, axis=1).ravel()
    return np.flatnonzero(change == -1) - np.flatnonzero(change == 1)


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
    events: NDArray[np.bool_], counted: NDArray[np.bool_], rates: tuple[float, float], height: float
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
