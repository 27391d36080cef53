"""Distributions of synthetic timings with a known number of regimes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Floats = NDArray[np.float64]
States = NDArray[np.int64]

MEANS = np.array([1.79e-3, 1.89e-3, 2.89e-3])  # Table 1 of the paper, fixed alpha; seconds
STDS = np.array([5.9e-5, 5.5e-5, 6.2e-4])
APART, APART_STDS = np.array([1.8e-3, 2.1e-3, 2.9e-3]), np.array([5e-5, 6e-5, 2.5e-4])


def stays(random: np.random.Generator, ranks: int, instances: int, staying: float, shares: Floats) -> States:
    """Return regimes that last 1 / (1 − `staying`) instances on average, then are drawn again by `shares`."""
    is_drawn = random.random((ranks, instances)) > staying
    is_drawn[:, 0] = True
    states = random.choice(len(shares), (ranks, instances), p=shares)
    last = np.maximum.accumulate(np.where(is_drawn, np.arange(instances), 0), axis=1)
    return np.take_along_axis(states, last, axis=1)


def semi_markov(random: np.random.Generator, ranks: int, instances: int, regimes: int) -> States:
    """Return regimes that last 15 to 25 instances, unlike those of a Markov chain."""
    rows = []
    for _ in range(ranks):
        lengths = random.integers(15, 26, instances // 15 + 1)
        jumps = random.integers(1, regimes, len(lengths))
        rows.append(np.repeat(np.cumsum(jumps) % regimes, lengths)[:instances])
    return np.array(rows)


def mixed(random: np.random.Generator, states: States, means: Floats, stds: Floats) -> Floats:
    """Return normally distributed durations of these regimes."""
    return np.abs(random.normal(means[states], stds[states]))


def table_1(random: np.random.Generator, ranks: int, instances: int, slow: float = 1 / 3) -> Floats:
    """Return durations of the paper's Table 1 in lasting regimes; `slow` is the share of the last regime."""
    shares = np.array([(1 - slow) / 2, (1 - slow) / 2, slow])
    return mixed(random, stays(random, ranks, instances, 0.91, shares), MEANS, STDS)


def autoregressive(random: np.random.Generator, ranks: int, instances: int, memory: float) -> Floats:
    """Return log-normal durations without regimes: autoregressive with `memory`, correlated between ranks."""
    noise = random.normal(size=(ranks + 1, instances + 1000)) * np.sqrt(1 - memory**2)
    series = lfilter([1], [1, -memory], noise, axis=1)[:, 1000:]
    return 2e-3 * np.exp(0.05 * (0.8 * series[:1] + 0.6 * series[1:]))


def _apart(random: np.random.Generator, ranks: int, instances: int) -> States:
    return stays(random, ranks, instances, 0.925, np.full(3, 1 / 3))


def _markov(random: np.random.Generator, ranks: int, instances: int) -> Floats:
    return mixed(random, _apart(random, ranks, instances), APART, APART_STDS)


def _semi_markov(random: np.random.Generator, ranks: int, instances: int) -> Floats:
    return mixed(random, semi_markov(random, ranks, instances, 3), APART, APART_STDS)


def _drifting(random: np.random.Generator, ranks: int, instances: int) -> Floats:
    drift = 1 + 0.05 * np.linspace(-1, 1, instances)
    times: Floats = drift * _markov(random, ranks, instances)
    return times


def _heavy_tailed(random: np.random.Generator, ranks: int, instances: int) -> Floats:
    states = _apart(random, ranks, instances)
    noise = random.standard_t(3, states.shape) / np.sqrt(3)
    times: Floats = np.abs(APART[states] + APART_STDS[states] * noise)
    return times


def _skewed(random: np.random.Generator, ranks: int, instances: int) -> Floats:
    states = _apart(random, ranks, instances)
    variance = np.log1p((1.6 * APART_STDS / APART) ** 2)[states] * 4
    times: Floats = np.exp(random.normal(np.log(APART[states]), np.sqrt(variance) / 2))
    return times


def _outliers(random: np.random.Generator, ranks: int, instances: int) -> Floats:
    times = _markov(random, ranks, instances)
    far = random.random(times.shape) < 0.01
    return np.where(far, times * random.uniform(5, 50, times.shape), times)


# Each has three planted regimes.
LAWS: Mapping[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "Markov": _markov,
    "semi-Markov": _semi_markov,
    "drifting": _drifting,
    "heavy-tailed": _heavy_tailed,
    "skewed": _skewed,
    "outliers": _outliers,
}
