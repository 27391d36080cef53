"""Synthetic timings like those of Table 1 of Heldman, Rudi and Bessac (2025), with the true values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# Mean and standard deviation in seconds, share of instances, of regimes 1 to 3.
TABLE_1 = {
    "fixed": ((1.79e-3, 5.89e-5, 0.33), (1.89e-3, 5.49e-5, 0.32), (2.89e-3, 6.19e-3, 0.35)),
    "dynamic": ((1.75e-3, 5.12e-5, 0.34), (1.87e-3, 5.22e-5, 0.31), (2.76e-3, 6.00e-3, 0.35)),
    "test": ((1.78e-3, 4.30e-5, 0.35), (1.90e-3, 5.61e-5, 0.32), (2.72e-3, 4.28e-3, 0.33)),
}
_NODE = 16  # ranks


@dataclass(frozen=True)
class Made:
    """Times of a method, (ranks, instances), the part of input, and the true states."""

    durations: NDArray[np.float64]
    t_in: NDArray[np.float64]
    states: NDArray[np.uint8]

    def save(self, path: Path) -> Path:
        """Write what `haloscope regimes` reads: an .npz with hosts of 16 ranks each."""
        hosts = [f"node{rank // _NODE:03}" for rank in range(len(self.durations))]
        np.savez(path, duration=self.durations, t_in=self.t_in, t_out=self.durations - self.t_in, host=hosts)
        return path


def make_timings(method: str, ranks: int, instances: int, seed: int = 0, shifted: bool = True) -> Made:
    """Draw runs of 10–40 instances of each regime; times of the slowest one are log-normal.

    With `shifted` they begin where regime 2 has its mean: no rank computes the faster for being
    slow. Nodes differ in how often they are slow, so that the ranks' medians have several modes.
    """
    random = np.random.default_rng([seed, *method.encode()])
    regimes = TABLE_1[method]
    states = _states([share for _, _, share in regimes], ranks, instances, random)
    durations = np.empty((ranks, instances))
    for state, (mean, deviation, _) in enumerate(regimes):
        where = states == state
        if state < 2:
            durations[where] = random.normal(mean, deviation, where.sum())
            continue
        least = regimes[1][0] if shifted else 0.0
        spread = np.log1p((deviation / (mean - least)) ** 2)
        middle = np.log(mean - least) - spread / 2
        durations[where] = least + random.lognormal(middle, np.sqrt(spread), where.sum())
    share = {"fixed": 0.5, "dynamic": 0.35, "test": 0.3}[method]
    t_in = durations * np.clip(random.normal(share, 0.04, durations.shape), 0.05, 0.95)
    return Made(durations, t_in, states)


def _states(
    shares: list[float], ranks: int, instances: int, random: np.random.Generator
) -> NDArray[np.uint8]:
    """Return states in runs of 10–40 instances, half of the slow ones on nearly all ranks."""
    machine = _runs([0.85, 0.0, 0.15], instances, random)
    nodes = -(-ranks // _NODE)
    kinds = random.permutation(np.arange(nodes) % 5)
    states = np.empty((ranks, instances), dtype=np.uint8)
    for rank, row in enumerate(states):
        fast, middle, slow = shares
        tilt = {0: 0.22, 1: -0.22}.get(int(kinds[rank // _NODE]), 0.0)
        alone = np.array([fast - tilt, middle + tilt, slow - 0.13])
        row[:] = _runs(alone, instances, random)
        row[(machine == 2) & (random.random(instances) < 0.95)] = 2
    return states


def _runs(
    shares: Sequence[float] | NDArray[np.float64], instances: int, random: np.random.Generator
) -> NDArray[np.uint8]:
    lengths = random.integers(10, 41, instances // 10 + 1)
    chances = np.asarray(shares) / np.sum(shares)
    drawn = random.choice(3, len(lengths), p=chances).astype(np.uint8)
    return np.repeat(drawn, lengths)[:instances]
