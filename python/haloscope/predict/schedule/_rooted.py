"""Broadcast, reduction, gather and scatter as Open MPI and MPICH do them, from or to rank 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from haloscope.predict import _trees
from haloscope.predict.schedule._rounds import (
    doubling,
    flow_down,
    flow_up,
    fold,
    fold_whole,
    halve,
    parts,
    ring,
)
from haloscope.predict.schedule._schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from haloscope.predict.schedule._schedule import Plan

    Integers = NDArray[np.int64]

__all__ = [
    "broadcast_linear",
    "broadcast_scatter_doubling",
    "broadcast_scatter_ring",
    "broadcast_split",
    "down",
    "gather_linear",
    "gather_linear_sync",
    "gather_tree",
    "reduce_in_order",
    "reduce_linear",
    "reduce_rabenseifner",
    "reduce_scatter_gather",
    "scatter_linear",
    "scatter_linear_nb",
    "scatter_tree",
    "up",
]

_CHUNK = 1024  # bytes of the first part of gather's linear_sync


def down(build: Callable[[int, int], _trees.Tree]) -> Callable[[Schedule, Plan], None]:
    """A broadcast along a tree of so many ranks and such a fan-out."""

    def add(schedule: Schedule, plan: Plan) -> None:
        flow_down(schedule, build(plan.ranks, plan.fanout), parts(plan.bytes, plan.segment))

    return add


def up(build: Callable[[int, int], _trees.Tree]) -> Callable[[Schedule, Plan], None]:
    """A reduction along a tree."""

    def add(schedule: Schedule, plan: Plan) -> None:
        flow_up(schedule, build(plan.ranks, plan.fanout), parts(plan.bytes, plan.segment))

    return add


def broadcast_linear(schedule: Schedule, plan: Plan) -> None:
    """The root sends to all at once."""
    schedule.send(0, np.arange(1, plan.ranks), plan.bytes)


def broadcast_split(schedule: Schedule, plan: Plan) -> None:
    """Halves flow down the two sides of a binary tree; then pairs exchange them."""
    ranks, size = plan.ranks, plan.bytes
    halves = (size + 1) // 2, size // 2
    if not min(halves) or plan.segment > min(halves):
        flow_down(schedule, _trees.chain(ranks, 1), parts(size, plan.segment))
        return
    # Odd ranks are below the root's left child, even ones below its right child.
    sizes = [parts(half, plan.segment) for half in halves]
    flow_down(schedule, _trees.binary(ranks), sizes[0], other=sizes[1])
    if ranks % 2 == 0:
        schedule.send(0, ranks - 1, halves[1])
    left = np.arange(1, ranks - 1, 2)
    right = left + 1
    schedule.send(np.concatenate([left, right]), np.concatenate([right, left]), np.repeat(halves, len(left)))


def _scatter_blocks(schedule: Schedule, plan: Plan) -> Integers:
    """Binomial scatter of a broadcast's buffer; returns the bytes of each rank's block."""
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


def broadcast_scatter_doubling(schedule: Schedule, plan: Plan) -> None:
    """Scatter along a binomial tree, then allgather by recursive doubling."""
    if plan.bytes < plan.ranks:
        broadcast_linear(schedule, plan)
        return
    doubling(schedule, _scatter_blocks(schedule, plan))


def broadcast_scatter_ring(schedule: Schedule, plan: Plan) -> None:
    """Scatter along a binomial tree, then pass blocks around a ring."""
    if plan.bytes < plan.ranks:
        broadcast_linear(schedule, plan)
        return
    ring(schedule, _scatter_blocks(schedule, plan))


def reduce_linear(schedule: Schedule, plan: Plan) -> None:
    """The root receives from P-1, P-2 … 1, and adds each before it turns to the next."""
    for number, rank in enumerate(reversed(range(1, plan.ranks))):
        schedule.send(rank, 0, plan.bytes)
        if number:
            schedule.add(0, plan.bytes)
    schedule.add(0, plan.bytes)


def reduce_in_order(schedule: Schedule, plan: Plan) -> None:
    """Up a binary tree to the last rank, which sends the sum to rank 0."""
    tree = _trees.in_order_binary(plan.ranks)
    flow_up(schedule, tree, parts(plan.bytes, plan.segment), root=plan.ranks - 1)
    schedule.send(plan.ranks - 1, 0, plan.bytes)


def reduce_rabenseifner(schedule: Schedule, plan: Plan) -> None:
    """Halves are exchanged and added at growing distances, and gathered up a binomial tree."""
    left = 1 << (plan.ranks.bit_length() - 1)
    if plan.bytes < left:
        reduce_linear(schedule, plan)
        return
    _scatter_and_gather(schedule, plan, fold(schedule, plan.ranks, plan.bytes))


def reduce_scatter_gather(schedule: Schedule, plan: Plan) -> None:
    """The same of MPICH, where even neighbours leave with all they have."""
    left = 1 << (plan.ranks.bit_length() - 1)
    if plan.bytes < left:
        flow_up(schedule, _trees.in_order_binomial(plan.ranks), parts(plan.bytes, 0))
        return
    _scatter_and_gather(schedule, plan, fold_whole(schedule, plan.ranks, plan.bytes))


def _scatter_and_gather(schedule: Schedule, plan: Plan, ranks: Integers) -> None:
    left = len(ranks)
    held = np.full(left, plan.bytes)
    strides = [1 << i for i in range(left.bit_length() - 1)]
    for stride in strides:
        held = halve(schedule, ranks, held, stride)
    for stride in reversed(strides):
        low = np.arange(stride)
        schedule.send(ranks[low + stride], ranks[low], held[low + stride])
        held[low] += held[low + stride]


def gather_linear(schedule: Schedule, plan: Plan) -> None:
    """The root receives from all, one after the other."""
    schedule.send(np.arange(1, plan.ranks), 0, plan.bytes, target_step=np.arange(1, plan.ranks))


def gather_linear_sync(schedule: Schedule, plan: Plan) -> None:
    """The root asks each rank in turn for a first part; the rest comes meanwhile."""
    first = min(plan.segment or _CHUNK, plan.bytes)
    for rank in range(1, plan.ranks):
        schedule.send(0, rank, 0)
        schedule.send(rank, 0, first)
        schedule.send(rank, 0, plan.bytes - first, target_step=0, meets=False)


def gather_tree(schedule: Schedule, plan: Plan) -> None:
    """Up a binomial tree; a rank sends all of its subtree."""
    stride = 1
    while stride < plan.ranks:
        target = np.arange(0, plan.ranks - stride, 2 * stride)
        source = target + stride
        schedule.send(source, target, np.minimum(stride, plan.ranks - source) * plan.bytes)
        stride *= 2


def scatter_linear(schedule: Schedule, plan: Plan) -> None:
    """The root sends to all, one after the other."""
    schedule.send(0, np.arange(1, plan.ranks), plan.bytes, source_step=np.arange(1, plan.ranks))


def scatter_linear_nb(schedule: Schedule, plan: Plan) -> None:
    """The root sends to all at once."""
    schedule.send(0, np.arange(1, plan.ranks), plan.bytes)


def scatter_tree(schedule: Schedule, plan: Plan) -> None:
    """Down a binomial tree, the largest subtree first."""
    stride = 1 << ((plan.ranks - 1).bit_length() - 1)
    while stride:
        source = np.arange(0, plan.ranks - stride, 2 * stride)
        target = source + stride
        schedule.send(source, target, np.minimum(stride, plan.ranks - target) * plan.bytes)
        stride //= 2
