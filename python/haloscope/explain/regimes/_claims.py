"""What is said of two methods: by how much one is faster, as far as the runs that are there tell.

With one run of each, of these runs only: what differs from run to run is not in them. With several
of each, of the methods: a run is then one observation. And nothing is said to be faster where
shares, tests and goodness of fit do not agree with it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import ttest_ind

from haloscope.base.errors import printable
from haloscope.explain.regimes.statistics._comparison import compare_distributions, regime_means, sentence
from haloscope.explain.regimes.statistics._samples import largest_distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haloscope.explain.regimes._analysis import Analysis
    from haloscope.explain.regimes.statistics._samples import Sample

__all__ = ["Claim", "Method", "claims"]

_WRONG = 0.05  # of all comparisons of a command, in how many anything wrong may be said to be sure
_UNLIKE = 1.5  # times as large a share
_FEWEST = 20  # independent instances: of less, how much they depend is itself not known
_OF_A_TEST = ("p_corrected", "effective_first", "effective_second")
_QUANTILES = 1 << 16  # of longer samples, at which their distance is sought


@dataclass(frozen=True)
class Method:
    """A method under its name, and its runs."""

    name: str
    runs: Sequence[Analysis]


@dataclass(frozen=True)
class Claim:
    """A sentence on `method` and the first one, what it rests on, and if it says faster or slower.

    `faster` has the percent and their interval, all None where nothing is known; `doubts` are
    reasons not to speak of a difference.
    """

    method: str
    regime: int | None
    faster: tuple[float | None, float | None, float | None]
    doubts: tuple[str, ...]
    text: str

    @property
    def sure(self) -> bool:
        """True if the sentence says that one is faster."""
        _, low, high = self.faster
        return not self.doubts and low is not None and high is not None and not low <= 0 <= high


def claims(methods: Sequence[Method]) -> list[Claim]:
    """Compare each method with the first: ranks in the fast regime, all times, T^max when fast.

    All methods have one run, or all have several. The intervals hold together in 95 % of the cases.
    """
    several = any(run.several for method in methods for run in method.runs)
    level = 1 - _WRONG / max((2 + several) * (len(methods) - 1), 1)
    base = methods[0]
    return [
        claim
        for slowest in ([False, True] if several else [False])
        for method in methods[1:]
        for claim in _claims(base, method, slowest, level)
    ]


def _claims(base: Method, method: Method, slowest: bool, level: float) -> list[Claim]:
    own, peer = _samples(method, slowest), _samples(base, slowest)
    single = len(own) == 1
    doubts = _unlike_runs(own[0], peer[0], level) if single else _unlike_methods(own, peer)
    found = []
    for regime in (0,) if slowest else (0, None):
        if single:
            row = regime_means([*peer, *own], regime, 0, level).row(1, named=True)
        else:
            row = _of_methods(own, peer, regime, level)
        more = [] if regime is None else _shares(own, peer)
        if regime is not None and not (doubts or more or slowest):
            more = _badly_fitted(base, method)
        row |= {"name": method.name, "regime": None if regime is None else regime + 1}
        text = sentence(row, base.name, (len(own), len(peer)), [*doubts, *more])
        told = printable(f"T^max: {text}" if slowest else text)
        faster = (row["faster"], row["faster_low"], row["faster_high"])
        found.append(Claim(method.name, row["regime"], faster, (*doubts, *more), told))
    return found


def _samples(method: Method, slowest: bool) -> list[Sample]:
    views = [run.view for run in method.runs]
    return [(view.slowest if slowest else view.whole).sample for view in views]


def _of_methods(
    own: Sequence[Sample], peer: Sequence[Sample], regime: int | None, level: float
) -> dict[str, Any]:
    """Return by how much the mean of one method's runs is less, a run being the unit (Welch)."""
    logs = []
    for samples in (own, peer):
        means = regime_means(samples, regime)["mean"].drop_nulls().to_numpy()
        if len(means) < len(samples) or not (means > 0).all():
            return dict.fromkeys(("faster", "faster_low", "faster_high"))
        logs.append(np.log(means))
    amount = float(logs[0].mean() - logs[1].mean())
    bounds = (amount, amount)
    if sum(values.std() for values in logs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of runs that are all the same
            reach = ttest_ind(*logs, equal_var=False).confidence_interval(level)
        bounds = (float(reach.low), float(reach.high))
    high, middle, low = (100 * (1 - float(np.exp(x))) for x in (bounds[0], amount, bounds[1]))
    return {"faster": middle, "faster_low": low, "faster_high": high}


def _unlike_runs(own: Sample, peer: Sample, level: float) -> list[str]:
    """Return why two runs may have the same times after all."""
    test = compare_distributions([peer, own]).row(0, named=True)
    corrected, *worth = (test[name] for name in _OF_A_TEST)
    if corrected is None:
        return ["there are too few instances for a KS test"]
    if min(worth) < _FEWEST:
        told = f"{min(worth):.2g} independent ones"
        return [f"the instances depend on each other so much that they are worth {told}"]
    if corrected >= 1 - level:
        return [f"the KS test of all times has p {corrected:.2g}"]
    return []


def _unlike_methods(own: Sequence[Sample], peer: Sequence[Sample]) -> list[str]:
    """Return why two methods may have the same times after all: their own runs differ as much."""
    first, second = ([np.sort(sample.values()) for sample in samples] for samples in (own, peer))
    if not all(values.size for values in (*first, *second)):
        return ["a run has no times"]
    within = [*combinations(first, 2), *combinations(second, 2)]
    between, inside = (
        float(np.median([largest_distance(*pair, _QUANTILES) for pair in pairs]))
        for pairs in (product(first, second), within)
    )
    if between > inside:
        return []
    return [f"the KS distance of two runs is {inside:.2g} within a method and {between:.2g} between"]


def _shares(own: Sequence[Sample], peer: Sequence[Sample]) -> list[str]:
    """Return that fast regimes can hardly be the same thing."""
    first, second = (
        float(np.median(regime_means(samples, 0)["share"].fill_null(0).to_numpy())) for samples in (peer, own)
    )
    if max(first, second) < _UNLIKE * min(first, second):
        return []
    return [f"the fast regimes hold {100 * first:.0f} % and {100 * second:.0f} % of the instances"]


def _badly_fitted(base: Method, method: Method) -> list[str]:
    for one in (base, method):
        bad = [line for run in one.runs for line in run.goodness.verdicts if _of_fast(line)]
        if 2 * len(bad) > len(one.runs):
            return [f"{one.name}: {bad[0]}"]
    return []


def _of_fast(line: str) -> bool:
    return "bad model of regime 1:" in line
