"""Reduce_scatter and its form with equal blocks; bytes are the whole vector's, as OSU's are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from haloscope.predict import _trees
from haloscope.predict.schedule._rooted import scatter_tree
from haloscope.predict.schedule._rounds import blocks_of, flow_up, fold_whole, parts, pass_on, ring, rounds
from haloscope.predict.schedule._schedule import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.predict.schedule._schedule import Schedule

    Integers = NDArray[np.int64]

__all__ = ["butterfly", "pairwise", "recursive_doubling", "recursive_halving", "reduce_then_scatter"]


def reduce_then_scatter(schedule: Schedule, plan: Plan) -> None:
    """Reduction to rank 0, taken as binomial, and linear scatter."""
    flow_up(schedule, _trees.in_order_binomial(plan.ranks), parts(plan.bytes, 0))
    blocks, others = blocks_of(plan.bytes, plan.ranks), np.arange(1, plan.ranks)
    schedule.send(0, others, blocks[1:], source_step=others)


def reduce_then_scatter_tree(schedule: Schedule, plan: Plan) -> None:
    """Reduction to rank 0 and scatter, both taken as binomial."""
    flow_up(schedule, _trees.in_order_binomial(plan.ranks), parts(plan.bytes, 0))
    scatter_tree(schedule, Plan(plan.ranks, plan.bytes // plan.ranks))


def ring_of_sums(schedule: Schedule, plan: Plan) -> None:
    """Blocks are added up around a ring."""
    ring(schedule, blocks_of(plan.bytes, plan.ranks), shift=-1, added=True, ahead=True)


def pairwise(schedule: Schedule, plan: Plan) -> None:
    """In round k everyone sends rank + k its block."""
    everyone, distance = np.arange(plan.ranks), np.arange(1, plan.ranks)[:, None]
    target = (everyone + distance) % plan.ranks
    blocks = blocks_of(plan.bytes, plan.ranks)
    rounds(schedule, np.broadcast_to(everyone, target.shape), target, blocks[target], added=True)


def recursive_halving(schedule: Schedule, plan: Plan) -> None:
    """Pairs at shrinking distances exchange halves of what they hold, and add."""
    ranks = fold_whole(schedule, plan.ranks, plan.bytes)
    left, blocks = len(ranks), blocks_of(plan.bytes, plan.ranks)
    own = _owned(blocks, left)
    ends = np.concatenate([[0], np.cumsum(own)])
    stride = left // 2
    while stride:
        _exchange_blocks(schedule, ranks, stride, ends)
        stride //= 2
    even = np.arange(0, 2 * (plan.ranks - left), 2)
    schedule.send(even + 1, even, blocks[even])


def _owned(blocks: Integers, left: int) -> Integers:
    """Bytes of the blocks of each of the ranks that go on, with those of its neighbour."""
    extra = len(blocks) - left
    pairs = blocks[: 2 * extra].reshape(-1, 2).sum(axis=1)
    return np.concatenate([pairs, blocks[2 * extra :]])


def _exchange_blocks(schedule: Schedule, ranks: Integers, stride: int, ends: Integers) -> None:
    """Each gives its partner the blocks of the partner's half, and adds those of its own."""
    partner = np.arange(len(ranks)) ^ stride
    first = partner // stride * stride
    sizes = ends[first + stride] - ends[first]
    schedule.send(ranks, ranks[partner], sizes)
    schedule.add(ranks, sizes[partner])


def butterfly(schedule: Schedule, plan: Plan) -> None:
    """Pairs at growing distances, so that blocks end at mirrored ranks, which send them home."""
    ranks = fold_whole(schedule, plan.ranks, plan.bytes)
    left, blocks = len(ranks), blocks_of(plan.bytes, plan.ranks)
    own = _owned(blocks, left)
    bits = left.bit_length() - 1
    mirrored = sum(((np.arange(left) >> i) & 1) << (bits - 1 - i) for i in range(bits))
    mirrored = np.asarray(mirrored + np.zeros(left, np.int64))
    ends = np.concatenate([[0], np.cumsum(own)])
    for i in range(bits):
        partner = np.arange(left) ^ (1 << i)
        window = left >> (i + 1)  # of blocks, in the order of mirrored numbers
        first = mirrored[partner] // window * window
        sizes = ends[first + window] - ends[first]
        schedule.send(ranks, ranks[partner], sizes)
        schedule.add(ranks, sizes[partner])
    extra = plan.ranks - left
    for offset in (0, 1):
        home = np.where(mirrored < extra, 2 * mirrored + offset, mirrored + extra)
        sends = (home != ranks) & ((offset == 0) | (mirrored < extra))
        schedule.send(ranks[sends], home[sends], blocks[home[sends]])


def recursive_doubling(schedule: Schedule, plan: Plan) -> None:
    """Pairs exchange all that is not their own subtree's, and add."""
    count = plan.ranks
    blocks = blocks_of(plan.bytes, count)
    ends = np.concatenate([[0], np.cumsum(blocks)])
    everyone, stride = np.arange(count), 1
    while stride < count:
        partner = everyone ^ stride
        real = partner < count
        root = everyone // stride * stride
        sizes = plan.bytes - (ends[np.minimum(root + stride, count)] - ends[root])
        schedule.send(everyone[real], partner[real], sizes[real])
        # What comes is what the partner's subtree has; without a partner, from the own half.
        first = np.minimum(partner // stride * stride, count)
        comes = plan.bytes - (ends[np.minimum(first + stride, count)] - ends[first])
        pass_on(schedule, count, stride, comes)
        schedule.add(everyone[first < count], comes[first < count])
        stride *= 2
