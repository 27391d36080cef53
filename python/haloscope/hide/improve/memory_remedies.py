"""Remedies of memory: large pages, and an allocator that keeps what the program frees."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from haloscope.base.units import bytes_text, noun_text
from haloscope.hide.improve.remedy import Remedy
from haloscope.hide.improve.situation import Situation

_TUNABLES = "GLIBC_TUNABLES"
_HUGE = "glibc.malloc.hugetlb"
_FIRST = (2, 35)  # version of glibc with this tunable
_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_MUCH = 64 << 20  # bytes of a rank for which translations of addresses may cost time
_REPEATED = 2.0  # memory that is taken, as a multiple of the largest size, if most is freed and taken again
# All blocks come from the heap, also those of 32 MiB or more. The heap never shrinks.
_KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}


def improve_memory(run: Situation) -> Iterator[Remedy]:
    """Yield large pages for ranks with much memory, and a heap that keeps freed memory."""
    ranks = run.ranks_per_node
    if run.taken > _REPEATED * ranks * run.memory > 0 and run.taken > ranks * _MUCH:
        why = (
            f"ranks took {bytes_text(run.taken // ranks)} from the system, and used"
            f" {bytes_text(int(run.memory))} at most"
        )
        yield Remedy("freed memory is kept", why, dict(_KEPT))
    if run.memory >= _MUCH and _are_pages_optional() and _read_version() >= _FIRST:
        given = run.environment.get(_TUNABLES, "")
        tunables = [word for word in given.split(":") if word and not word.startswith(_HUGE)]
        why = f"{noun_text(ranks, 'rank')} per node with {bytes_text(int(run.memory))} each"
        yield Remedy("large pages", why, {_TUNABLES: ":".join([*tunables, f"{_HUGE}=1"])})


def _are_pages_optional() -> bool:
    """Return whether the system gives large pages only to programs that ask for them."""
    try:
        return "[madvise]" in _PAGES.read_text()
    except OSError:
        return False


def _read_version() -> tuple[int, ...]:
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):  # another C library
        return ()
    numbers = text.removeprefix("glibc ").split(".")
    return tuple(int(number) for number in numbers if number.isdigit())
