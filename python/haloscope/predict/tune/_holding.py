"""Which rules hold when default and tuned are measured again, and what they gain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from haloscope.predict.tune._choice import Candidate, holm
from haloscope.predict.tune._trial import Trial
from haloscope.predict.tune._verify import Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["gain_interval", "mean_gain", "not_holding", "slower"]

_OWN = Candidate()


def gain_interval(logarithms: NDArray[np.float64], level: float = 0.05) -> tuple[float, ...]:
    """Return the geometric mean of gains, one a round, and its interval by Student's t."""
    from scipy.stats import t

    count, middle = len(logarithms), float(np.mean(logarithms))
    if count < 2:
        return math.exp(middle), 0.0, math.inf
    half = float(t.ppf(1 - level / 2, count - 1) * np.std(logarithms, ddof=1) / math.sqrt(count))
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def mean_gain(trials: Mapping[Point, Trial], level: float = 0.05) -> tuple[float, ...]:
    """The geometric mean over all points, with its interval over the rounds."""
    return gain_interval(np.mean([trial.gains for trial in trials.values()], axis=0), level)


def not_holding(
    chosen: Mapping[Point, Candidate], trials: Mapping[Point, Trial], level: float = 0.05
) -> set[Point]:
    """The points whose rule gains nothing for certain, or that it makes slower.

    A rule is judged over all of its sizes together, since a round is one launch that they share;
    one of its points that is slower for certain is enough to drop it. Holm's correction over rules,
    and over points.
    """
    runs = _runs(chosen)
    gained = holm([_probability([trials[p] for p in run], "greater") for run in runs])
    late = slower(trials, level)
    dropped: set[Point] = set()
    for run, p in zip(runs, gained, strict=True):
        if p >= level or late.intersection(run):
            dropped.update(run)
    return dropped


def slower(trials: Mapping[Point, Trial], level: float = 0.05) -> set[Point]:
    """The points that are slower with the rules, for certain."""
    points = list(trials)
    p_values = holm([_probability([trials[point]], "less") for point in points])
    return {point for point, p in zip(points, p_values, strict=True) if p < level}


def _runs(chosen: Mapping[Point, Candidate]) -> list[list[Point]]:
    """The points of each rule: neighbours in size with one choice that is not the library's."""
    runs: list[list[Point]] = []
    before: Point | None = None
    for point in sorted(chosen):
        line = before is not None and (before.collective, before.ranks) == (
            point.collective,
            point.ranks,
        )
        if chosen[point] != _OWN:
            if line and before and chosen[before] == chosen[point]:
                runs[-1].append(point)
            else:
                runs.append([point])
        before = point
    return runs


def _probability(trials: Sequence[Trial], alternative: Literal["greater", "less"]) -> float:
    """Of gains as extreme if there were none: one-sided t-test over the rounds."""
    from scipy.stats import ttest_1samp

    rounds = np.mean([trial.gains for trial in trials], axis=0)
    if len(rounds) < 2:
        return 1.0
    if np.ptp(rounds) == 0:
        return 0.0 if (rounds[0] > 0) == (alternative == "greater") and rounds[0] else 1.0
    return float(ttest_1samp(rounds, 0.0, alternative=alternative).pvalue)
