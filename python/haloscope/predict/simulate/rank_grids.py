"""Detection of the grid of ranks of a pattern, and scaling to a larger grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.predict.simulate.platform import factorise_near_cube

Offset = tuple[int, int, int]


@dataclass(frozen=True)
class RankGrid:
    """Ranks in three dimensions, the first one fastest; `wraps` marks periodic axes."""

    dims: tuple[int, int, int]
    wraps: tuple[bool, bool, bool] = (False, False, False)

    def coordinates(self, ranks: Integers) -> Integers:
        x, y, _ = self.dims
        return np.stack([ranks % x, ranks // x % y, ranks // (x * y)], axis=-1)

    def offsets(self, ranks: Integers, partners: Integers) -> Integers:
        """Return the offset from each rank to its partner, the shorter one on periodic axes."""
        found = self.coordinates(partners) - self.coordinates(ranks)
        for axis, (size, wraps) in enumerate(zip(self.dims, self.wraps, strict=True)):
            if wraps:
                found[:, axis] = (found[:, axis] + size // 2) % size - size // 2
        return found

    def neighbour(self, rank: int, offset: Offset) -> int | None:
        """Return the rank at an offset, None if there is none."""
        x, y, _ = self.dims
        coordinates = (rank % x, rank // x % y, rank // (x * y))
        found = 0
        for axis in (2, 1, 0):
            coordinate, size = coordinates[axis] + offset[axis], self.dims[axis]
            if not self.wraps[axis] and not 0 <= coordinate < size:
                return None
            found = found * size + coordinate % size
        return found

    @property
    def cube(self) -> float:
        """The number of ranks of a cube or square with the same path length from corner to corner."""
        used = [size for size in self.dims if size > 1] or [1]
        return float((sum(used) / len(used)) ** len(used))

    def scale(self, ranks: int) -> RankGrid:
        """Return the grid of `ranks` ranks with the same kinds of axes that is nearest to a cube.

        Axes of one rank stay so if others can grow.
        """
        if ranks == prod(self.dims):
            return self
        used = [axis for axis, size in enumerate(self.dims) if size > 1] or [0, 1, 2]
        sizes = _factorise(ranks, len(used))
        dims = [1, 1, 1]
        order = sorted(used, key=lambda axis: (-self.dims[axis], axis))
        for axis, size in zip(order, sizes, strict=True):
            dims[axis] = size
        return RankGrid((dims[0], dims[1], dims[2]), self.wraps)


def detect_grid(ranks: int, senders: Integers, partners: Integers) -> RankGrid | None:
    """Return the grid on which all partners are neighbours, with the fewest directions.

    Among several grids, the nearest to a cube is returned.
    """
    best, fewest = None, 28
    for dims in _list_shapes(ranks):
        for wraps in _list_wraps(dims):
            grid = RankGrid(dims, wraps)
            offsets = grid.offsets(senders, partners)
            if senders.size and np.abs(offsets).max() > 1:
                continue
            directions = len(np.unique(offsets, axis=0))
            if directions < fewest:
                best, fewest = grid, directions
    return best


def _list_shapes(ranks: int) -> list[tuple[int, int, int]]:
    divisors = [d for d in range(1, ranks + 1) if ranks % d == 0]
    shapes = [(x, y, ranks // x // y) for x in divisors for y in divisors if ranks // x % y == 0]
    return sorted(shapes, key=lambda dims: (sum(dims), [-size for size in dims]))


def _list_wraps(dims: tuple[int, int, int]) -> Iterator[tuple[bool, bool, bool]]:
    """Yield open axes, then periodic ones. Two ranks are no ring."""
    yield (False, False, False)
    closed = (dims[0] > 2, dims[1] > 2, dims[2] > 2)
    if any(closed):
        yield closed


def _factorise(ranks: int, parts: int) -> tuple[int, ...]:
    if parts == 3:
        return factorise_near_cube(ranks)
    if parts == 1:
        return (ranks,)
    low = next(d for d in range(int(ranks**0.5), 0, -1) if ranks % d == 0)
    return (ranks // low, low)
