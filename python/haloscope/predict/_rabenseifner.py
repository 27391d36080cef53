"""Rabenseifner's reduction as Open MPI does it, on the machine of `_hockney`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haloscope.predict._hockney import Costs

__all__ = ["rabenseifner"]


def rabenseifner(costs: Costs, ranks: int, size: int) -> float:
    """Return when rank 0 has the sum of `size` elements of one byte; never in segments.

    After ompi_coll_base_reduce_intra_redscat_gather of Open MPI 4.1 and 5: with fewer elements
    than the largest power of two ≤ P, it is the linear algorithm, and so it is here.
    """
    steps = ranks.bit_length() - 1
    if size < 1 << steps:
        return _linear(costs, ranks, size)
    run = _Run(costs, ranks, size)
    for step in range(steps):
        run.halve(1 << step)
    for step in reversed(range(steps)):
        run.gather(1 << step)
    return run.times[0]


def _linear(costs: Costs, ranks: int, size: int) -> float:
    """The root receives from P-1, P-2 … 1, and adds each before it turns to the next."""
    total = 0.0
    for rank in reversed(range(1, ranks)):
        alpha, beta = costs.message(rank, 0)
        total += alpha + beta * size + costs.gamma * size
    return total


class _Run:
    """When each participant is done with what it did so far, and how much it holds."""

    def __init__(self, costs: Costs, ranks: int, size: int) -> None:
        self._costs, self._gamma = costs, costs.gamma
        left = 1 << (ranks.bit_length() - 1)
        extra = ranks - left
        # Of the first 2 × extra ranks only the even ones go on, so that a power of two is left.
        self._ranks = [2 * i if i < extra else i + extra for i in range(left)]
        self.times = [self._fold(rank, size) if rank < 2 * extra else 0.0 for rank in self._ranks]
        self._held = [size] * left

    def _fold(self, even: int, size: int) -> float:
        """Neighbours exchange halves, add them, and the odd one gives its half away."""
        alpha, beta = self._costs.message(even, even + 1)
        right = size - size // 2  # the larger half, if one is
        exchanged = alpha + beta * right
        return exchanged + self._gamma * right + alpha + beta * right

    def halve(self, mask: int) -> None:
        """All pairs at this distance exchange halves of what they hold; each adds one."""
        times, held = list(self.times), list(self._held)
        for low in self._lows(mask):
            high = low + mask
            # Both hold a window of the same place and length.
            kept = self._held[low] // 2, self._held[low] - self._held[low] // 2
            alpha, beta = self._costs.message(self._ranks[low], self._ranks[high])
            met = max(self.times[low], self.times[high]) + alpha + beta * kept[1]
            for rank, part in zip((low, high), kept, strict=True):
                times[rank], held[rank] = met + self._gamma * part, part
        self.times, self._held = times, held

    def gather(self, mask: int) -> None:
        """The subtree's higher half sends what it holds to the lower one."""
        for low in range(mask):
            high = low + mask
            alpha, beta = self._costs.message(self._ranks[high], self._ranks[low])
            start = max(self.times[low], self.times[high])
            self.times[low] = start + alpha + beta * self._held[high]
            self._held[low] += self._held[high]

    def _lows(self, mask: int) -> list[int]:
        return [rank for rank in range(len(self._ranks)) if not rank & mask]
