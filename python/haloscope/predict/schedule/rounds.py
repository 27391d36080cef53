"""Parts of several algorithms: rounds of pairs, rings, and segments that flow along a tree."""

from __future__ import annotations

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.predict.schedule.message_schedule import Schedule
from haloscope.predict.schedule.trees import Tree


def blocks_of(size: int, ranks: int) -> Integers:
    """Return the sizes of `ranks` blocks, which differ by at most one, longer ones first."""
    return size // ranks + (np.arange(ranks) < size % ranks)


def exchange(schedule: Schedule, ranks: Integers, stride: int, sizes: Integers) -> None:
    """Participants at this distance exchange messages of these sizes."""
    partner = np.arange(len(ranks)) ^ stride
    schedule.send(ranks, ranks[partner], sizes)


def rounds(
    schedule: Schedule,
    sources: Integers,
    targets: Integers,
    sizes: Integers,
    *,
    added: bool = False,
    meets: bool = True,
) -> None:
    """Add one round per row, in which each rank sends and receives at most once."""
    steps = np.arange(1, len(sources) + 1)[:, None]
    added_sizes = sizes if added else np.zeros_like(sizes)
    schedule.send(
        sources, targets, sizes, source_step=steps, target_step=steps, added=added_sizes, meets=meets
    )


def ring(
    schedule: Schedule, blocks: Integers, shift: int = 0, *, added: bool = False, ahead: bool = False
) -> None:
    """P - 1 rounds: each rank sends the last received block to the next rank, first its block plus `shift`.

    `added`: the blocks are partial sums; `ahead`: the next receive is posted before.
    """
    ranks = len(blocks)
    everyone, number = np.arange(ranks), np.arange(ranks - 1)[:, None]
    rounds(
        schedule,
        np.broadcast_to(everyone, (ranks - 1, ranks)),
        np.broadcast_to((everyone + 1) % ranks, (ranks - 1, ranks)),
        blocks[(everyone - number + shift) % ranks],
        added=added,
        meets=not ahead,
    )


def doubling(schedule: Schedule, blocks: Integers) -> None:
    """Allgather by recursive doubling, of blocks in the order of ranks; any number of ranks."""
    count = len(blocks)
    ends = np.concatenate([[0], np.cumsum(blocks)])
    everyone, stride = np.arange(count), 1
    held = blocks.copy()
    while stride < count:
        partner = everyone ^ stride
        real = partner < count
        schedule.send(everyone[real], partner[real], held[real])
        first = np.minimum(partner // stride * stride, count)
        new = ends[np.minimum(first + stride, count)] - ends[first]
        pass_on(schedule, count, stride, new)
        held += new
        stride *= 2


def pass_on(schedule: Schedule, count: int, stride: int, new: Integers) -> None:
    """Ranks without a partner at this distance get `new` from other ranks of their half."""
    first = count // (2 * stride) * (2 * stride)
    have = count - first - stride
    if not 0 < have < stride:
        return
    step = stride // 2
    while step:
        source = np.arange(first, first + stride)
        target = source ^ step
        root = source // (2 * step) * (2 * step)
        sends = (target > source) & (source < root + have) & (target >= root + have)
        schedule.send(source[sends], target[sends], new[source[sends]])
        step //= 2


def fold(schedule: Schedule, ranks: int, size: int) -> Integers:
    """Reduce to a power of two: neighbours exchange halves, and the odd one sends its sum away.

    As in Rabenseifner's algorithms. Returns the remaining ranks.
    """
    left = 1 << (ranks.bit_length() - 1)
    extra = ranks - left
    even = np.arange(0, 2 * extra, 2)
    if extra:
        lower, upper = size // 2, size - size // 2
        schedule.send(
            np.concatenate([even, even + 1]),
            np.concatenate([even + 1, even]),
            np.repeat([upper, lower], extra),
        )
        schedule.add(np.concatenate([even, even + 1]), np.repeat([lower, upper], extra))
        schedule.send(even + 1, even, upper)
    return np.concatenate([even, np.arange(2 * extra, ranks)])


def unfold(schedule: Schedule, ranks: int, size: int) -> None:
    """After `fold`: the remaining ranks send the result to their neighbours."""
    even = np.arange(0, 2 * (ranks - (1 << (ranks.bit_length() - 1))), 2)
    schedule.send(even, even + 1, size)


def fold_whole(schedule: Schedule, ranks: int, size: int) -> Integers:
    """Reduce to a power of two: even neighbours send all of their data to the odd ones."""
    left = 1 << (ranks.bit_length() - 1)
    extra = ranks - left
    odd = np.arange(1, 2 * extra, 2)
    schedule.send(odd - 1, odd, size)
    schedule.add(odd, size)
    return np.concatenate([odd, np.arange(2 * extra, ranks)])


def unfold_whole(schedule: Schedule, ranks: int, size: int) -> None:
    """After `fold_whole`: even neighbours receive the result."""
    odd = np.arange(1, 2 * (ranks - (1 << (ranks.bit_length() - 1))), 2)
    schedule.send(odd, odd - 1, size)


def halve(schedule: Schedule, ranks: Integers, held: Integers, stride: int) -> Integers:
    """Participants at this distance exchange halves and add; return what each holds."""
    lower = np.arange(len(ranks)) & stride == 0
    remaining = np.where(lower, held // 2, held - held // 2)
    exchange(schedule, ranks, stride, held - remaining)
    schedule.add(ranks, remaining)
    return remaining


def parts(size: int, segment: int) -> Integers:
    """Return the bytes of each segment; the last one is the rest. 0: one segment."""
    segment = min(segment, size) or max(size, 1)
    whole, rest = divmod(size, segment)
    return np.array([segment] * whole + [rest] * bool(rest) or [0], np.int64)


def flow_down(schedule: Schedule, tree: Tree, sizes: Integers, *, other: Integers | None = None) -> None:
    """A rank sends each segment to all its children, then the next one.

    The receive of the next segment is posted before one is passed on. Children of even rank get the
    `other` segments, if there are any.
    """
    parents, children = tree
    second = sizes if other is None else other
    count, number = max(len(sizes), len(second)), len(parents)
    columns = [np.pad(part, (0, count - len(part)), constant_values=-1) for part in (sizes, second)]
    bytes_ = np.where(children % 2, columns[0][:, None], columns[1][:, None])
    step = np.broadcast_to(2 * np.arange(count)[:, None], (count, number))
    exists = bytes_ >= 0
    schedule.send(
        np.broadcast_to(parents, (count, number))[exists],
        np.broadcast_to(children, (count, number))[exists],
        bytes_[exists],
        source_step=step[exists] + 2,
        target_step=step[exists] + 1,
        meets=False,
    )


def flow_up(schedule: Schedule, tree: Tree, sizes: Integers) -> None:
    """A rank adds each segment of all its children in their order, and passes the sum on."""
    parents, children = tree.upwards
    count, number = len(sizes), len(parents)
    step = np.repeat(2 * np.arange(count), number)
    all_sizes = np.repeat(sizes, number)
    schedule.send(
        np.tile(children, count),
        np.tile(parents, count),
        all_sizes,
        source_step=step + 2,
        target_step=step + 1,
        added=all_sizes,
        meets=False,
    )
