"""Repeated runs: a run is one observation, and differences between runs are in the intervals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from haloscope.base.arrays import Floats

FASTER = ("faster", "faster_low", "faster_high")
# With ten runs or more, the slowest and the fastest tenth are left out (Yuen): machines disturb single runs.
TRIMMED = 0.1
# Standard error of a median over that of a mean, for normal values and many of them; less for few.
_OF_A_MEDIAN = float(np.sqrt(np.pi / 2))


def means_apart(
    own: ArrayLike, peer: ArrayLike, level: float = 0.95, trimmed: float = 0.0
) -> tuple[float, float, float]:
    """Return mean(own) − mean(peer) with its interval: (amount, low, high), Welch's at `level`.

    The share `trimmed` of the values is left out at each end. A value is one run. With fewer than two runs on
    either side the bounds are NaN; for equal runs they are the amount itself.
    """
    from scipy.stats import trim_mean, ttest_ind  # slow to import, and seldom needed

    first, second = (np.asarray(values, dtype=np.float64) for values in (own, peer))
    amount = float(trim_mean(first, trimmed) - trim_mean(second, trimmed))
    if min(first.size, second.size) < 2:
        return amount, float("nan"), float("nan")
    if not first.std() + second.std():
        return amount, amount, amount
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # SciPy warns about equal runs
        reach = ttest_ind(first, second, equal_var=False, trim=trimmed).confidence_interval(level)
    return amount, float(reach.low), float(reach.high)


def faster_by_runs(own: ArrayLike, peer: ArrayLike, level: float = 0.95) -> dict[str, Any]:
    """Return by how many percent the mean time of `own` runs is less than that of `peer` runs.

    Keys are `faster`, `faster_low` and `faster_high`, as in `regime_means`: Welch's interval of the
    difference of the mean logarithms. With ten runs or more, a tenth is left out at each end. All are None if
    a time is not above 0; the bounds are None if one side has a single run.
    """
    logarithms = _take_logarithms(own, peer)
    return _make_row(means_apart(*logarithms, level, TRIMMED)) if logarithms else dict.fromkeys(FASTER)


def faster_by_medians(own: ArrayLike, peer: ArrayLike, level: float = 0.95) -> dict[str, Any]:
    """Return by how many percent the median time of `own` runs is less than that of `peer` runs.

    Keys are those of `faster_by_runs`. The interval is as wide as that of the means, times the ratio of the
    standard errors of a median and of a mean (√(π/2)); the median of two runs is their mean.
    """
    logarithms = _take_logarithms(own, peer)
    if logarithms is None:
        return dict.fromkeys(FASTER)
    _, low, high = means_apart(*logarithms, level, TRIMMED)
    reach = (high - low) / 2 * (1 if max(map(len, logarithms)) <= 2 else _OF_A_MEDIAN)
    amount = float(np.median(logarithms[0]) - np.median(logarithms[1]))
    return _make_row((amount, amount - reach, amount + reach))


def _take_logarithms(own: ArrayLike, peer: ArrayLike) -> tuple[Floats, Floats] | None:
    times = [np.asarray(values, dtype=np.float64) for values in (own, peer)]
    if not all(values.size and (values > 0).all() for values in times):
        return None
    return np.log(times[0]), np.log(times[1])


def _make_row(apart: tuple[float, float, float]) -> dict[str, Any]:
    """Return percentages from a difference of logarithms with its interval."""
    amount, low, high = apart
    least, middle, most = (100 * (1 - float(np.exp(x))) for x in (high, amount, low))
    if np.isnan(low):
        return {"faster": middle, "faster_low": None, "faster_high": None}
    return {"faster": middle, "faster_low": least, "faster_high": most}
