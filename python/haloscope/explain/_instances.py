"""Instances of regions one by one, unpacked from the tables `series` and `instances`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._directory import DamageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain._profile import Profile

__all__ = ["QUANTITIES", "Series"]

QUANTITIES = ("start", "duration", "wait")

# An instance is 64 bits: duration, gap before it, share of waiting. The first two are floats with
# 19 bits of mantissa and 5 of exponent.
_GAP_SHIFT, _WAIT_SHIFT, _WHOLE_WAIT = np.uint64(24), np.uint64(48), 0xFFFF
_LENGTH_MASK, _MANTISSA_BITS, _ONE = np.uint32(0xFF_FFFF), np.uint32(19), np.uint32(1)


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
        ticks, filled, end = self._ticks(), 0, np.uint64(0)
        spans = self.profile.file.spans("instances", "packed")
        wanted = [
            number
            for number, (low, high) in enumerate(spans)
            if low < high and self._between(low, high).size
        ]
        arrays = self.profile.file.stream("instances", "packed", wanted)
        for number, array in zip(wanted, arrays, strict=True):
            low, high = spans[number]
            part = self._between(low, high)
            begins = np.maximum(self.firsts[part], low) - low
            counts = np.minimum(self._ends[part], high) - low - begins
            packed = _picked(array.view(np.uint64), begins, counts)
            into = result[filled : filled + len(packed)]
            if quantity == "start":
                continued = end if self.firsts[part[0]] < low else np.uint64(0)
                end = _starts(packed, counts, continued, into)
            else:
                into[:] = _lengths(packed)
                if quantity == "wait":
                    into *= (packed >> _WAIT_SHIFT) / _WHOLE_WAIT
            with np.errstate(over="ignore", invalid="ignore"):
                into *= np.repeat(ticks[part], counts)
            filled += len(packed)
        return result

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return self.firsts + self.counts

    def _between(self, low: int, high: int) -> NDArray[np.int64]:
        """Return which rows have instances among those from `low` up to `high`."""
        first = np.searchsorted(self._ends, low, side="right")
        return np.arange(first, np.searchsorted(self.firsts, high, side="left"))

    def _ticks(self) -> NDArray[np.float64]:
        """Return the seconds of a tick on the rank of each row."""
        processes = self.profile.frame("processes", ["rank", "tick"]).sort("rank")
        ranks = processes["rank"].to_numpy()
        if not np.isin(self.ranks, ranks).all():
            raise DamageError("its table series names a rank that is not there")
        ticks = processes["tick"].fill_null(float("nan")).to_numpy()
        return ticks[np.searchsorted(ranks, self.ranks)]


def _picked(
    packed: NDArray[np.uint64], begins: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return `counts` values each from `begins` on."""
    if counts.sum() == len(packed):
        return packed
    within = np.repeat(begins - (np.cumsum(counts) - counts), counts)
    return packed[within + np.arange(len(within))]


def _lengths(packed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the ticks that the low 24 bits stand for."""
    value = packed.astype(np.uint32)  # half the memory is three times as fast
    value &= _LENGTH_MASK
    shift = value >> _MANTISSA_BITS
    shift -= np.minimum(shift, _ONE)
    value -= shift << _MANTISSA_BITS
    ticks: NDArray[np.uint64] = value.astype(np.uint64) << shift
    return ticks


def _starts(
    packed: NDArray[np.uint64],
    counts: NDArray[np.int64],
    continued: np.uint64,
    into: NDArray[np.float64],
) -> np.uint64:
    """Put the ticks at which instances start `into` an array; return the end of the last one.

    Each of the `counts` series starts at 0, but the first one where it left off: at `continued`.
    Sums are modulo 2⁶⁴, so that a damaged series has no effect on the next.
    """
    durations = _lengths(packed)
    ends = np.cumsum(_lengths(packed >> _GAP_SHIFT) + durations, dtype=np.uint64)
    before = np.concatenate([np.zeros(1, np.uint64), ends[np.cumsum(counts)[:-1] - 1]])
    before[:1] -= continued
    ends -= np.repeat(before, counts)
    into[:] = ends - durations
    end: np.uint64 = ends[-1]
    return end
