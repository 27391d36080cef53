"""What a copy in chunks takes that a receiver and some helpers share: for more helpers than two
cores can show.

Each claims a chunk, copies it, claims the next. Those who copy share what the memory carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

MOST_CHUNKS = 64  # of a copy: a bit each
LEAST_CHUNK = 64 << 10  # HALOSCOPE_SHM_CHUNK
PAGE = 4096


@dataclass(frozen=True)
class Machine:
    """Times in seconds, bandwidths in bytes a second."""

    start: float  # of a message, until its copy begins
    core: float  # bandwidth of one that copies
    limit: float  # of all together
    claim: float = 0.0  # of a chunk
    seen: float = 0.0  # from the task's publication until a helper claims


def chunk_of(size: int, copiers: int) -> int:
    """The chunks that the shm library makes for so many copiers (`divided` in shm/copying.cpp)."""
    pages = ceil(size / (4 * copiers) / PAGE)
    return max(pages * PAGE, LEAST_CHUNK, ceil(size / MOST_CHUNKS))


def time_of(size: int, machine: Machine, helpers: int = 0, chunk: int | None = None) -> float:
    """Seconds, event by event; without `chunk` the receiver copies alone and claims nothing."""
    if chunk is None:
        return machine.start + size / min(machine.core, machine.limit)
    left = float(size)  # unclaimed
    wakes = [0.0] + [machine.seen] * helpers  # when each claims next, or has claimed
    rests = [0.0] * (helpers + 1)  # of each chunk that is being copied
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
