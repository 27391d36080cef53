"""Copies with helpers: a model (sharing.py), measurements on two cores, and predictions for more.

Copies by the receiver alone give the start of a message and the bandwidth of a core. Copies in chunks without
a helper give the cost of a chunk. Copies by both cores give the bandwidth of the memory. Copies of one size
with a helper give the delay of a helper. All other rows are predictions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

import numpy as np
from common import emit, estimate
from programs import Floats, Library, exchanges
from sharing import MOST_CHUNKS, Machine, chunk_of, time_of
from shm import steal

KIB, MIB = 1 << 10, 1 << 20
SIZES = {"256 KiB": 256 * KIB, "1 MiB": MIB, "2 MiB": 2 * MIB, "8 MiB": 8 * MIB}
SMALL = (64 * KIB, 128 * KIB)  # give the start of a message
CHUNKS = {"16 KiB": 16 * KIB, "64 KiB": 64 * KIB, "256 KiB": 256 * KIB}
FITTED = 64 * KIB, 256 * KIB  # chunk and size that give the delay of a helper
PREDICTED, LIMITS = (2, 3, 7), (2, 4)

# By the third rank's state, the chunk (0: none) and the size: the receiver's time in each launch.
Times = Mapping[tuple[str, int, int], Floats]


def measure(library: Library, rounds: int) -> None:
    """Print rows of the model and the measured times, and predictions for more helpers."""
    times = _measured(library, rounds)
    alone = {size: median(times["busy", 0, size]) for size in (*SMALL, *SIZES.values())}
    machines = _fitted(alone, times, _limits(library))
    for third, who in (("busy", "no helper"), ("idle", "a helper")):
        for name, size in SIZES.items():
            for words, chunk in CHUNKS.items():
                used = third == "idle" and (chunk, size) == FITTED
                if not chunk < size <= chunk * MOST_CHUNKS or used:
                    continue
                model = time_of(size, machines[size], int(third == "idle"), chunk)
                found = times[third, chunk, size]
                emit(
                    "halo",
                    f"model, {name} in chunks of {words}, {who}",
                    ours=1e6 * model,
                    peer=1e6 * median(found),
                    peer_name="measured",
                    unit="us",
                    ratio=estimate(found / model),
                )
    for name in ("2 MiB", "8 MiB"):
        for limit in LIMITS:
            _predict(name, SIZES[name], machines[SIZES[name]], limit)


def _predict(name: str, size: int, fitted: Machine, limit: int) -> None:
    machine = replace(fitted, limit=limit * fitted.core)
    alone = time_of(size, machine)
    for helpers in PREDICTED:
        time = time_of(size, machine, helpers, chunk_of(size, helpers + 1))
        emit(
            "halo",
            f"model, {name}, {helpers} helpers, memory of {limit} cores' copies",
            ours=1e6 * time,
            peer=1e6 * alone,
            peer_name="model, the receiver alone",
            unit="us",
            ratio=estimate([alone / time]),
        )


def _measured(library: Library, rounds: int) -> Times:
    found: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for _ in range(rounds):
        for chunk in (0, *CHUNKS.values()):
            for third in ("busy", "idle") if chunk else ("busy",):
                protocol = "static" if chunk else "get"
                sizes = (*SMALL, *SIZES.values())
                launch = steal(library, third, 10, sizes, protocol, chunk)
                for size, time in launch.items():
                    found[third, chunk, size].append(time)
    return {key: np.array(times) for key, times in found.items()}


def _limits(library: Library) -> dict[int, float]:
    """Return the bandwidth of copies by both cores together, as a multiple of one core's."""
    found = exchanges(library, ("memcpy-one", "memcpy-two"), 5, list(SIZES.values()))
    return {
        size: 2 * median(ways["memcpy-one"][0]) / median(ways["memcpy-two"][0])
        for size, ways in found.items()
    }


def _fitted(alone: Mapping[int, float], times: Times, limits: Mapping[int, float]) -> dict[int, Machine]:
    """Return a machine per size, because bandwidths depend on the cache level."""
    start = max(2 * alone[SMALL[0]] - alone[SMALL[1]], 0.0)
    chunk, fitted = FITTED
    claims = [(median(times["busy", chunk, size]) - alone[size]) / (size / chunk) for size in SIZES.values()]
    claim = max(median(claims), 0.0)
    cores = {size: size / (alone[size] - start) for size in SIZES.values()}
    machines = {size: Machine(start, core, limits[size] * core, claim) for size, core in cores.items()}
    wanted = median(times["idle", chunk, fitted])
    delays = np.linspace(0, alone[fitted], 400)
    seen = min(
        delays, key=lambda seen: abs(time_of(fitted, replace(machines[fitted], seen=seen), 1, chunk) - wanted)
    )
    return {size: replace(machine, seen=float(seen)) for size, machine in machines.items()}
