"""The binding of ranks: CPUs, NUMA nodes and sockets of each, and a summary in words."""

from __future__ import annotations

from collections import Counter

import polars as pl

from haloscope.profile.shown.profile_tables import SHOWN
from haloscope.profile.store.profile_data import ProfileData

_MOST_NUMBER = 65536  # the largest number of a CPU in the recorder
_MOST_LOOKED_AT = 65536  # ranks, for the words


def numbers_of(text: str) -> list[int] | None:
    """Return the numbers of a list such as `0-3,8`, in order; None if it is not one."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            return None
        low, high = int(first), int(last or first)
        if high < low or high >= _MOST_NUMBER or (numbers and low <= numbers[-1]):
            return None
        numbers += range(low, high + 1)
    return numbers


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6


def binding(profile: ProfileData) -> pl.DataFrame:
    """Return one row per rank; unknown values are null."""
    lists, usage = ("cpus", "numa_nodes", "sockets"), ("cpu_time", "preemptions", "memory_max")
    frame = profile.frame("processes", ["rank", "host", "pid", *lists, *usage])
    # Nothing runs without memory: 0 is that of a rank that was killed.
    known: list[pl.Expr] = [pl.when(pl.col(name) != "").then(name) for name in lists]
    known += [pl.when(pl.col("memory_max") > 0).then(name).alias(name) for name in usage]
    return frame.with_columns(known).select(SHOWN["binding"].columns).sort("rank")


def binding_text(profile: ProfileData) -> str | None:
    """Return the number of CPUs per rank, and whether ranks shared them; None if unknown."""
    frame = profile.frame("processes", ["rank", "host", "cpus"]).head(_MOST_LOOKED_AT)
    known = frame.filter(pl.col("cpus").fill_null("") != "")
    if known.is_empty():
        return None
    counts, shared = set(), False
    used: Counter[tuple[str, int]] = Counter()
    lists = {text: numbers_of(text) or [] for text in known["cpus"].unique().to_list()}
    for host, text in known.select("host", "cpus").iter_rows():
        counts.add(len(lists[text]))
        if not shared:
            used.update((host, cpu) for cpu in lists[text])
            shared = any(used[host, cpu] > 1 for cpu in lists[text])
    low, high = min(counts), max(counts)
    number = f"{low} CPU{'' if low == high == 1 else 's'}" if low == high else f"{low} to {high} CPUs"
    return f"{number} per rank, {'shared with others' if shared else 'none shared'}"
