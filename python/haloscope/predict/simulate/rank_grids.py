"""The grid of ranks that a pattern's partners show, and the same pattern on a larger one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.predict.simulate.platform import near_cube

Offset = tuple[int, int, int]


@dataclass(frozen=True)
class RankGrid:
    """Ranks in three dimensions, the first one fastest; `wraps` where an axis is a ring."""

    dims: tuple[int, int, int]
    wraps: tuple[bool, bool, bool] = (False, False, False)

    def coordinates(self, ranks: Integers) -> Integers:
        x, y, _ = self.dims
        return np.stack([ranks % x, ranks // x % y, ranks // (x * y)], axis=-1)

    def offsets(self, ranks: Integers, partners: Integers) -> Integers:
        """Return the steps from each rank to its partner, the short way round where an axis wraps."""
        found = self.coordinates(partners) - self.coordinates(ranks)
        for axis, (size, wraps) in enumerate(zip(self.dims, self.wraps, strict=True)):
            if wraps:
                found[:, axis] = (found[:, axis] + size // 2) % size - size // 2
        return found

    def neighbour(self, rank: int, offset: Offset) -> int | None:
        """Return the rank at an offset, if there is one."""
        x, y, _ = self.dims
        coordinates = (rank % x, rank // x % y, rank // (x * y))
        found = 0
        for axis in (2, 1, 0):
            place, size = coordinates[axis] + offset[axis], self.dims[axis]
            if not self.wraps[axis] and not 0 <= place < size:
                return None
            found = found * size + place % size
        return found

    @property
    def cube(self) -> float:
        """The ranks of a cube, or square, through which the way from corner to corner is as long."""
        used = [size for size in self.dims if size > 1] or [1]
        return float((sum(used) / len(used)) ** len(used))

    def grown(self, ranks: int) -> RankGrid:
        """Return the grid of so many ranks with the same kinds of axes: as near to a cube as it can be.

        Axes of one rank stay so where others can grow.
        """
        if ranks == prod(self.dims):
            return self
        used = [axis for axis, size in enumerate(self.dims) if size > 1] or [0, 1, 2]
        sizes = _factors(ranks, len(used))
        dims = [1, 1, 1]
        order = sorted(used, key=lambda axis: (-self.dims[axis], axis))
        for axis, size in zip(order, sizes, strict=True):
            dims[axis] = size
        return RankGrid((dims[0], dims[1], dims[2]), self.wraps)


def detect(ranks: int, senders: Integers, partners: Integers) -> RankGrid | None:
    """Return the grid on which all partners are next to each other, in the fewest directions.

    Of several, it is the nearest to a cube.
    """
    best, fewest = None, 28
    for dims in _shapes(ranks):
        for wraps in _wrappings(dims):
            grid = RankGrid(dims, wraps)
            offsets = grid.offsets(senders, partners)
            if senders.size and np.abs(offsets).max() > 1:
                continue
            directions = len(np.unique(offsets, axis=0))
            if directions < fewest:
                best, fewest = grid, directions
    return best


def _shapes(ranks: int) -> list[tuple[int, int, int]]:
    divisors = [d for d in range(1, ranks + 1) if ranks % d == 0]
    shapes = [(x, y, ranks // x // y) for x in divisors for y in divisors if ranks // x % y == 0]
    return sorted(shapes, key=lambda dims: (sum(dims), [-size for size in dims]))


def _wrappings(dims: tuple[int, int, int]) -> Iterator[tuple[bool, bool, bool]]:
    """Open first: two ranks side by side are no ring."""
    yield (False, False, False)
    closed = (dims[0] > 2, dims[1] > 2, dims[2] > 2)
    if any(closed):
        yield closed


def _factors(ranks: int, parts: int) -> tuple[int, ...]:
    if parts == 3:
        return near_cube(ranks)
    if parts == 1:
        return (ranks,)
    low = next(d for d in range(int(ranks**0.5), 0, -1) if ranks % d == 0)
    return (ranks // low, low)
