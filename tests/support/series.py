"""Packs instances into the tables `series` and `instances`, from docs/format.md alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

TICK = 2.0**-20  # seconds, of profiles that tests write: a power of two keeps round times exact
_LARGEST = ((1 << 20) - 1) << 30

Words = NDArray[np.uint64]


def pack(begins: Words, durations: Words, waits: Words) -> Words:
    """Packs ticks, shape (series, instances) each."""
    packed_durations, lengths = _length(durations)
    shares = waits / np.maximum(durations, 1)
    packed_waits = np.floor(np.minimum(shares, 1) * 65535 + 0.5).astype(np.uint64)
    packed: Words = packed_durations | packed_waits << np.uint64(48)
    end = np.zeros(len(begins), np.uint64)
    for instance in range(begins.shape[1]):
        begin = begins[:, instance]
        packed_gap, gap = _length(np.where(begin > end, begin - end, 0).astype(np.uint64))
        packed[:, instance] |= packed_gap << np.uint64(24)
        end += gap + lengths[:, instance]
    return packed


def _length(ticks: Words) -> tuple[Words, Words]:
    """The 24 bits of a number of ticks, and the number that they encode."""
    ticks = np.minimum(ticks, np.uint64(_LARGEST))
    bits = np.frexp(ticks.astype(np.float64))[1]
    shift = np.maximum(bits - 20, 0).astype(np.uint64)
    kept = ticks >> shift
    exponent = np.where(bits < 20, 0, shift + np.uint64(1)).astype(np.uint64)
    mantissa = kept & np.uint64((1 << 19) - 1)
    return exponent << np.uint64(19) | mantissa, kept << shift


def series_tables(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Both tables, from a row an instance: path, rank, thread, instance, start, duration, wait."""
    keys = ("path", "rank", "thread", "instance", "instances")
    series: dict[str, Any] = {name: [] for name in keys}
    packed: list[int] = []
    for key, group in groupby(rows, lambda row: [row.get(name, 0) for name in keys[:3]]):
        instances = list(group)
        first = instances[0].get("instance", 0)
        for name, value in zip(keys, [*key, first, len(instances)], strict=True):
            series[name].append(value)
        ticks = [
            np.array([[row.get(name, 0.0) / TICK for row in instances]]).astype(np.uint64)
            for name in ("start", "duration", "wait")
        ]
        packed += pack(*ticks)[0].astype(np.int64).tolist()
    return {"series": series, "instances": {"packed": packed}}
