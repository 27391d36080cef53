"""Instances of regions: unpacked from a profile, and as matrices of a region."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from haloscope.base.arrays import Bytes, Flags, Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.profile.kernels import native_library
from haloscope.profile.store.directory import most_memory
from haloscope.profile.store.framing import DamageError
from haloscope.profile.store.profile_data import ProfileData

# Number of low bytes of an instance that a quantity needs: three for the duration, three for the gap before
# it, two for the share of waiting.
LOW_BYTES = {"start": 6, "duration": 3, "wait": 8}
# `Stretch` in src/explain/instances.cpp: which instances of a chunk, and the seconds of a tick.
STRETCH = np.dtype([("begin", np.int64), ("count", np.int64), ("tick", np.float64)])
QUANTITIES = ("start", "duration", "wait")


def unpack(planes: Bytes, stretches: NDArray[np.void], end: int, into: Floats) -> int:
    """Put the seconds of stretches of instances, one after the other, `into` an array.

    Runs without the interpreter's lock.

    Args:
        planes: Shape (bytes, instances): the low bytes of each, as `LOW_BYTES` has them for the quantity.
        stretches: Which instances, and the seconds of a tick.
        end: Ticks at which the first stretch begins; the others begin at 0.
        into: The seconds of all instances.

    Returns:
        The end of the last stretch, in ticks.
    """
    rows = planes.shape[1]
    begins, counts = stretches["begin"], stretches["count"]
    assert planes.dtype == np.uint8
    assert planes.flags.c_contiguous
    assert planes.shape[0] in LOW_BYTES.values()
    assert stretches.dtype == STRETCH
    assert into.flags.c_contiguous
    assert not ((begins < 0) | (counts < 0) | (counts > rows - begins)).any()
    assert counts.sum() == len(into)
    ticks = ctypes.c_uint64(end)
    native_library().haloscope_unpack(
        planes.ctypes.data,
        rows,
        len(planes),
        stretches.ctypes.data,
        len(stretches),
        ctypes.byref(ticks),
        into.ctypes.data,
    )
    return ticks.value


@dataclass(frozen=True)
class _Part:
    """The stretches of one chunk of the table `instances` that are needed, one per series."""

    stretches: NDArray[np.void]
    continued: bool  # the first series began in an earlier chunk
    into: slice  # its part of the result


@dataclass(frozen=True)
class InstanceSeries:
    """Rows of the table `series`: path, rank, thread and number of instances."""

    profile: ProfileData
    paths: Integers
    ranks: Integers
    numbers: Integers  # of the first instance
    counts: Integers
    firsts: Integers  # rows of the table `instances`

    @classmethod
    def from_profile(cls, profile: ProfileData, chosen: Flags | None = None) -> InstanceSeries:
        """Return all rows, or those of the paths `chosen`. Raises `DamageError`."""
        frame = profile.frame("series", ["path", "rank", "instance", "instances"])
        paths, ranks, numbers, counts = (column.to_numpy() for column in frame)
        stored = profile.source.rows("instances")
        if len(counts) and not (counts.min() >= 0 and counts.max() <= stored):
            raise DamageError("its table series counts instances that do not exist")
        ends = np.cumsum(counts)
        if (int(ends[-1]) if len(ends) else 0) != stored:
            raise DamageError("its table series does not count the instances that exist")
        kept = counts > 0
        if chosen is not None:
            kept &= chosen[paths]
        columns = (paths, ranks, numbers, counts, ends - counts)
        return cls(profile, *(column[kept] for column in columns))

    def __len__(self) -> int:
        """Return the number of instances."""
        return int(self.counts.sum())

    def keys(self) -> dict[str, Integers]:
        """Return `path`, `rank` and `instance` of every instance."""
        within = np.arange(len(self)) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return {
            "path": np.repeat(self.paths, self.counts),
            "rank": np.repeat(self.ranks, self.counts),
            "instance": np.repeat(self.numbers, self.counts) + within,
        }

    def seconds(self, quantity: str) -> Floats:
        """Return one of `QUANTITIES` for every instance, NaN where it is unknown."""
        result = np.empty(len(self))
        if not len(self):
            return result
        parts = dict(enumerate(self._parts()))
        wanted = [number for number, part in parts.items() if len(part.stretches)]

        def unpack_part(number: int, packed: Bytes, end: int = 0) -> int:
            part = parts[number]
            return unpack(packed, part.stretches, end, result[part.into])

        def keep_packed(number: int, packed: Bytes) -> tuple[int, Bytes]:
            return number, packed

        each_chunk = partial(
            self.profile.file.iterate_chunks, "instances", "packed", wanted, LOW_BYTES[quantity]
        )
        if quantity != "start":
            deque(each_chunk(unpack_part), maxlen=0)
            return result
        end = 0
        for number, packed in each_chunk(keep_packed):
            end = unpack_part(number, packed, end if parts[number].continued else 0)
        return result

    @cached_property
    def _ends(self) -> Integers:
        return self.firsts + self.counts

    def _parts(self) -> Iterator[_Part]:
        """Yield the needed part of each chunk of `instances`."""
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

    def _ticks(self) -> Floats:
        """Return the seconds of a tick on the rank of each row."""
        processes = self.profile.frame("processes", ["rank", "tick"]).sort("rank")
        ranks = processes["rank"].to_numpy()
        if not np.isin(self.ranks, ranks).all():
            raise DamageError("its table series names a rank that does not exist")
        ticks = processes["tick"].fill_null(float("nan")).to_numpy()
        return ticks[np.searchsorted(ranks, self.ranks)]


class Instances:
    """All instances of one region: matrices of seconds, rank × instance.

    A row is a rank of `ranks`; NaN follows its last instance. A matrix is read from the profile on first use,
    so the profile must be open then.
    """

    def __init__(self, profile: ProfileData, region: str) -> None:
        """Take the instances of `region`. Raises `UsageError` if it has none, or names several paths."""
        series = InstanceSeries.from_profile(profile, profile.regions.matching(region))
        self.path = _only_path(profile, region, series)
        self.ranks, rows = np.unique(series.ranks, return_inverse=True)
        self.counts = np.zeros(len(self.ranks), dtype=np.int64)
        np.add.at(self.counts, rows, series.counts)
        self._series, self._rows = series, rows
        # If one rank has many instances and all others few, the matrix would be nearly empty.
        if 8 * self.counts.max() * len(self.ranks) > most_memory(profile.path.stat().st_size):
            raise UsageError(
                f"the ranks' instances of {region!r} are too unequal in number for a matrix;"
                " use the table series"
            )

    def __repr__(self) -> str:
        ranks, instances = len(self.ranks), self.counts.max()
        return f"<instances of {self.path!r}, {ranks} ranks × {instances}>"

    @cached_property
    def start(self) -> Floats:
        """The start of each instance, seconds since the rank's MPI_Init."""
        return self._matrix("start")

    @cached_property
    def duration(self) -> Floats:
        """The duration of each instance (s)."""
        return self._matrix("duration")

    @cached_property
    def wait(self) -> Floats:
        """The waiting time in each instance (s)."""
        return self._matrix("wait")

    def _matrix(self, quantity: str) -> Floats:
        series, width = self._series, int(self.counts.max())
        values = series.profile.guard(lambda: series.seconds(quantity))
        # The recorder's order if all ranks do the same.
        if np.array_equal(self._rows, np.arange(len(self.ranks))) and self.counts.min() == width:
            return values.reshape(len(self.ranks), width)
        matrix = np.full((len(self.ranks), width), np.nan)
        filled = np.zeros(len(self.ranks), dtype=np.int64).tolist()
        offset = 0
        for row, count in zip(self._rows.tolist(), series.counts.tolist(), strict=True):
            matrix[row, filled[row] : filled[row] + count] = values[offset : offset + count]
            filled[row] += count
            offset += count
        return matrix


def _only_path(profile: ProfileData, region: str, series: InstanceSeries) -> str:
    names: list[str] = [profile.regions.full_names[path] for path in np.unique(series.paths).tolist()]
    if not names:
        raise UsageError(
            f"no instances of {region!r} were recorded; run the program with --series {region!r}"
        )
    if len(names) > 1:
        raise UsageError(f"several regions are called {region!r}; name one of {', '.join(names)}")
    return names[0]
