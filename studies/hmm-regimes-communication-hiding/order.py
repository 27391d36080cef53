"""How often AIC, BIC and ICL find the true number of regimes.

.venv/bin/python studies/hmm-regimes-communication-hiding/order.py [SEEDS]
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from haloscope.markov import select

LARGEST = 5
MEANS = (1.8e-3, 2.0e-3, 2.3e-3, 2.9e-3)  # seconds
STDS = (5e-5, 6e-5, 1e-4, 2.5e-4)
STAYS = 0.95
CASES = (
    ("log-normal", "lognormal"),
    ("log-normal", "gaussian"),
    ("Student-t", "gaussian"),
    ("Student-t", "student"),
)


def drawn(
    regimes: int, sequences: int, instances: int, rng: np.random.Generator, tails: bool = False
) -> NDArray[np.float64]:
    """Return durations of the first `regimes` regimes above; log-normal, or with Student-t `tails`."""
    steps = rng.random((sequences, instances)) > STAYS
    jumps = rng.integers(1, max(regimes, 2), steps.shape) * steps
    states = (rng.integers(0, regimes, (sequences, 1)) + np.cumsum(jumps, axis=1)) % regimes
    means, stds = (np.array(values, np.float64)[states] for values in (MEANS, STDS))
    if tails:
        heavy: NDArray[np.float64] = np.abs(means + stds * rng.standard_t(4, states.shape) / np.sqrt(2))
        return heavy
    variance = np.log1p((stds / means) ** 2)
    logs = rng.normal(np.log(means) - variance / 2, np.sqrt(variance))
    durations: NDArray[np.float64] = np.exp(logs)
    return durations


def found(
    regimes: int, sequences: int, instances: int, seeds: int, emission: str, tails: bool
) -> dict[str, Counter[int]]:
    """Return how often each criterion chose each number of regimes."""
    chosen: dict[str, Counter[int]] = {"aic": Counter(), "bic": Counter(), "icl": Counter()}
    for seed in range(seeds):
        x = drawn(regimes, sequences, instances, np.random.default_rng(seed), tails)
        table = select(x, LARGEST, emission=emission, n_init=5).table
        for criterion, counter in chosen.items():
            counter[int(table["regimes"][table[criterion].arg_min() or 0])] += 1
    return chosen


def main(seeds: int) -> None:
    """Print one row per case."""
    print("drawn | fitted | regimes | sequences × instances | AIC | BIC | ICL")
    for law, emission in CASES:
        for sequences, instances in ((1, 500), (5, 2000)):
            for regimes in range(1, len(MEANS) + 1):
                chosen = found(regimes, sequences, instances, seeds, emission, law != "log-normal")
                right = " | ".join(f"{100 * c[regimes] / seeds:.0f} %" for c in chosen.values())
                size = f"{sequences} × {instances}"
                print(f"{law} | {emission} | {regimes} | {size} | {right}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
