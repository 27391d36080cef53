"""Collectives without a root: allreduce, allgather, alltoall, barrier.

Reduce-scatter is in `rooted.py`, because it consists of the parts of reductions and scatters there.
"""

from __future__ import annotations

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.predict.schedule import rooted, trees
from haloscope.predict.schedule.message_schedule import CollectivePlan, Schedule
from haloscope.predict.schedule.rounds import (
    blocks_of,
    doubling,
    exchange,
    flow_down,
    flow_up,
    fold,
    fold_whole,
    halve,
    parts,
    ring,
    rounds,
    unfold,
    unfold_whole,
)


def allreduce_linear(schedule: Schedule, plan: CollectivePlan) -> None:
    """Linear reduction, then linear broadcast."""
    rooted.reduce_linear(schedule, plan)
    rooted.broadcast_linear(schedule, plan)


def allreduce_trees(schedule: Schedule, plan: CollectivePlan) -> None:
    """Reduction, then broadcast, both along binomial trees."""
    sizes = parts(plan.bytes, plan.segment)
    flow_up(schedule, trees.in_order_binomial(plan.ranks), sizes)
    flow_down(schedule, trees.binomial(plan.ranks), sizes)


def allreduce_doubling(schedule: Schedule, plan: CollectivePlan) -> None:
    """Recursive doubling with whole vectors."""
    ranks = fold_whole(schedule, plan.ranks, plan.bytes)
    for stride in _strides(len(ranks)):
        exchange(schedule, ranks, stride, np.full(len(ranks), plan.bytes))
        schedule.add(ranks, plan.bytes)
    unfold_whole(schedule, plan.ranks, plan.bytes)


def allreduce_ring(schedule: Schedule, plan: CollectivePlan) -> None:
    """Blocks are added up around the ring, then the sums go around it."""
    if plan.bytes < plan.ranks:
        allreduce_doubling(schedule, plan)
        return
    blocks = blocks_of(plan.bytes, plan.ranks)
    ring(schedule, blocks, added=True, ahead=True)
    ring(schedule, blocks, shift=1)


