"""Partitions of a graph into parts of given sizes with few bytes between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from haloscope.base.arrays import Floats, Integers
from haloscope.predict.placement.scotch import map_vertices
from haloscope.predict.placement.traffic import Links
from haloscope.predict.simulate.rank_grids import RankGrid, detect_grid

__all__ = ["partition_graph"]

_MOST_SWEEPS = 10
# Largest size (vertices × parts) of a table of bytes to each part.
_MOST_REFINED = 1 << 25


def partition_graph(links: Links, sizes: Sequence[int], given: Integers) -> Integers:
    """Return the best part found for each vertex, with `sizes` vertices per part.

    `given` is a valid partition, which is returned if no better one is found.
    """
    if len(sizes) < 2:
        return np.zeros(links.vertices, dtype=np.int64)
    best, least = given, links.sum_cut_weights(given)
    scotch = fill_parts(links, map_vertices(links, sizes), sizes)
    swapped = (refine_parts(links, begin, len(sizes)) for begin in (given, scotch))
    for part in [*divide_into_boxes(links, sizes), *swapped]:
        cost = links.sum_cut_weights(part)
        if cost < least:
            best, least = part, cost
    return best


def fill_parts(links: Links, part: Integers, sizes: Sequence[int]) -> Integers:
    """Return parts of exactly these sizes: excess vertices move to the part with the smallest loss."""
    part = part.copy()
    room = np.array(sizes) - np.bincount(part, minlength=len(sizes))
    to_part = sum_bytes_to_parts(links, part, len(sizes))
    for full in np.flatnonzero(room < 0):
        while room[full] < 0:
            members = np.flatnonzero(part == full)
            free = np.flatnonzero(room > 0)
            gains = to_part[np.ix_(members, free)] - to_part[members, full][:, None]
            who, where = np.unravel_index(int(gains.argmax()), gains.shape)
            vertex, to = int(members[who]), int(free[where])
            _move(links, to_part, vertex, int(full), to)
            part[vertex] = to
            room[full] += 1
            room[to] -= 1
    return part


def refine_parts(links: Links, part: Integers, parts: int) -> Integers:
    """Return the parts after swaps of vertex pairs, as long as that reduces the bytes between parts."""
    part = part.copy()
    if links.vertices * parts > _MOST_REFINED:
        return part
    to_part = sum_bytes_to_parts(links, part, parts)
    every = np.arange(links.vertices)
    for _ in range(_MOST_SWEEPS):
        changed = False
        own = to_part[every, part]
        for vertex in np.flatnonzero(to_part.sum(axis=1) > own).tolist():
            own_part = part[vertex]
            gains = to_part[vertex][part] - to_part[vertex, own_part]
            gains += to_part[:, own_part] - to_part[every, part]
            near = slice(links.first[vertex], links.first[vertex + 1])
            gains[links.ends[near]] -= 2 * links.weights[near]
            gains[part == own_part] = 0
            other = int(gains.argmax())
            if gains[other] > 1e-9 * to_part[vertex].sum():
                other_part = part[other]
                _move(links, to_part, vertex, own_part, other_part)
                _move(links, to_part, other, other_part, own_part)
                part[vertex], part[other] = other_part, own_part
                changed = True
        if not changed:
            break
    return part


def sum_bytes_to_parts(links: Links, part: Integers, parts: int) -> Floats:
    """Return the bytes between each vertex and each part, shape (vertices, parts)."""
    keys = links.begins * parts + part[links.ends]
    sums = np.bincount(keys, links.weights, links.vertices * parts).astype(np.float64)
    return sums.reshape(links.vertices, parts)


def _move(links: Links, to_part: Floats, vertex: int, old_part: int, to: int) -> None:
    near = slice(links.first[vertex], links.first[vertex + 1])
    to_part[links.ends[near], old_part] -= links.weights[near]
    to_part[links.ends[near], to] += links.weights[near]


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
        yield min(ways, key=links.sum_cut_weights)


def _number_boxes(grid: RankGrid, sides: tuple[int, int, int]) -> Integers:
    box = grid.coordinates(np.arange(np.prod(grid.dims))) // np.array(sides)
    counts = np.array(grid.dims) // np.array(sides)
    number: Integers = box[:, 0] + counts[0] * (box[:, 1] + counts[1] * box[:, 2])
    return number


def _list_sides(dims: tuple[int, int, int], vertices: int) -> list[tuple[int, int, int]]:
    fitting = [[side for side in range(1, size + 1) if size % side == 0] for size in dims]
    return [(x, y, z) for x in fitting[0] for y in fitting[1] for z in fitting[2] if x * y * z == vertices]
