"""Table 1 of the paper: draw timings from it, run Algorithm 1 on them, write both tables as one.

.venv/bin/python studies/hmm-regimes-communication-hiding/table1.py F.csv
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haloscope.markov import RegimeModel, Timings, find_regimes

RANKS, INSTANCES = 20, 8192
RUN = (10, 40)  # instances that a regime lasts, drawn evenly


@dataclass(frozen=True)
class Printed:
    """One method's columns of Table 1: seconds, seconds, share of the MatVecs."""

    name: str
    means: tuple[float, float, float]
    stds: tuple[float, float, float]
    shares: tuple[float, float, float]


@dataclass(frozen=True)
class Recovered:
    """Result of Algorithm 1: the model, the decoded times, and the share that is decoded correctly."""

    means: NDArray[np.float64]
    stds: NDArray[np.float64]
    shares: NDArray[np.float64]
    decoded_means: NDArray[np.float64]
    decoded_stds: NDArray[np.float64]
    right: float


TABLE = (
    Printed(
        "fixed alpha",
        means=(1.79e-3, 1.89e-3, 2.89e-3),
        stds=(5.89e-5, 5.49e-5, 6.19e-3),
        shares=(0.33, 0.32, 0.35),
    ),
    Printed(
        "dynamic alpha",
        means=(1.75e-3, 1.87e-3, 2.76e-3),
        stds=(5.12e-5, 5.22e-5, 6.00e-3),
        shares=(0.34, 0.31, 0.35),
    ),
    Printed(
        "MPI test",
        means=(1.78e-3, 1.90e-3, 2.72e-3),
        stds=(4.30e-5, 5.61e-5, 4.28e-3),
        shares=(0.35, 0.32, 0.33),
    ),
)


def drawn(
    printed: Printed, rng: np.random.Generator, ranks: int = RANKS, instances: int = INSTANCES
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return durations (ranks, instances) with the table's regimes, and the regime of each.

    Regimes 1 and 2 are Gaussian. Regime 3 is log-normal without a shift: its deviation is 1.6 to
    2.2 times its mean, so that a third of the times from a Gaussian would be negative.
    """
    regimes = np.stack([_regimes(printed.shares, rng, instances) for _ in range(ranks)])
    means, stds = np.array(printed.means), np.array(printed.stds)
    durations = rng.normal(means[regimes], stds[regimes])
    slow = regimes == 2
    variance = np.log1p((stds[2] / means[2]) ** 2)
    logs = rng.normal(np.log(means[2]) - variance / 2, np.sqrt(variance), int(slow.sum()))
    durations[slow] = np.exp(logs)
    return durations, regimes


def _regimes(shares: tuple[float, ...], rng: np.random.Generator, instances: int) -> NDArray[np.int64]:
    """Return a sequence of regimes with these shares in the long run. A regime never follows itself."""
    a, b, c = shares
    flow = np.array([[0, a + b - c, a + c - b], [a + b - c, 0, b + c - a], [a + c - b, b + c - a, 0]])
    after = flow / flow.sum(axis=1, keepdims=True)
    regime, parts, filled = int(rng.choice(3, p=shares)), [], 0
    while filled < instances:
        length = int(rng.integers(RUN[0], RUN[1] + 1))
        parts.append(np.full(length, regime))
        filled += length
        regime = int(rng.choice(3, p=after[regime]))
    return np.concatenate(parts)[:instances]


def recovered(printed: Printed, seed: int, emission: str = "lognormal") -> Recovered:
    """Draw from the table and run Algorithm 1 on it."""
    durations, truth = drawn(printed, np.random.default_rng(seed))
    model = RegimeModel(3, emission, n_init=10)
    found = find_regimes(Timings.from_matrix(durations, printed.name), model)
    times = [durations[found.states == regime] for regime in range(3)]
    return Recovered(
        model.means_,
        model.stds_,
        np.array([len(part) / durations.size for part in times]),
        np.array([part.mean() for part in times]),
        np.array([part.std() for part in times]),
        float((found.states == truth).mean()),
    )


def table(seed: int) -> pl.DataFrame:
    """Return printed and found values, a row per method and regime; `decoded_right` is a share."""
    rows = []
    for printed in TABLE:
        found, gaussian = recovered(printed, seed), recovered(printed, seed, "gaussian").right
        rows += [
            {
                "method": printed.name,
                "regime": i + 1,
                "mean_printed": printed.means[i],
                "mean_found": found.means[i],
                "std_printed": printed.stds[i],
                "std_found": found.stds[i],
                "share_printed": printed.shares[i],
                "share_found": found.shares[i],
                "decoded_right": found.right,
                "decoded_right_with_gaussian": gaussian,
            }
            for i in range(3)
        ]
    return pl.DataFrame(rows)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("no file for the table: table1.py F.csv")
    table(seed=0).write_csv(sys.argv[1])
