"""Broadcast, reduction, gather, scatter and reduce-scatter as Open MPI and MPICH do them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.predict.schedule import trees
from haloscope.predict.schedule.message_schedule import CollectivePlan, Schedule
from haloscope.predict.schedule.rounds import (
    blocks_of,
    doubling,
    flow_down,
    flow_up,
    fold,
    fold_whole,
    halve,
    parts,
    pass_on,
    ring,
    rounds,
)

_CHUNK = 1024  # bytes of the first part of gather's linear_sync


def down(build: Callable[[int, int], trees.Tree]) -> Callable[[Schedule, CollectivePlan], None]:
    """Return a broadcast along a tree with the plan's ranks and fan-out."""

    def add(schedule: Schedule, plan: CollectivePlan) -> None:
        flow_down(schedule, build(plan.ranks, plan.fanout), parts(plan.bytes, plan.segment))

    return add


def up(build: Callable[[int, int], trees.Tree]) -> Callable[[Schedule, CollectivePlan], None]:
    """Return a reduction along a tree."""

    def add(schedule: Schedule, plan: CollectivePlan) -> None:
        flow_up(schedule, build(plan.ranks, plan.fanout), parts(plan.bytes, plan.segment))

    return add


def broadcast_linear(schedule: Schedule, plan: CollectivePlan) -> None:
    """The root sends to all at once."""
    schedule.send(0, np.arange(1, plan.ranks), plan.bytes)


def broadcast_split(schedule: Schedule, plan: CollectivePlan) -> None:
    """Halves flow down the two sides of a binary tree; then pairs exchange them."""
    ranks, size = plan.ranks, plan.bytes
    halves = (size + 1) // 2, size // 2
    if not min(halves) or plan.segment > min(halves):
        flow_down(schedule, trees.chain(ranks, 1), parts(size, plan.segment))
        return
    # Odd ranks are below the root's left child, even ones below its right child.
    sizes = [parts(half, plan.segment) for half in halves]
    flow_down(schedule, trees.binary(ranks), sizes[0], other=sizes[1])
    if ranks % 2 == 0:
        schedule.send(0, ranks - 1, halves[1])
    left = np.arange(1, ranks - 1, 2)
    right = left + 1
    schedule.send(np.concatenate([left, right]), np.concatenate([right, left]), np.repeat(halves, len(left)))


