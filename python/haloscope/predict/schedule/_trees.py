"""Who sends to whom: the trees that Open MPI builds, from rank 0.

Each is a list with the children of every rank, in the order in which it serves them; a child's
rank is higher than its parent's, but in `in_order_binary`, where it is lower. After
ompi/mca/coll/base/coll_base_topo.c of Open MPI 4 and 5.
"""

from __future__ import annotations

from itertools import pairwise

__all__ = [
    "Tree",
    "binary",
    "binomial",
    "chain",
    "in_order_binary",
    "in_order_binomial",
    "knomial",
    "pipeline",
    "runs",
]

Tree = list[list[int]]


def runs(ranks: int, chains: int) -> list[range]:
    """Return ranks 1 … P-1 in so many contiguous runs, at most P-1; the longer ones, by one, first."""
    chains = min(chains, ranks - 1)
    length, longer = divmod(ranks - 1, chains)
    starts = [1 + run * length + min(run, longer) for run in range(chains + 1)]
    return [range(*ends) for ends in pairwise(starts)]


def pipeline(ranks: int) -> Tree:
    """Return 0 → 1 → 2 → …"""
    return chain(ranks, 1)


def chain(ranks: int, chains: int) -> Tree:
    """Return a tree: the root feeds the head of each run, and in a run each rank the next one."""
    children: Tree = [[] for _ in range(ranks)]
    for run in runs(ranks, chains):
        children[0].append(run[0])
        for rank in run[1:]:
            children[rank - 1].append(rank)
    return children


def binomial(ranks: int) -> Tree:
    """Return 0 → 1, 2, 4, 8 …; 1 → 3, 5, 9 …: what the broadcast uses, largest subtree first."""
    return [
        [
            rank + (1 << bit)
            for bit in range(rank.bit_length(), ranks.bit_length())
            if rank + (1 << bit) < ranks
        ]
        for rank in range(ranks)
    ]


def in_order_binomial(ranks: int) -> Tree:
    """Return 0 ← 1, 2, 4, 8 …; 4 ← 5, 6: what the reduction uses, smallest subtree first."""
    return [
        [rank + (1 << bit) for bit in range(_zeros(rank, ranks)) if rank + (1 << bit) < ranks]
        for rank in range(ranks)
    ]


def binary(ranks: int) -> Tree:
    """Return 0 ← 1, 2; 1 ← 3, 5; 2 ← 4, 6; a rank of the level with w ranks has children w and 2w on."""
    return [
        [rank + times * width for times in (1, 2) if rank + times * width < ranks]
        for rank in range(ranks)
        for width in [1 << ((rank + 1).bit_length() - 1)]
    ]


def in_order_binary(ranks: int) -> Tree:
    """Return P-1 ← P-2 and the middle, from the last rank on: sums are in the order of ranks."""
    children: Tree = [[] for _ in range(ranks)]
    parts = [(0, ranks)]
    while parts:
        first, count = parts.pop()
        parent, right = first + count - 1, count // 2
        if count > 1:
            children[parent].append(parent - 1)
            parts.append((first + right, count - right - 1))
        if count > 2:
            children[parent].append(first + right - 1)
            parts.append((first, right))
    return children


def knomial(ranks: int, radix: int) -> Tree:
    """Return rank 0 → up to radix - 1 children at each power of the radix, the farthest first."""
    children: Tree = [[] for _ in range(ranks)]
    for rank in range(ranks):
        stride = 1
        while stride < ranks and rank % (radix * stride) == 0:
            stride *= radix
        while stride := stride // radix:
            children[rank] += [
                rank + stride * times for times in range(1, radix) if rank + stride * times < ranks
            ]
    return children


def _zeros(rank: int, ranks: int) -> int:
    """Return how many lowest bits of a rank are 0; of rank 0, all that ranks have."""
    return (rank & -rank).bit_length() - 1 if rank else (ranks - 1).bit_length()
