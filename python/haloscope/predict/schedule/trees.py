"""The trees of Open MPI's algorithms, rooted at rank 0.

A child's rank is higher than its parent's, except in `in_order_binary`, where it is lower. Source:
ompi/mca/coll/base/coll_base_topo.c of Open MPI 4 and 5.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from haloscope.base.arrays import Integers


class Tree(NamedTuple):
    """Parent and child of each edge, from the root on.

    The children of one parent in the order of its messages.
    """

    parents: Integers
    children: Integers

    @classmethod
    def of(cls, parents: Integers, children: Integers, *, downwards: bool = False) -> Tree:
        """Return the tree of these edges, whose children have higher ranks than parents, or lower ones."""
        order = np.argsort(-parents if downwards else parents, kind="stable")
        return cls(parents[order], children[order])

    @property
    def upwards(self) -> Tree:
        """The tree with the edges to children before the edge to the own parent."""
        is_downwards = len(self.parents) and self.parents[0] > self.children[0]
        return Tree.of(*self, downwards=not is_downwards)


def runs(ranks: int, chains: int) -> list[range]:
    """Return ranks 1 … P-1 in `chains` contiguous runs (at most P-1), whose lengths differ by at most one."""
    chains = min(chains, ranks - 1)
    length, longer = divmod(ranks - 1, chains)
    starts = [1 + run * length + min(run, longer) for run in range(chains + 1)]
    return [range(*ends) for ends in pairwise(starts)]


def pipeline(ranks: int) -> Tree:
    """Return 0 → 1 → 2 → …"""
    return chain(ranks, 1)


def chain(ranks: int, chains: int) -> Tree:
    """Return a tree in which the root sends to the head of each run, and each rank of a run to the next
    one."""
    children = np.arange(1, ranks)
    heads = np.array([run.start for run in runs(ranks, chains)], np.int64)
    parents = np.where(np.isin(children, heads), 0, children - 1)
    return Tree.of(parents, children)


def binomial(ranks: int) -> Tree:
    """Return 0 → 1, 2, 4, 8 …; 1 → 3, 5, 9 …: what the broadcast uses, largest subtree first."""
    strides = [1 << bit for bit in range((ranks - 1).bit_length())]
    return _strided([(np.arange(min(stride, ranks - stride)), stride) for stride in strides], ranks)


def in_order_binomial(ranks: int) -> Tree:
    """Return 0 ← 1, 2, 4, 8 …; 4 ← 5, 6: what the reduction uses, smallest subtree first."""
    strides = [1 << bit for bit in range((ranks - 1).bit_length())]
    return _strided([(np.arange(0, ranks, 2 * stride), stride) for stride in strides], ranks)


def binary(ranks: int) -> Tree:
    """Return 0 ← 1, 2; 1 ← 3, 5; 2 ← 4, 6; a rank of the level with w ranks has children w and 2w on."""
    widths = [1 << bit for bit in range(ranks.bit_length())]
    levels = [(np.arange(width - 1, min(2 * width - 1, ranks)), width) for width in widths]
    return _strided([(level, times * width) for level, width in levels for times in (1, 2)], ranks)


def in_order_binary(ranks: int) -> Tree:
    """Return P-1 ← P-2 and the middle, from the last rank on: sums are in the order of ranks."""
    first, count = np.zeros(1, np.int64), np.full(1, ranks)
    parents, children = [], []
    while len(first):
        is_split, half = count > 2, count // 2
        parent = first + count - 1
        parents += [parent[count > 1], parent[is_split]]
        children += [parents[-2] - 1, (first + half - 1)[is_split]]
        rest = np.maximum(count - half - 1, 0)
        first = np.concatenate([(first + half)[rest > 0], first[is_split]])
        count = np.concatenate([rest[rest > 0], half[is_split]])
    return Tree.of(np.concatenate(parents), np.concatenate(children), downwards=True)


def knomial(ranks: int, radix: int) -> Tree:
    """Return rank 0 → up to radix - 1 children at each power of the radix, the farthest first."""
    strides = [1]
    while strides[-1] * radix < ranks:
        strides.append(strides[-1] * radix)
    return _strided(
        [
            (np.arange(0, ranks, radix * stride), stride * times)
            for stride in reversed(strides)
            for times in range(1, radix)
        ],
        ranks,
    )


def _strided(parts: list[tuple[Integers, int]], ranks: int) -> Tree:
    """Return a tree in whose parts ranks are the parents of existing ranks at a distance."""
    parents = np.concatenate([part for part, _ in parts])
    children = np.concatenate([part + distance for part, distance in parts])
    exist = children < ranks
    return Tree.of(parents[exist], children[exist])
