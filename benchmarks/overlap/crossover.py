"""Latency above which pipelined and s-step conjugate gradients are faster than classic ones.

`poisson` predicts it from the times of a product, of vector operations and of an Allreduce, which it
measures. It is found under `haloscope inject` with latencies around the predicted one and alternating
solvers: it is the zero of the line through the differences of both times. Q1 on 65³ points with Jacobi, two
ranks.
"""

from __future__ import annotations

import numpy as np
import programs
from common import Estimate, emit, estimate
from numpy.typing import NDArray

BENCHMARK = "overlap"
ROUNDS, ITERATIONS = 7, 150
PROBLEM = ["--level", "6", "--jacobi", "--tolerance", "0", "--iterations", str(ITERATIONS)]
METHODS = {"pipelined": ["--solver", "pipelined"], "4-step": ["--solver", "s-step", "--steps", "4"]}
SHARES = (0.25, 0.75, 1.25, 1.75)  # of the predicted latency
AGREED = 0.8
CASES = tuple(f"crossover of {name} and classic CG, of the predicted latency" for name in METHODS)


def measure() -> None:
    for case, words in zip(CASES, METHODS.values(), strict=True):
        alone = [programs.poisson([*PROBLEM, *words]) for _ in range(5)]
        predicted = float(np.median([said["crossover"] for said in alone]))
        base = float(np.median([said["allreduce"] for said in alone]))
        found = np.array([_found(words, predicted, base) for _ in range(ROUNDS)])
        emit(
            BENCHMARK,
            case,
            ours=1e6 * predicted,
            peer=1e6 * float(np.median(found)),
            peer_name="found under inject",
            unit="us",
            ratio=_folded(estimate(found / predicted)),
            target=AGREED,
        )


def _folded(ratio: Estimate) -> Estimate:
    """Return a ratio or its inverse, at most 1. Single rounds are not folded: their scatter would count."""
    low, high = sorted(min(end, 1 / max(end, 1e-9)) for end in (ratio.low, ratio.high))
    middle = min(ratio.median, 1 / max(ratio.median, 1e-9))
    return Estimate(middle, low, 1.0 if ratio.low <= 1 <= ratio.high else high)


def _found(words: list[str], predicted: float, base: float) -> float:
    """Return the seconds of an Allreduce at which both solvers take equally long, from one round."""
    latencies = np.array([max(share * predicted - base, 0) for share in SHARES])
    gained = [_seconds(["--solver", "cg"], late) - _seconds(words, late) for late in latencies]
    return crossing(latencies + base, np.array(gained))


def _seconds(words: list[str], late: float) -> float:
    inject = ["--quiet", "--latency", f"constant:{late * 1e6:.3f}us"]
    return programs.poisson([*PROBLEM, *words], inject)["time"] / ITERATIONS


def crossing(latencies: NDArray[np.float64], gained: NDArray[np.float64]) -> float:
    """Return the zero of the line through these differences."""
    slope, start = np.polyfit(latencies, gained, 1)
    return float(-start / slope)
