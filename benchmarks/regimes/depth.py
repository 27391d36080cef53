"""Functional boxplots of the distributions of 7168 ranks × 8192 instances on 512 points.

The peer for the depth is statsmodels' banddepth, which also uses ranks of values, on the same curves. For few
curves a second peer is the definition by all pairs. Results are equal if there are no ties, which is checked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from statsmodels.graphics.functional import banddepth

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import emit, estimate

from haloscope.markov.statistics import Sample, functional_boxplot, modified_band_depth, rank_cdfs

RANKS, INSTANCES, POINTS = 7168, 8192, 512
FEW = 200
SECOND = 1e3
TARGET = 50.0

Curves = NDArray[np.float64]


def measure_depth(rounds: int = 7) -> None:
    """Print the rows."""
    curves = rank_cdfs(Sample("made", made()), points=POINTS).curves
    case = f"{len(curves)} distributions on {curves.shape[1]} points"
    check()
    alone = estimate([seconds(lambda: functional_boxplot(curves)) for _ in range(rounds)])
    whole = estimate(SECOND / 1e3 / np.array([alone.median, alone.low, alone.high]))
    emit(
        "regimes-boxplot",
        f"functional boxplot of {case}",
        ours=1e3 * alone.median,
        peer=SECOND,
        peer_name="a second",
        unit="ms",
        ratio=whole,
        target=1.0,
    )
    compare(f"modified band depth of {case}", curves, banddepth, "statsmodels", rounds)
    few = np.ascontiguousarray(curves[:: RANKS // FEW][:FEW])
    compare(f"the same of {FEW}", few, by_definition, "all pairs, NumPy", rounds)


def compare(case: str, curves: Curves, peer: Callable[[Curves], Any], peer_name: str, rounds: int) -> None:
    """Time both sides alternately; the first round does not count."""
    pairs = [
        (seconds(lambda: modified_band_depth(curves)), seconds(lambda: peer(curves)))
        for _ in range(rounds + 1)
    ][1:]
    ours, theirs = zip(*pairs, strict=True)
    emit(
        "regimes-boxplot",
        case,
        ours=1e3 * estimate(ours).median,
        peer=1e3 * estimate(theirs).median,
        peer_name=peer_name,
        unit="ms",
        ratio=estimate(np.divide(theirs, ours)),
        target=TARGET,
    )


def made() -> Curves:
    """Return times in three regimes, with a constant factor per rank."""
    random = np.random.default_rng(0)
    durations = np.empty((RANKS, INSTANCES))
    for row in range(RANKS):
        regime = np.repeat(random.choice(3, INSTANCES // 16), 16)
        pace = random.normal(1, 0.02)
        spread = np.exp(random.normal(0, np.array([0.03, 0.03, 0.8])[regime]))
        durations[row] = pace * np.array([1.8e-3, 1.9e-3, 2.9e-3])[regime] * spread
    return durations


def by_definition(curves: Curves) -> Curves:
    """Count the share of pairs and points."""
    inside = np.zeros(len(curves))
    for first, second in combinations(curves, 2):
        low, high = np.minimum(first, second), np.maximum(first, second)
        inside += ((low <= curves) & (curves <= high)).sum(axis=1)
    depth: Curves = inside / (len(curves) * (len(curves) - 1) / 2 * curves.shape[1])
    return depth


def check() -> None:
    """Check that all three give the same result if no two curves tie."""
    curves = np.random.default_rng(1).normal(size=(30, 40))
    np.testing.assert_allclose(modified_band_depth(curves), banddepth(curves))
    np.testing.assert_allclose(modified_band_depth(curves), by_definition(curves))


def seconds(action: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


if __name__ == "__main__":
    measure_depth()
