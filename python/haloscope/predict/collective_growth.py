"""How the time of a collective may grow with the number of ranks on a machine: what its messages add up to.

Each function is a sum over the messages that follow one another in some pattern, of what they cost on the
levels that they cross: latencies, and seconds for each byte while all ranks send alike, so that a link that
is shared counts for as much as its bytes wait for one another. On a machine of one level they are 1, log2 P,
P and P log2 P.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.arrays import Floats, Integers

if TYPE_CHECKING:
    from haloscope.predict.machine import Level, Machine

LATENCIES = ("none", "tree", "far", "steps", "chain", "ring", "all")
"""Partners 1, 2, 4 … away, or all as far as any; next ranks near, where they are, or as far as any; all."""
BYTES = ("none", "parts", "rounds", "tree", "worst", "near", "far", "chain", "all", "doubling", "blocks")
"""Parts passed on; rounds of one rank, of all, all as slow as any; halves near, or far; doubled; blocks."""
_BANDWIDTH = 1e10


class Growths:
    """The growth functions of a machine; `None` for one of which nothing is known."""

    def __init__(self, machine: Machine | None) -> None:
        levels: Sequence[Level] = machine.levels if machine else ()
        self.known = machine is not None
        self._cores = np.array([level.cores for level in levels] or [2], np.int64)
        self._latency = np.array([float(level.latency) for level in levels] or [1e-6])
        self._lone = np.array([_byte_time(level) for level in levels] or [1 / _BANDWIDTH])
        self._shared = np.array([float(level.shared or 0) for level in levels] or [0.0])
        self._below = np.concatenate([[1], self._cores[:-1]])

    def latencies(self, ranks: int) -> dict[str, float]:
        """Return the seconds of each pattern of `LATENCIES`."""
        if ranks < 2:
            return dict.fromkeys(LATENCIES, 0.0)
        strides = _strides(ranks)
        last = ranks - 1
        farthest = self._latency[: self._levels(strides).max() + 1].max()
        between = last // self._below - last // self._cores
        between[-1] += last // self._cores[-1]  # beyond what is known, as on the farthest level
        return {
            "none": 0.0,
            "tree": float(self._latency[self._levels(strides)].sum()),
            "far": float(len(strides) * farthest),
            "steps": float((ranks - 1) * self._latency[0]),
            "chain": float(between @ self._latency),
            "ring": float((ranks - 1) * farthest),
            "all": float(self._apart(ranks) @ self._latency),
        }

    def bytes(self, ranks: int) -> dict[str, float]:
        """Return the seconds of each pattern of `BYTES` for a byte."""
        if ranks < 2:
            return dict.fromkeys(BYTES, 0.0)
        strides = _strides(ranks)
        loaded = self._loaded(ranks)
        costs = loaded[self._levels(strides)]
        count = len(strides)
        halves = 0.5 ** np.arange(1, count + 1)
        return {
            "none": 0.0,
            "parts": float((1 - 1 / ranks) * self._lone[0]),
            "rounds": float(self._lone[self._levels(strides)].sum()),
            "tree": float(costs.sum()),
            "worst": float(len(strides) * costs.max()),
            "near": float(costs @ halves),
            "far": float(costs @ halves[::-1]),
            "chain": float((ranks - 1) * self._lone[0]),
            "all": float(self._apart(ranks) @ loaded),
            "doubling": float(costs @ strides),
            "blocks": float(ranks / 2 * costs.sum()),
        }

    def _apart(self, ranks: int) -> Integers:
        """Return how many ranks are as far away as each level; those beyond all count to the last."""
        apart = np.minimum(ranks, self._cores) - np.minimum(ranks, self._below)
        apart[-1] += max(0, ranks - int(self._cores[-1]))
        return np.asarray(apart)

    def _levels(self, strides: Integers) -> Integers:
        return np.minimum(np.searchsorted(self._cores, strides, side="right"), len(self._cores) - 1)

    def _loaded(self, ranks: int) -> Floats:
        """Return seconds for a byte of each level, where all ranks send across it at once."""
        used = np.minimum(self._below, ranks)
        with np.errstate(divide="ignore"):
            waiting = np.where(self._shared > 0, used / self._shared, 0.0)
        return np.asarray(np.maximum(self._lone, waiting))


def _strides(ranks: int) -> Integers:
    return np.left_shift(1, np.arange((ranks - 1).bit_length(), dtype=np.int64))


def _byte_time(level: Level) -> float:
    if level.protocols and level.protocols[-1].bandwidth:
        return float(1 / level.protocols[-1].bandwidth)
    return float(1 / level.bandwidth) if level.bandwidth else 1 / _BANDWIDTH
