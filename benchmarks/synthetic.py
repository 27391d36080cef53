"""A synthetic run of many ranks with regimes, as a profile in the recorder's format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.profiles import COLUMNS, INFO, Draft, columns_of, path_rows
from support.series import pack

TICK = 0.4e-9
REGION = "halo"

Ticks = NDArray[np.uint64]


def measured(ranks: int, instances: int, random: np.random.Generator) -> tuple[Ticks, Ticks, Ticks]:
    """Return begin, duration and wait: a halo exchange of tens of µs every ms, in three long regimes."""
    shape = (instances, ranks)
    regime = np.repeat(random.choice(3, (instances // 64 + 1, ranks), p=[0.8, 0.15, 0.05]), 64, 0)
    body = np.array([20e-6, 36e-6, 120e-6])[regime[:instances]]
    durations = body * np.exp(random.normal(0, 0.15, shape))
    gaps = 1e-3 * np.exp(random.normal(0, 0.02, shape))
    waits = np.maximum(durations - 9e-6 * np.exp(random.normal(0, 0.05, shape)), 0)
    times, between, waiting = ((part / TICK).astype(np.uint64) for part in (durations, gaps, waits))
    begins = np.cumsum(between + times, axis=0) - times
    return begins.T, times.T, waiting.T


def packed(ranks: int, instances: int) -> Ticks:
    """Return all ranks' instances one after the other, generated for 512 ranks at a time to save memory."""
    random = np.random.default_rng(0)
    sizes = [min(512, ranks - first) for first in range(0, ranks, 512)]
    return np.concatenate([pack(*measured(n, instances, random)).ravel() for n in sizes])


def profile(ranks: int, words: Ticks) -> Draft:
    """Return a profile of `main` > `halo` on all ranks; with the series of `halo` if there are `words`."""
    paths = path_rows("main", f"main/{REGION}")
    keys = [{"path": row["path"], "rank": rank} for row in paths for rank in range(ranks)]
    processes = [
        {"rank": rank, "host": f"node{rank // 64}", "finalized": 1, "tick": TICK} for rank in range(ranks)
    ]
    tables: dict[str, Any] = {name: columns_of(name, []) for name in COLUMNS}
    tables["paths"] = columns_of("paths", paths)
    tables["processes"] = columns_of("processes", processes)
    tables["ranks"] = columns_of("ranks", [{**key, "instances": 1, "time": 9.0} for key in keys])
    if len(words):
        zero, all_ranks = np.zeros(ranks, np.int64), np.arange(ranks)
        tables["series"] = {
            "path": zero + 2,
            "rank": all_ranks,
            "thread": zero,
            "instance": zero,
            "instances": zero + len(words) // ranks,
        }
        tables["instances"] = {"packed": words.view(np.int64)}
    return Draft(tables, {**INFO, "ranks": ranks}, chunk_rows=1 << 19)