def allreduce_segmented_ring(schedule: Schedule, plan: CollectivePlan) -> None:
    """The same in phases, in each of which a segment of every block is added up."""
    segment = plan.segment or plan.bytes + 1
    if plan.bytes < plan.ranks * segment:
        allreduce_ring(schedule, plan)
        return
    blocks = blocks_of(plan.bytes, plan.ranks)
    phases, rest = divmod(plan.bytes, plan.ranks * segment)
    phases += rest >= plan.ranks and rest > plan.ranks * segment // 2
    for phase in range(phases):
        ring(schedule, blocks // phases + (phase < blocks % phases), added=True, ahead=True)
    ring(schedule, blocks, shift=1)


def allreduce_rabenseifner(schedule: Schedule, plan: CollectivePlan) -> None:
    """Halves are exchanged and added, then gathered, at distances that grow and shrink."""
    if plan.bytes < 1 << (plan.ranks.bit_length() - 1):
        allreduce_linear(schedule, plan)
        return
    _scatter_and_gather(schedule, plan, fold(schedule, plan.ranks, plan.bytes))
    unfold(schedule, plan.ranks, plan.bytes)


def allreduce_reduce_scatter_allgather(schedule: Schedule, plan: CollectivePlan) -> None:
    """The variant of MPICH, in which even neighbours send all of their data and leave."""
    if plan.bytes < 1 << (plan.ranks.bit_length() - 1):
        allreduce_doubling(schedule, plan)
        return
    _scatter_and_gather(schedule, plan, fold_whole(schedule, plan.ranks, plan.bytes))
    unfold_whole(schedule, plan.ranks, plan.bytes)


def _scatter_and_gather(schedule: Schedule, plan: CollectivePlan, ranks: Integers) -> None:
    held = np.full(len(ranks), plan.bytes)
    for stride in _strides(len(ranks)):
        held = halve(schedule, ranks, held, stride)
    for stride in reversed(_strides(len(ranks))):
        exchange(schedule, ranks, stride, held)
        held = held + held[np.arange(len(ranks)) ^ stride]


def allgather_linear(schedule: Schedule, plan: CollectivePlan) -> None:
    """Gather to rank 0, then broadcast of all: both taken along binomial trees."""
    rooted.gather_tree(schedule, plan)
    flow_down(schedule, trees.binomial(plan.ranks), parts(plan.ranks * plan.bytes, 0))


def allgather_ring(schedule: Schedule, plan: CollectivePlan) -> None:
    """P - 1 rounds around a ring."""
    ring(schedule, np.full(plan.ranks, plan.bytes))


def allgather_doubling(schedule: Schedule, plan: CollectivePlan) -> None:
    """Recursive doubling."""
    doubling(schedule, np.full(plan.ranks, plan.bytes))


def allgather_doubling_or_bruck(schedule: Schedule, plan: CollectivePlan) -> None:
    """Recursive doubling of a power of two of ranks, as in Open MPI."""
    power = plan.ranks & (plan.ranks - 1) == 0
    (allgather_doubling if power else allgather_bruck)(schedule, plan)


def allgather_bruck(schedule: Schedule, plan: CollectivePlan) -> None:
    """⌈log2 P⌉ rounds for any number of ranks."""
    everyone, stride = np.arange(plan.ranks), 1
    while stride < plan.ranks:
        blocks = min(stride, plan.ranks - stride)
        schedule.send(everyone, (everyone - stride) % plan.ranks, blocks * plan.bytes)
        stride *= 2


def allgather_neighbor(schedule: Schedule, plan: CollectivePlan) -> None:
    """Pairs exchange a block, then two at a time alternately with either neighbour."""
    if plan.ranks % 2:
        allgather_ring(schedule, plan)
        return
    number, everyone = np.arange(plan.ranks // 2)[:, None], np.arange(plan.ranks)
    direction = np.where((everyone + number) % 2, -1, 1)
    sizes = np.where(number, 2, 1) * plan.bytes
    rounds(schedule, *np.broadcast_arrays(everyone, (everyone + direction) % plan.ranks, sizes))


def alltoall_linear(schedule: Schedule, plan: CollectivePlan) -> None:
    """Everyone sends to all and receives from all at once."""
    everyone, distance = np.arange(plan.ranks), np.arange(1, plan.ranks)[:, None]
    schedule.send(everyone, (everyone + distance) % plan.ranks, plan.bytes)


def alltoall_pairwise(schedule: Schedule, plan: CollectivePlan) -> None:
    """In round k everyone sends to rank + k and receives from rank - k."""
    everyone, distance = np.arange(plan.ranks), np.arange(1, plan.ranks)[:, None]
    rounds(schedule, *np.broadcast_arrays(everyone, (everyone + distance) % plan.ranks, plan.bytes))


def alltoall_bruck(schedule: Schedule, plan: CollectivePlan) -> None:
    """⌈log2 P⌉ rounds: all blocks that have this bit of their way to go."""
    everyone, stride = np.arange(plan.ranks), 1
    while stride < plan.ranks:
        blocks = int(np.count_nonzero(everyone & stride))
        schedule.send(everyone, (everyone + stride) % plan.ranks, blocks * plan.bytes)
        stride *= 2


def _strides(ranks: int) -> list[int]:
    return [1 << i for i in range(ranks.bit_length() - 1)]


def barrier_linear(schedule: Schedule, plan: CollectivePlan) -> None:
    """All ranks notify the root, which notifies them one after the other."""
    others = np.arange(1, plan.ranks)
    schedule.send(others, 0, 0)
    schedule.send(0, others, 0, source_step=others)


def barrier_double_ring(schedule: Schedule, plan: CollectivePlan) -> None:
    """Twice around a ring from rank 0."""
    order = np.arange(plan.ranks)
    for _ in range(2):
        schedule.send(
            order,
            (order + 1) % plan.ranks,
            0,
            source_step=np.where(order, 2, 1),
            target_step=np.where((order + 1) % plan.ranks, 1, 2),
        )


def barrier_recursive_doubling(schedule: Schedule, plan: CollectivePlan) -> None:
    """Pairs at growing distances; ranks beyond a power of two come before and after."""
    left = 1 << (plan.ranks.bit_length() - 1)
    extra = np.arange(left, plan.ranks)
    schedule.send(extra, extra - left, 0)
    everyone, stride = np.arange(left), 1
    while stride < left:
        schedule.send(everyone, everyone ^ stride, 0)
        stride *= 2
    schedule.send(extra - left, extra, 0)


def barrier_tree(schedule: Schedule, plan: CollectivePlan) -> None:
    """Up a binomial tree and down again."""
    strides = [1 << i for i in range((plan.ranks - 1).bit_length())]
    for stride in strides:
        low = np.arange(0, plan.ranks - stride, 2 * stride)
        schedule.send(low + stride, low, 0)
    for stride in reversed(strides):
        low = np.arange(0, plan.ranks - stride, 2 * stride)
        schedule.send(low, low + stride, 0)


def barrier_dissemination(schedule: Schedule, plan: CollectivePlan) -> None:
    """Each rank notifies the ranks at distance 1, 2, 4 …."""
    everyone, stride = np.arange(plan.ranks), 1
    while stride < plan.ranks:
        schedule.send(everyone, (everyone + stride) % plan.ranks, 0)
        stride *= 2
