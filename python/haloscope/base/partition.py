"""A partition of a graph into parts of given sizes, so that few bytes go between parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from haloscope.base.arrays import Floats, Integers

_MOST_SWEEPS = 10
# Vertices times parts: what one table of bytes to each part may take.
_MOST_REFINED = 1 << 25


@dataclass(frozen=True)
class Links:
    """An undirected graph: `ends[first[v]:first[v + 1]]` are the neighbours of v, with `weights` (bytes)."""

    first: Integers
    ends: Integers
    weights: Floats

    @classmethod
    def from_pairs(cls, vertices: int, pairs: Integers, weights: Floats) -> Links:
        """Return the graph of pairs (2 × pairs); several of the same two vertices are added up."""
        both = np.concatenate([pairs, pairs[::-1]], axis=1)
        keys, row = np.unique(both[0] * vertices + both[1], return_inverse=True)
        sums = np.bincount(row.ravel(), np.concatenate([weights, weights]), len(keys)).astype(np.float64)
        first = np.searchsorted(keys, np.arange(vertices + 1) * vertices)
        return cls(first.astype(np.int64), keys % vertices, sums)

    @property
    def vertices(self) -> int:
        """How many there are."""
        return len(self.first) - 1

    @cached_property
    def begins(self) -> Integers:
        """The vertex at which each end begins."""
        return np.repeat(np.arange(self.vertices), np.diff(self.first))

    def cut(self, part: Integers) -> float:
        """Return the bytes between parts; `part` is that of each vertex."""
        return float(self.weights[part[self.begins] != part[self.ends]].sum()) / 2

    def select(self, members: Sequence[int] | Integers) -> Links:
        """Return the graph of some vertices, numbered in this order."""
        number = np.full(self.vertices, -1, dtype=np.int64)
        number[np.asarray(members)] = np.arange(len(members))
        keep = (number[self.begins] >= 0) & (number[self.ends] > number[self.begins])
        pairs = np.stack([number[self.begins[keep]], number[self.ends[keep]]])
        return Links.from_pairs(len(members), pairs, self.weights[keep])


def partition_graph(links: Links, sizes: Sequence[int], starts: Sequence[Integers]) -> Integers:
    """Return the part of each vertex, `sizes[k]` vertices in part k: the best that was found.

    Each of `starts` is a partition. The first one is returned unless a better one is found: a different
    start, or one after swaps.
    """
    candidates = [*starts, *(_refine(links, start, len(sizes)) for start in starts)]
    return min(candidates, key=links.cut)


def grow_parts(links: Links, sizes: Sequence[int]) -> Integers:
    """Return parts that were filled one after the other, with the vertex that has most bytes to them."""
    part = np.full(links.vertices, -1, dtype=np.int64)
    # Bytes to vertices that have no part.
    outside = np.bincount(links.begins, links.weights, links.vertices).astype(np.float64)
    for number, size in enumerate(sizes):
        bond = np.zeros(links.vertices)
        for _ in range(size):
            free = np.flatnonzero(part < 0)
            # Of equals, the one with the fewest bytes to free vertices: nothing is left in corners.
            vertex = free[np.lexsort((outside[free], -bond[free]))[0]]
            near = slice(links.first[vertex], links.first[vertex + 1])
            part[vertex] = number
            bond[links.ends[near]] += links.weights[near]
            outside[links.ends[near]] -= links.weights[near]
    return part


def fill_parts(links: Links, part: Integers, sizes: Sequence[int]) -> Integers:
    """Return parts of exactly these sizes: what a part has too many of goes where it is missed least."""
    part = part.copy()
    room = np.array(sizes) - np.bincount(part, minlength=len(sizes))
    to_part = _bytes_to_parts(links, part, len(sizes))
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


def _refine(links: Links, part: Integers, parts: int) -> Integers:
    """Return the parts after vertices have changed places, two at a time, as long as that helps."""
    part = part.copy()
    if links.vertices * parts > _MOST_REFINED:
        return part
    to_part = _bytes_to_parts(links, part, parts)
    every = np.arange(links.vertices)
    for _ in range(_MOST_SWEEPS):
        changed = False
        own = to_part[every, part]
        for vertex in np.flatnonzero(to_part.sum(axis=1) > own).tolist():
            here = part[vertex]
            gains = to_part[vertex][part] - to_part[vertex, here]
            gains += to_part[:, here] - to_part[every, part]
            near = slice(links.first[vertex], links.first[vertex + 1])
            gains[links.ends[near]] -= 2 * links.weights[near]
            gains[part == here] = 0
            other = int(gains.argmax())
            if gains[other] > 1e-9 * to_part[vertex].sum():
                there = part[other]
                _move(links, to_part, vertex, here, there)
                _move(links, to_part, other, there, here)
                part[vertex], part[other] = there, here
                changed = True
        if not changed:
            break
    return part


def _bytes_to_parts(links: Links, part: Integers, parts: int) -> Floats:
    """Return the bytes between each vertex and each part (vertices × parts)."""
    keys = links.begins * parts + part[links.ends]
    sums = np.bincount(keys, links.weights, links.vertices * parts).astype(np.float64)
    return sums.reshape(links.vertices, parts)


def _move(links: Links, to_part: Floats, vertex: int, here: int, to: int) -> None:
    near = slice(links.first[vertex], links.first[vertex + 1])
    to_part[links.ends[near], here] -= links.weights[near]
    to_part[links.ends[near], to] += links.weights[near]
