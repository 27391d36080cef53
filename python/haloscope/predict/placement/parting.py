"""Partitions of ranks into parts of given sizes with few bytes between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.base.partition import Links, fill_parts, partition_graph
from haloscope.predict.placement.scotch import map_vertices
from haloscope.predict.simulate.rank_grids import RankGrid, detect_grid


def partition_ranks(links: Links, sizes: Sequence[int], given: Integers) -> Integers:
    """Return the best part found for each rank, with `sizes[k]` ranks in part k.

    `given` is a valid partition, which is returned if no better one is found.
    """
    if len(sizes) < 2:
        return given
    scotch = fill_parts(links, map_vertices(links, sizes), sizes)
    return partition_graph(links, sizes, [given, *divide_into_boxes(links, sizes), scotch])


def divide_into_boxes(links: Links, sizes: Sequence[int]) -> Iterator[Integers]:
    """Yield the best division of a grid into equal boxes, if the graph is a grid."""
    each = sizes[0]
    if len(set(sizes)) > 1 or not len(links.ends):
        return
    grid = detect_grid(links.vertices, links.begins, links.ends)
    if grid is None:
        return
    ways = [_number_boxes(grid, sides) for sides in _list_sides(grid.dims, each)]
    if ways:
        yield min(ways, key=links.cut)


def _number_boxes(grid: RankGrid, sides: tuple[int, int, int]) -> Integers:
    box = grid.coordinates(np.arange(np.prod(grid.dims))) // np.array(sides)
    counts = np.array(grid.dims) // np.array(sides)
    number: Integers = box[:, 0] + counts[0] * (box[:, 1] + counts[1] * box[:, 2])
    return number


def _list_sides(dims: tuple[int, int, int], vertices: int) -> list[tuple[int, int, int]]:
    fitting = [[side for side in range(1, size + 1) if size % side == 0] for size in dims]
    return [(x, y, z) for x in fitting[0] for y in fitting[1] for z in fitting[2] if x * y * z == vertices]
