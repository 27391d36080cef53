"""Ranks parted so that few bytes go between parts of given sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.base.partition import Links, fill_parts, partition_graph
from haloscope.predict.placement.scotch import map_vertices
from haloscope.predict.simulate.rank_grids import RankGrid, detect


def part_ranks(links: Links, sizes: Sequence[int], given: Integers) -> Integers:
    """Return the part of each rank, `sizes[k]` ranks in part k: the best that was found.

    `given` is a partition that is returned unless a better one is found.
    """
    if len(sizes) < 2:
        return given
    scotch = fill_parts(links, map_vertices(links, sizes), sizes)
    return partition_graph(links, sizes, [given, *boxes(links, sizes), scotch])


def boxes(links: Links, sizes: Sequence[int]) -> Iterator[Integers]:
    """Yield the best way to cut a grid of vertices into equal boxes, where the graph is such a grid."""
    each = sizes[0]
    if len(set(sizes)) > 1 or not len(links.ends):
        return
    grid = detect(links.vertices, links.begins, links.ends)
    if grid is None:
        return
    ways = [_boxed(grid, sides) for sides in _sides(grid.dims, each)]
    if ways:
        yield min(ways, key=links.cut)


def _boxed(grid: RankGrid, sides: tuple[int, int, int]) -> Integers:
    place = grid.coordinates(np.arange(np.prod(grid.dims))) // np.array(sides)
    counts = np.array(grid.dims) // np.array(sides)
    number: Integers = place[:, 0] + counts[0] * (place[:, 1] + counts[1] * place[:, 2])
    return number


def _sides(dims: tuple[int, int, int], vertices: int) -> list[tuple[int, int, int]]:
    fitting = [[side for side in range(1, size + 1) if size % side == 0] for size in dims]
    return [(x, y, z) for x in fitting[0] for y in fitting[1] for z in fitting[2] if x * y * z == vertices]
