"""The six formulas of Derin's paper, which depend only on a matrix of latencies L(i, j).

T. Derin, Comparative Analysis of OpenMPI Algorithms for Collective Operations using OSU Benchmark,
2025, section 4. Its assumptions: latency dominates, messages do not overlap, and placement is perfect. Thus
the time does not depend on the size of the message. The root is rank 0.

The paper has log2 P rounds and does not define P that is not a power of two. Here there are ⌈log2 P⌉ rounds,
over the pairs whose ranks both exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import pairwise

from haloscope.predict.schedule.trees import runs

Latency = Callable[[int, int], Decimal]


def broadcast_pipeline(latency: Latency, ranks: int) -> Decimal:
    """Section 4, "Pipeline Broadcast": the sum of L(i, i+1) for i = 0 … P-2."""
    return sum((latency(i, i + 1) for i in range(ranks - 1)), Decimal())


def broadcast_binomial(latency: Latency, ranks: int) -> Decimal:
    """Section 4, "Binomial Tree Broadcast": the sum of L(0, 2^i) over the rounds i.

    In the text, rank 0 sends all messages; in the tree, others forward. With a root that sends one message
    after the other, both are equal if each level has a power of two of cores.
    """
    return sum((latency(0, stride) for stride in _strides(ranks)), Decimal())


def broadcast_chain(latency: Latency, ranks: int, chains: int = 4) -> Decimal:
    """Section 4, "Chain Broadcast (Parallel Chains)": the longest of f chains.

    The paper defines neither f nor the ranks of each chain. Here, as in Open MPI, ranks 1 … P-1 form
    f = min(chains, P-1) contiguous runs whose lengths differ by at most one, longer ones first. Open MPI's
    default is 4. All chains start at the same time: the f messages of the root do not delay each other.
    """
    return max(_chain(latency, run) for run in runs(ranks, chains))


def reduce_binary(latency: Latency, ranks: int) -> Decimal:
    """Section 4, "Binary Tree Reduce": in each round i, the largest L(r + 2^i, r) over all r.

    The maximum of the paper is over all ranks r, not over the roots of subtrees in round i (multiples of
    2^(i+1)), as in a tree. It is thus a bound by the slowest link of a stride, not the cost of a tree. Over
    subtrees, it would equal `reduce_binomial` on every machine whose levels are powers of two, but they
    differ in the paper's Figure 7. It is not Open MPI's binary tree either, in which a rank waits for two
    children.
    """
    return sum((max(_links(latency, ranks, stride)) for stride in _strides(ranks)), Decimal())


def reduce_binomial(latency: Latency, ranks: int) -> Decimal:
    """Section 4, "Binomial Tree Reduce Model": the sum of L(2^i, 0) over the rounds i."""
    return sum((latency(stride, 0) for stride in _strides(ranks)), Decimal())


def reduce_rabenseifner(latency: Latency, ranks: int) -> Decimal:
    """Section 4, "Rabenseifner Reduce": reduce-scatter, then gather; the largest L in each round.

    The maximum is over all r. With symmetric L, the result is twice that of `reduce_binary`, as the formula
    has no bandwidth, in which halving of the data gains.
    """
    scatter = (max(_links(latency, ranks, stride, back=False)) for stride in _strides(ranks))
    return sum(scatter, Decimal()) + reduce_binary(latency, ranks)


def _strides(ranks: int) -> list[int]:
    """Return 1, 2, 4 … below the number of ranks: one for each of ⌈log2 P⌉ rounds."""
    return [1 << i for i in range((ranks - 1).bit_length())]


def _links(latency: Latency, ranks: int, stride: int, *, back: bool = True) -> Iterator[Decimal]:
    """Yield L between r + stride and r for all r where both exist."""
    for rank in range(ranks - stride):
        yield latency(rank + stride, rank) if back else latency(rank, rank + stride)


def _chain(latency: Latency, run: range) -> Decimal:
    return sum((latency(before, rank) for before, rank in pairwise([0, *run])), Decimal())
