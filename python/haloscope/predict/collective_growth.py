"""Growth functions of collectives on a machine: sums over the messages of typical patterns.

Each function sums the cost of consecutive messages of a pattern on the levels that they cross: latencies, or
seconds per byte while all ranks send, including waiting for shared links. On a machine of one level the
functions are 1, log2 P, P and P log2 P.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.arrays import Floats, Integers

if TYPE_CHECKING:
    from haloscope.predict.machine import Level, Machine

LATENCIES = ("none", "tree", "far", "steps", "chain", "ring", "all")
"""Patterns: no messages; partners 1, 2, 4 … away; as many on the farthest level; neighbours on the nearest
level, on their levels, or on the farthest level; all partners."""
BYTES = ("none", "parts", "rounds", "tree", "worst", "near", "far", "chain", "all", "doubling", "blocks")
"""Patterns: none; parts; rounds of one rank; of all ranks; all rounds at the slowest; halves to near or far
partners; a chain; all partners; doubled blocks; all blocks."""
_BANDWIDTH = 1e10


class Growths:
    """The growth functions of a machine; None for an unknown machine."""

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
        strides = _list_strides(ranks)
        last = ranks - 1
        farthest = self._latency[: self._find_levels(strides).max() + 1].max()
        between = last // self._below - last // self._cores
        between[-1] += last // self._cores[-1]  # beyond the machine, as on the farthest level
        return {
            "none": 0.0,
            "tree": float(self._latency[self._find_levels(strides)].sum()),
            "far": float(len(strides) * farthest),
            "steps": float((ranks - 1) * self._latency[0]),
            "chain": float(between @ self._latency),
            "ring": float((ranks - 1) * farthest),
            "all": float(self._count_by_level(ranks) @ self._latency),
        }

    def bytes(self, ranks: int) -> dict[str, float]:
        """Return the seconds per byte of each pattern of `BYTES`."""
        if ranks < 2:
            return dict.fromkeys(BYTES, 0.0)
        strides = _list_strides(ranks)
        loaded = self._loaded_byte_times(ranks)
        costs = loaded[self._find_levels(strides)]
        count = len(strides)
        halves = 0.5 ** np.arange(1, count + 1)
        return {
            "none": 0.0,
            "parts": float((1 - 1 / ranks) * self._lone[0]),
            "rounds": float(self._lone[self._find_levels(strides)].sum()),
            "tree": float(costs.sum()),
            "worst": float(len(strides) * costs.max()),
            "near": float(costs @ halves),
            "far": float(costs @ halves[::-1]),
            "chain": float((ranks - 1) * self._lone[0]),
            "all": float(self._count_by_level(ranks) @ loaded),
            "doubling": float(costs @ strides),
            "blocks": float(ranks / 2 * costs.sum()),
        }

    def _count_by_level(self, ranks: int) -> Integers:
        """Return the number of ranks at the distance of each level.

        Ranks beyond all levels count to the last.
        """
        counts = np.minimum(ranks, self._cores) - np.minimum(ranks, self._below)
        counts[-1] += max(0, ranks - int(self._cores[-1]))
        return np.asarray(counts)

    def _find_levels(self, strides: Integers) -> Integers:
        return np.minimum(np.searchsorted(self._cores, strides, side="right"), len(self._cores) - 1)

    def _loaded_byte_times(self, ranks: int) -> Floats:
        """Return the seconds per byte of each level if all ranks send across it at the same time."""
        used = np.minimum(self._below, ranks)
        with np.errstate(divide="ignore"):
            waiting = np.where(self._shared > 0, used / self._shared, 0.0)
        return np.asarray(np.maximum(self._lone, waiting))


def _list_strides(ranks: int) -> Integers:
    return np.left_shift(1, np.arange((ranks - 1).bit_length(), dtype=np.int64))


def _byte_time(level: Level) -> float:
    if level.protocols and level.protocols[-1].bandwidth:
        return float(1 / level.protocols[-1].bandwidth)
    return float(1 / level.bandwidth) if level.bandwidth else 1 / _BANDWIDTH
