"""The paper's text and Open MPI's rules again, slowly and independently of the package."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import ceil, log2

Latency = Callable[[int, int], Fraction]
# Section 3.3: microseconds from core 0 to core 1, 4, 8, 32, 64, 128, by what the two share.
_SHARED = [(4, "0.15"), (8, "0.32"), (16, "0.35"), (64, "0.43"), (128, "0.69"), (256, "1.82")]


def orfeo(i: int, j: int) -> Fraction:
    """Seconds between two cores of the paper's two nodes."""
    assert 0 <= min(i, j) < max(i, j) < 256
    return next(Fraction(us) / 10**6 for cores, us in _SHARED if i // cores == j // cores)


def _rounds(ranks: int) -> range:
    rounds = ceil(log2(ranks))
    assert 2**rounds >= ranks > 2 ** (rounds - 1)
    return range(rounds)


def _pipeline(ranks: int) -> Fraction:
    total = Fraction(0)
    for i in range(ranks - 1):
        total += orfeo(i, i + 1)
    return total


def _binomial(ranks: int) -> Fraction:
    total = Fraction(0)
    for i in _rounds(ranks):
        if 2**i <= ranks - 1:
            total += orfeo(0, 2**i)
    return total


def _chain(ranks: int) -> Fraction:
    chains = min(4, ranks - 1)
    ends: list[Fraction] = []
    rank = 1
    for chain in range(chains):
        # Each takes its share of the remaining ranks, rounded up: longer chains come first.
        members = ceil(Fraction(ranks - rank, chains - chain))
        time, before = Fraction(0), 0
        for _ in range(members):
            time += orfeo(before, rank)
            before, rank = rank, rank + 1
        ends.append(time)
    assert rank == ranks
    return max(ends)


@cache
def _slowest(ranks: int) -> Fraction:
    total = Fraction(0)
    for i in _rounds(ranks):
        total += max(orfeo(r + 2**i, r) for r in range(ranks) if r + 2**i < ranks)
    return total


PAPER: dict[tuple[str, str], Callable[[int], Fraction]] = {
    ("bcast", "pipeline"): _pipeline,
    ("bcast", "binomial"): _binomial,
    ("bcast", "chain"): _chain,
    ("reduce", "binary"): _slowest,
    ("reduce", "binomial"): _binomial,
    ("reduce", "rabenseifner"): lambda ranks: 2 * _slowest(ranks),
}


def open_mpi_children(tree: str, rank: int, size: int) -> list[int]:
    """The result of coll_base_topo.c for one rank, with root 0."""
    if tree == "pipeline":
        return [rank + 1] if rank + 1 < size else []
    if tree == "chain":
        length, longer = divmod(size - 1, min(4, size - 1))
        lengths = [length + (k < longer) for k in range(min(4, size - 1))]
        heads = [1 + sum(lengths[:k]) for k in range(len(lengths))]
        if rank == 0:
            return heads
        return [rank + 1] if rank + 1 < size and rank + 1 not in heads else []
    if tree == "binary":
        level, above = 0, 0
        while above + 2**level <= rank:
            above, level = above + 2**level, level + 1
        return [child for child in (rank + 2**level, rank + 2 * 2**level) if child < size]
    return _binomial_children(tree, rank, size)


def _binomial_children(tree: str, rank: int, size: int) -> list[int]:
    children, mask = [], 1
    if tree == "binomial":  # of the broadcast: beyond the rank's own highest bit
        while mask <= rank:
            mask *= 2
        while rank ^ mask < size and mask < size:
            children.append(rank ^ mask)
            mask *= 2
        return children
    assert tree == "in_order_binomial"
    while mask < size and rank ^ mask > rank:
        if rank ^ mask < size:
            children.append(rank ^ mask)
        mask *= 2
    return children


class Job:
    """One job: what must be done before, the queues in which it stands, and how long it takes.

    A message waits in the queue of its sender's output and of its receiver's input, an addition in the queue
    of a process's arithmetic. Each queue serves its jobs in order.
    """

    def __init__(self, queues: Sequence[str], after: Sequence[Job], time: float) -> None:
        self.queues, self.after, self.time = queues, after, time


def executed(jobs: Sequence[Job]) -> float:
    """Execute the jobs event by event, and return when the last one is done."""
    waiting: dict[str, list[Job]] = {}
    for job in jobs:
        for queue in job.queues:
            waiting.setdefault(queue, []).append(job)
    for line in waiting.values():
        line.reverse()
    done: set[Job] = set()
    running: list[tuple[float, int, Job]] = []
    started: set[Job] = set()
    now, look = 0.0, list(jobs)
    while look or running:
        for job in look:
            first = all(waiting[queue][-1] is job for queue in job.queues)
            if job not in started and first and done.issuperset(job.after):
                started.add(job)
                heapq.heappush(running, (now + job.time, id(job), job))
        if not running:
            break
        now, _, ended = heapq.heappop(running)
        done.add(ended)
        for queue in ended.queues:
            waiting[queue].pop()
        # Whoever heads a queue now may start, or depends on what ended.
        look = [line[-1] for line in waiting.values() if line]
    assert len(done) == len(jobs), "the jobs wait for each other"
    return now


Step = tuple[str, int, int]


def rabenseifner_program(rank: int, size: int, count: int) -> list[Step]:
    """What reduce_intra_redscat_gather has one rank do, the root being 0.

    ("exchange", partner, elements sent), ("add", -1, elements), ("send", partner, elements),
    ("receive", partner, -1); with the windows of the C code as (first, end).
    """
    steps = int(log2(size))
    extra = size - 2**steps
    half, program = count // 2, list[Step]()
    if rank < 2 * extra and rank % 2:
        right = count - half
        return [("exchange", rank - 1, half), ("add", -1, right), ("send", rank - 1, right)]
    if rank < 2 * extra:
        program += [("exchange", rank + 1, count - half), ("add", -1, half)]
        program += [("receive", rank + 1, -1)]
    virtual = rank // 2 if rank < 2 * extra else rank - extra
    window, windows = (0, count), []
    for step in range(steps):
        partner, (first, end) = virtual ^ (1 << step), window
        middle = first + (end - first) // 2
        keep, give = ((first, middle), (middle, end))[:: 1 if virtual < partner else -1]
        program += [("exchange", _real(partner, extra), give[1] - give[0])]
        program += [("add", -1, keep[1] - keep[0])]
        windows.append(keep)
        window = keep
    for step in reversed(range(steps)):
        partner = virtual ^ (1 << step)
        if partner >> step == 0:
            first, end = windows[step]
            return [*program, ("send", _real(partner, extra), end - first)]
        program += [("receive", _real(partner, extra), -1)]
    return program


def _real(virtual: int, extra: int) -> int:
    return virtual * 2 if virtual < extra else virtual + extra


def met(programs: Sequence[Sequence[Step]], cost: Callable[[int, int, int], float], gamma: float) -> float:
    """Execute programs whose messages begin when both sides have come to them: rank 0's end."""
    at, clock = [0] * len(programs), [0.0] * len(programs)

    def step(rank: int) -> Step | None:
        return programs[rank][at[rank]] if at[rank] < len(programs[rank]) else None

    moved = True
    while moved:
        moved = False
        for rank in range(len(programs)):
            own = step(rank)
            if own is None:
                continue
            kind, partner, elements = own
            if kind == "add":
                clock[rank] += gamma * elements
                at[rank] += 1
                moved = True
                continue
            other = step(partner)
            if other is None or other[1] != rank:
                continue
            assert {kind, other[0]} in ({"exchange"}, {"send", "receive"})
            took = max(cost(rank, partner, e) for e in (elements, other[2]) if e >= 0)
            clock[rank] = clock[partner] = max(clock[rank], clock[partner]) + took
            at[rank], at[partner] = at[rank] + 1, at[partner] + 1
            moved = True
    assert all(step(rank) is None for rank in range(len(programs))), "the ranks wait for each other"
    return clock[0]
