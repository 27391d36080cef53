"""Instances of regions one by one, unpacked from the tables `series` and `instances`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._directory import DamageError
from haloscope.explain._unpacking import LOW_BYTES, STRETCH, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from haloscope.explain._profile import Profile

__all__ = ["QUANTITIES", "Series"]

QUANTITIES = ("start", "duration", "wait")


@dataclass(frozen=True)
class _Part:
    """What is wanted of one chunk of the table `instances`: stretches of it, a series each."""

    stretches: NDArray[np.void]
    continued: bool  # the first series began in an earlier chunk
    into: slice  # of the result


@dataclass(frozen=True)
class Series:
    """Rows of the table `series`: on which path, rank and thread how many instances follow."""

    profile: Profile
    paths: NDArray[np.int64]
    ranks: NDArray[np.int64]
    numbers: NDArray[np.int64]  # of the first instance
    counts: NDArray[np.int64]
    firsts: NDArray[np.int64]  # rows of the table `instances`

    @classmethod
    def of(cls, profile: Profile, chosen: NDArray[np.bool_] | None = None) -> Series:
        """Return all rows, or those of the paths `chosen`. Raises `DamageError`."""
        frame = profile.frame("series", ["path", "rank", "instance", "instances"])
        paths, ranks, numbers, counts = (column.to_numpy() for column in frame)
        stored = profile.file.rows("instances")
        if len(counts) and not (counts.min() >= 0 and counts.max() <= stored):
            raise DamageError("its table series counts instances that are not there")
        ends = np.cumsum(counts)
        if (int(ends[-1]) if len(ends) else 0) != stored:
            raise DamageError("its table series counts other instances than there are")
        kept = counts > 0
        if chosen is not None:
            kept &= chosen[paths]
        columns = (paths, ranks, numbers, counts, ends - counts)
        return cls(profile, *(column[kept] for column in columns))

    def __len__(self) -> int:
        """The number of instances."""
        return int(self.counts.sum())

    def keys(self) -> dict[str, NDArray[np.int64]]:
        """Return `path`, `rank` and `instance` of every instance."""
        within = np.arange(len(self)) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return {
            "path": np.repeat(self.paths, self.counts),
            "rank": np.repeat(self.ranks, self.counts),
            "instance": np.repeat(self.numbers, self.counts) + within,
        }

    def seconds(self, quantity: str) -> NDArray[np.float64]:
        """Return one of `QUANTITIES` for every instance, NaN where it is unknown."""
        result = np.empty(len(self))
        parts = dict(enumerate(self._parts()))
        wanted = [number for number, part in parts.items() if len(part.stretches)]

        def unpacked(number: int, packed: NDArray[np.uint8], end: int = 0) -> int:
            part = parts[number]
            return unpack(packed, part.stretches, end, result[part.into])

        def as_it_is(number: int, packed: NDArray[np.uint8]) -> tuple[int, NDArray[np.uint8]]:
            return number, packed

        each_chunk = partial(
            self.profile.file.each_chunk, "instances", "packed", wanted, LOW_BYTES[quantity]
        )
        if quantity != "start":
            deque(each_chunk(unpacked), maxlen=0)
            return result
        end = 0
        for number, packed in each_chunk(as_it_is):
            end = unpacked(number, packed, end if parts[number].continued else 0)
        return result

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return self.firsts + self.counts

    def _parts(self) -> Iterator[_Part]:
        """Yield for each chunk of `instances` what of it is wanted."""
        ticks, filled = self._ticks(), 0
        for low, high in self.profile.file.spans("instances", "packed"):
            first = np.searchsorted(self._ends, low, side="right")
            rows = np.arange(first, np.searchsorted(self.firsts, high, side="left"))
            begins = np.maximum(self.firsts[rows], low) - low
            counts = np.minimum(self._ends[rows], high) - low - begins
            continued = bool((self.firsts[rows[:1]] < low).any())
            into = slice(filled, filled + int(counts.sum()))
            stretches = np.empty(len(rows), dtype=STRETCH)
            stretches["begin"], stretches["count"], stretches["tick"] = begins, counts, ticks[rows]
            yield _Part(stretches, continued, into)
            filled = into.stop

    def _ticks(self) -> NDArray[np.float64]:
        """Return the seconds of a tick on the rank of each row."""
        processes = self.profile.frame("processes", ["rank", "tick"]).sort("rank")
        ranks = processes["rank"].to_numpy()
        if not np.isin(self.ranks, ranks).all():
            raise DamageError("its table series names a rank that is not there")
        ticks = processes["tick"].fill_null(float("nan")).to_numpy()
        return ticks[np.searchsorted(ranks, self.ranks)]
