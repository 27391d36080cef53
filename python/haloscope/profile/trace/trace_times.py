"""The times of events: from packed columns to ticks, and from the clocks of machines to one clock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from zlib_ng import zlib_ng

from haloscope.base.arrays import Integers
from haloscope.profile.store.framing import DamageError
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.trace.thread_structure import words_to_bytes

_HEAD = 6  # bytes before a column
_MOST_OFFSET = 1e9  # seconds between two clocks
_MOST_TIME = float(1 << 62)  # nanoseconds
_ZlibError: type[Exception] = zlib_ng.error  # type: ignore[assignment]  # its stub says it is one


@dataclass(frozen=True)
class ThreadTimes:
    """Ticks of one thread: `gaps` before each call, begin and end of a region, `durations` of calls."""

    gaps: Integers
    durations: Integers


def read_times(profile: ProfileData) -> dict[tuple[int, int], ThreadTimes]:
    """Return the times of each rank and thread. Raises `DamageError`."""
    pieces = profile.frame("trace_pieces")
    raw = words_to_bytes(profile.frame("trace_words")["packed"].to_numpy())
    sizes = pieces["bytes"].to_numpy()
    if np.any(sizes < 0) or int(((sizes + 7) // 8).sum()) * 8 != len(raw):
        raise DamageError("times of its trace are missing")
    for name in ("gaps", "durations"):
        counts = pieces[name].to_numpy()
        if np.any(counts < 0):
            raise DamageError("numbers of times of its trace are negative")
        profile.file.check_events(counts.sum(dtype=np.float64), "times of its trace are too many")
    ends = np.cumsum((sizes + 7) // 8 * 8)
    starts = ends - (sizes + 7) // 8 * 8
    is_compact = profile.info.get("trace") == "compact"

    def unpack(row: int) -> tuple[Integers, Integers]:
        piece = raw[starts[row] : starts[row] + sizes[row]]
        gaps, rest = _column(piece, int(pieces["gaps"][row]))
        durations, rest = _column(rest, int(pieces["durations"][row]))
        if rest:
            raise DamageError("times of its trace do not fit")
        return (_lengths(gaps), _lengths(durations)) if is_compact else (gaps, durations)

    with ThreadPoolExecutor(4) as pool:
        unpacked = list(pool.map(unpack, range(len(pieces))))
    keys = list(zip(pieces["rank"].to_list(), pieces["thread"].to_list(), strict=True))
    parts: dict[tuple[int, int], list[tuple[Integers, Integers]]] = {}
    for key, part in zip(keys, unpacked, strict=True):
        parts.setdefault(key, []).append(part)
    return {
        key: ThreadTimes(np.concatenate([g for g, _ in of]), np.concatenate([d for _, d in of]))
        for key, of in parts.items()
    }


def _column(raw: bytes, count: int) -> tuple[Integers, bytes]:
    """Return a column of `count` numbers, and the bytes behind it."""
    if len(raw) < _HEAD or raw[0] > 8 or raw[1] > 1:
        raise DamageError("times of its trace were cut short")
    width, size = raw[0], int.from_bytes(raw[2:_HEAD], "little")
    data, rest = raw[_HEAD : _HEAD + size], raw[_HEAD + size :]
    expected = width * count
    if raw[1] == 1:
        try:
            data = zlib_ng.decompressobj().decompress(data, expected + 1)
        except _ZlibError:
            raise DamageError("times of its trace do not unpack") from None
    if len(data) != expected:
        raise DamageError("times of its trace do not unpack")
    values = np.zeros((count, 8), dtype=np.uint8)
    for index, plane in enumerate(np.frombuffer(data, dtype=np.uint8).reshape(width, count)):
        values[:, index] = plane
    return values.view("<i8")[:, 0], rest


def _lengths(codes: Integers) -> Integers:
    """Return the times of a compact trace's codes: seven bits behind the leading one."""
    shift = np.minimum(np.maximum((codes >> 7) - 1, 0), 55)
    lengths: Integers = np.where(codes < 128, codes, (128 + (codes & 127)) << shift)
    return lengths


class Clocks:
    """Converts ticks of ranks to nanoseconds after the first `MPI_Init`, on the clock of rank 0's machine."""

    def __init__(self, profile: ProfileData) -> None:
        self.frame = profile.frame("trace_clocks").sort("rank")
        columns = {name: self.frame[name].to_numpy() for name in self.frame.columns}
        self._place = {int(rank): row for row, rank in enumerate(columns["rank"])}
        offsets = np.abs([columns["offset_begin"], columns["offset_end"]])
        if not ((columns["tick"] > 0) & (columns["tick"] <= 1) & (offsets <= _MOST_OFFSET).all(axis=0)).all():
            raise DamageError("a clock of its trace is not one of a machine")
        self._zero = columns["zero"]
        # All ranks of a machine use the first one's clock: otherwise rounding would separate them.
        _, first, which = np.unique(columns["machine"], return_index=True, return_inverse=True)
        self._reference = first[which]
        self._columns = columns
        duration = profile.frame("processes", ["rank", "duration"])
        self._durations = dict(duration.iter_rows())
        self._begin = 0.0
        self._begin = min(
            (self._convert(rank, self._zero[row]) for rank, row in self._place.items()), default=0.0
        )

    def zero(self, rank: int) -> int:
        """Return the tick at which a rank began. Raises `DamageError`."""
        if rank not in self._place:
            raise DamageError("a clock of its trace is missing")
        return int(self._zero[self._place[rank]])

    def list_runs(self) -> list[tuple[int, int, int]]:
        """Return rank, begin and end (ns) of ranks whose time until MPI_Finalize is known."""
        runs = []
        for rank, row in self._place.items():
            duration = self._durations.get(rank) or 0.0
            if duration > 0:
                ends = self._zero[row] + np.array([0.0, duration / self._columns["tick"][row]])
                begin, end = self.nanoseconds(rank, ends).tolist()
                runs.append((rank, begin, end))
        return runs

    def machines(self, ranks: Integers) -> Integers:
        """Return the number of each rank's machine; that of the first rank is 0. Raises `DamageError`."""
        if missing := {int(rank) for rank in ranks} - self._place.keys():
            raise DamageError(f"a clock of its trace is missing, that of rank {min(missing)}")
        numbers = {row: number for number, row in enumerate(dict.fromkeys(self._reference.tolist()))}
        return np.array([numbers[self._reference[self._place[int(rank)]]] for rank in ranks], dtype=np.int64)

    def nanoseconds(self, rank: int, ticks: Integers) -> Integers:
        """Return the times of a rank's ticks, rounded."""
        exact = np.rint(self._convert(rank, ticks))
        if not (np.abs(exact) <= _MOST_TIME).all():
            raise DamageError("a time of its trace is centuries away")
        rounded: Integers = exact.astype(np.int64)
        return rounded

    def _convert(self, rank: int, ticks: Any) -> Any:
        row = self._reference[self._place[rank]]
        own = self._columns
        passed = (ticks - own["zero"][row]) * (own["tick"][row] * 1e9)
        begin, end = own["offset_begin"][row] * 1e9, own["offset_end"][row] * 1e9
        length = max(float(self._durations.get(int(own["rank"][row]), 0.0) or 0.0) * 1e9, 1.0)
        shift = begin if begin == end else begin + (end - begin) * np.clip(passed / length, 0, 1)
        # Relative to the first machine's clock, so that no digits are lost.
        base = float(own["nanosecond"][row] - own["nanosecond"][0])
        return base + passed + shift - self._begin
