"""Model of a copy in chunks by a receiver and helpers, for more helpers than two cores can measure.

Receiver and helpers each claim a chunk, copy it, and claim the next. They share the bandwidth of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

MOST_CHUNKS = 4096  # of a copy
LEAST_CHUNK = 64 << 10  # `worthwhile` in shm/habits.cpp
PAGE = 4096


@dataclass(frozen=True)
class Machine:
    """Times in seconds, bandwidths in bytes per second."""

    start: float  # of a message, until its copy begins
    core: float  # bandwidth of one core
    limit: float  # bandwidth of all cores together
    claim: float = 0.0  # to claim a chunk
    seen: float = 0.0  # from the task's publication until a helper claims


def chunk_of(size: int, copiers: int) -> int:
    """Return the shm library's chunk size for a number of copiers (`divide` in shm/habits.cpp)."""
    pages = ceil(size / (4 * copiers) / PAGE)
    return max(pages * PAGE, LEAST_CHUNK, ceil(size / MOST_CHUNKS))


def time_of(size: int, machine: Machine, helpers: int = 0, chunk: int | None = None) -> float:
    """Simulate a copy, and return its seconds. Without `chunk` the receiver copies alone, and claims none."""
    if chunk is None:
        return machine.start + size / min(machine.core, machine.limit)
    left = float(size)  # unclaimed
    wakes = [0.0] + [machine.seen] * helpers  # when each claims next, or ends a claim
    rests = [0.0] * (helpers + 1)  # bytes left of the chunk that it copies
    now = 0.0
    while True:
        for i, wake in enumerate(wakes):
            if wake <= now and rests[i] == 0 and left > 0:
                rests[i] = min(chunk, left)
                left -= rests[i]
                wakes[i] = now + machine.claim
        if not any(rests):
            return machine.start + now
        active = [i for i, rest in enumerate(rests) if rest > 0 and wakes[i] <= now]
        rate = min(machine.core, machine.limit / max(len(active), 1))
        coming = [wake for i, wake in enumerate(wakes) if wake > now and (rests[i] or left)]
        then = min(coming + [now + rests[i] / rate for i in active])
        for i in active:
            rests[i] -= rate * (then - now)
            rests[i] = rests[i] if rests[i] > 1e-9 * chunk else 0.0
        now = then