def _scatter_blocks(schedule: Schedule, plan: CollectivePlan) -> Integers:
    """Binomial scatter of a broadcast's buffer; return the bytes of each rank's block."""
    block = -(-plan.bytes // plan.ranks)
    starts = np.minimum(block * np.arange(plan.ranks + 1), plan.bytes)
    stride = 1 << ((plan.ranks - 1).bit_length() - 1)
    while stride:
        source = np.arange(0, plan.ranks - stride, 2 * stride)
        target = source + stride
        size = starts[np.minimum(target + stride, plan.ranks)] - starts[target]
        sent = size > 0
        schedule.send(source[sent], target[sent], size[sent])
        stride //= 2
    return np.diff(starts)


def broadcast_scatter_doubling(schedule: Schedule, plan: CollectivePlan) -> None:
    """Scatter along a binomial tree, then allgather by recursive doubling."""
    if plan.bytes < plan.ranks:
        broadcast_linear(schedule, plan)
        return
    doubling(schedule, _scatter_blocks(schedule, plan))


def broadcast_scatter_ring(schedule: Schedule, plan: CollectivePlan) -> None:
    """Scatter along a binomial tree, then pass blocks around a ring."""
    if plan.bytes < plan.ranks:
        broadcast_linear(schedule, plan)
        return
    ring(schedule, _scatter_blocks(schedule, plan))


def reduce_linear(schedule: Schedule, plan: CollectivePlan) -> None:
    """The root receives from P-1, P-2 … 1, and adds each before it turns to the next."""
    others = np.arange(plan.ranks - 1, 0, -1)
    # After the first receive, the root alternately receives the next message and adds one.
    turns = np.arange(2 * len(others))
    receives = (turns % 2 == 1) | (turns == 0)
    receives[-1] = False
    source = np.zeros_like(turns)
    source[receives] = others
    size = np.where(receives, plan.bytes, 0)
    step = turns + 1
    source_step = np.where(receives, 1, step)
    schedule.send(source, 0, size, source_step=source_step, target_step=step, added=plan.bytes - size)


def reduce_in_order(schedule: Schedule, plan: CollectivePlan) -> None:
    """Up a binary tree to the last rank, which sends the sum to rank 0."""
    tree = trees.in_order_binary(plan.ranks)
    flow_up(schedule, tree, parts(plan.bytes, plan.segment))
    schedule.send(plan.ranks - 1, 0, plan.bytes)


def reduce_rabenseifner(schedule: Schedule, plan: CollectivePlan) -> None:
    """Halves are exchanged and added at growing distances, and gathered up a binomial tree."""
    left = 1 << (plan.ranks.bit_length() - 1)
    if plan.bytes < left:
        reduce_linear(schedule, plan)
        return
    _scatter_and_gather(schedule, plan, fold(schedule, plan.ranks, plan.bytes))


def reduce_scatter_gather(schedule: Schedule, plan: CollectivePlan) -> None:
    """The variant of MPICH, in which even neighbours send all of their data and leave."""
    left = 1 << (plan.ranks.bit_length() - 1)
    if plan.bytes < left:
        flow_up(schedule, trees.in_order_binomial(plan.ranks), parts(plan.bytes, 0))
        return
    _scatter_and_gather(schedule, plan, fold_whole(schedule, plan.ranks, plan.bytes))


def _scatter_and_gather(schedule: Schedule, plan: CollectivePlan, ranks: Integers) -> None:
    left = len(ranks)
    held = np.full(left, plan.bytes)
    strides = [1 << i for i in range(left.bit_length() - 1)]
    for stride in strides:
        held = halve(schedule, ranks, held, stride)
    for stride in reversed(strides):
        low = np.arange(stride)
        schedule.send(ranks[low + stride], ranks[low], held[low + stride])
        held[low] += held[low + stride]


def gather_linear(schedule: Schedule, plan: CollectivePlan) -> None:
    """The root receives from all, one after the other."""
    schedule.send(np.arange(1, plan.ranks), 0, plan.bytes, target_step=np.arange(1, plan.ranks))


def gather_linear_sync(schedule: Schedule, plan: CollectivePlan) -> None:
    """The root asks each rank in turn for a first part; the rest comes meanwhile."""
    first = min(plan.segment or _CHUNK, plan.bytes)
    others = np.arange(1, plan.ranks)[:, None]
    asks, step = np.array([True, False, False]), 2 * others
    schedule.send(
        np.where(asks, 0, others),
        np.where(asks, others, 0),
        [0, first, plan.bytes - first],
        source_step=np.where(asks, step - 1, [1, 2, 3]),
        target_step=np.where(asks, 1, step),
        meets=[True, True, False],
    )


def gather_tree(schedule: Schedule, plan: CollectivePlan) -> None:
    """Up a binomial tree; a rank sends all of its subtree."""
    stride = 1
    while stride < plan.ranks:
        target = np.arange(0, plan.ranks - stride, 2 * stride)
        source = target + stride
        schedule.send(source, target, np.minimum(stride, plan.ranks - source) * plan.bytes)
        stride *= 2


def scatter_linear(schedule: Schedule, plan: CollectivePlan) -> None:
    """The root sends to all, one after the other."""
    schedule.send(0, np.arange(1, plan.ranks), plan.bytes, source_step=np.arange(1, plan.ranks))


def scatter_linear_nb(schedule: Schedule, plan: CollectivePlan) -> None:
    """The root sends to all at once."""
    schedule.send(0, np.arange(1, plan.ranks), plan.bytes)


def scatter_tree(schedule: Schedule, plan: CollectivePlan) -> None:
    """Down a binomial tree, the largest subtree first."""
    stride = 1 << ((plan.ranks - 1).bit_length() - 1)
    while stride:
        source = np.arange(0, plan.ranks - stride, 2 * stride)
        target = source + stride
        schedule.send(source, target, np.minimum(stride, plan.ranks - target) * plan.bytes)
        stride //= 2


def reduce_then_scatter(schedule: Schedule, plan: CollectivePlan) -> None:
    """Reduction to rank 0, taken as binomial, and linear scatter."""
    flow_up(schedule, trees.in_order_binomial(plan.ranks), parts(plan.bytes, 0))
    blocks, others = blocks_of(plan.bytes, plan.ranks), np.arange(1, plan.ranks)
    schedule.send(0, others, blocks[1:], source_step=others)


def reduce_then_scatter_tree(schedule: Schedule, plan: CollectivePlan) -> None:
    """Reduction to rank 0 and scatter, both taken as binomial."""
    flow_up(schedule, trees.in_order_binomial(plan.ranks), parts(plan.bytes, 0))
    scatter_tree(schedule, CollectivePlan(plan.ranks, plan.bytes // plan.ranks))


def ring_of_sums(schedule: Schedule, plan: CollectivePlan) -> None:
    """Blocks are added up around a ring."""
    ring(schedule, blocks_of(plan.bytes, plan.ranks), shift=-1, added=True, ahead=True)


def pairwise(schedule: Schedule, plan: CollectivePlan) -> None:
    """In round k everyone sends rank + k its block."""
    everyone, distance = np.arange(plan.ranks), np.arange(1, plan.ranks)[:, None]
    target = (everyone + distance) % plan.ranks
    blocks = blocks_of(plan.bytes, plan.ranks)
    rounds(schedule, np.broadcast_to(everyone, target.shape), target, blocks[target], added=True)


def recursive_halving(schedule: Schedule, plan: CollectivePlan) -> None:
    """Pairs at shrinking distances exchange halves of their data, and add."""
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
    """Return the bytes of the blocks of each remaining rank, including those of its neighbour."""
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


def butterfly(schedule: Schedule, plan: CollectivePlan) -> None:
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


def recursive_doubling(schedule: Schedule, plan: CollectivePlan) -> None:
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
        # The data come from the partner's subtree; without a partner, from the own half.
        first = np.minimum(partner // stride * stride, count)
        comes = plan.bytes - (ends[np.minimum(first + stride, count)] - ends[first])
        pass_on(schedule, count, stride, comes)
        schedule.add(everyone[first < count], comes[first < count])
        stride *= 2
