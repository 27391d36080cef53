"""Read the profile file, docs/format.md version 1: header, trailer, and columns on demand."""

from __future__ import annotations

import os
import stat
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

# Twice as fast as the interpreter's own module, with the same results.
from zlib_ng import zlib_ng

from haloscope.base.arrays import Bytes, Floats, Integers
from haloscope.base.errors import ProfileError
from haloscope.base.units import count_text
from haloscope.profile.store.columns import LAYOUT, NEWER, type_columns
from haloscope.profile.store.directory import PLAIN, Chunk, Directory, StoredColumn, most_memory, parse
from haloscope.profile.store.framing import (
    HEADER_BYTES,
    TRAILER_BYTES,
    DamageError,
    check_header,
    directory_place,
)

# Inflating releases the interpreter's lock; more threads than this only wait for memory.
_THREADS = min(4, os.cpu_count() or 1)
# With fewer values, threads cost more than they save; with fewer texts, so does a column of the pool.
_WORTH_THREADS, _WORTH_POOL = 1 << 18, 1 << 10
_EVENT_BYTES = 64  # of one event of a trace while it is read
_AT_ONCE = 256 << 10  # bytes of a file that are read at once, needed or not

_T = TypeVar("_T")


class ProfileFile:
    """An open profile whose columns are read, checked and unpacked when asked for.

    Chunks are read with pread and not through a mapping: if a mapped file is truncated, the reader dies of
    SIGBUS, while a short read is an error message.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open `path` and check header, trailer and directory. Raises `ProfileError`."""
        self.path = Path(path)
        self._descriptor = self._open()
        try:
            self._directory = self._guard(self._read_directory)
        except BaseException:
            self.close()
            raise

    @property
    def info(self) -> Mapping[str, Any]:
        """The run information in the file."""
        return self._directory.info

    @property
    def strings(self) -> Sequence[str]:
        """The pool that `string` columns index."""
        return self._directory.strings

    @property
    def tables(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """All tables and columns, by name."""
        return self._directory.tables

    def check_events(self, events: float, problem: str) -> None:
        """Raise `ProfileError` if the events of a trace need more memory than the tables may take.

        A file is not damaged by that: a trace of equal calls has many events in few bytes.
        """
        most = most_memory(os.fstat(self._descriptor).st_size) // _EVENT_BYTES
        if events > most:
            raise ProfileError(
                f"{self.path}: {problem} for a file of its size: {count_text(events)}, at most"
                f" {count_text(most)}; record a part of the run (--only, --ranks, HALOSCOPE_UNTIL)"
            )

    def column(self, table: str, name: str) -> Integers | Floats:
        """Return one column, shape (rows,): int64, or float64 for `real`.

        A `string` column is returned as indices into `strings`. Raises `ProfileError` if the column is
        damaged.
        """
        return self.columns(table, [name])[name]

    def columns(self, table: str, names: Sequence[str]) -> dict[str, Integers | Floats]:
        """Return several columns of one table by name, unpacked in parallel."""
        wanted = [self.tables[table][name] for name in names]
        if self.rows(table) * len(wanted) < _WORTH_THREADS:
            arrays = self._guard(lambda: self._load_small(wanted))
        else:
            with ThreadPoolExecutor(_THREADS) as pool:
                arrays = self._guard(lambda: list(pool.map(self._load, wanted)))
        return dict(zip(names, arrays, strict=True))

    def frame(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of a table; empty if the file does not have it.

        NaN, infinities and columns that are newer than the file are null. Raises `ProfileError`.
        """
        if table not in self.tables:
            return type_columns(table, columns)
        known = [name for name in columns if name in self.tables[table] or name not in NEWER]
        arrays = self.columns(table, known)
        return type_columns(table, columns, {name: self._series(table, name, arrays[name]) for name in known})

    def _series(self, table: str, name: str, array: Integers | Floats) -> pl.Series:
        kind = LAYOUT[table][name]
        if kind == "string" and len(array) < _WORTH_POOL:
            return pl.Series(name, [self.strings[index] for index in array.tolist()], dtype=pl.String)
        series = pl.Series(name, array)
        if kind == "string":
            return self._pool.gather(series).alias(name)
        if kind == "real" and not np.isfinite(array).all():
            return series.set(~series.is_finite(), None)
        return series

    @cached_property
    def _pool(self) -> pl.Series:
        return pl.Series("strings", self.strings, dtype=pl.String)

    def over_ranks(self, exclusive: bool) -> None:
        """Single ranks are known."""

    @property
    def own_trace(self) -> None:
        """A trace is in stored tables."""

    def lacks(self, table: str) -> None:
        """The recorder knows all tables."""

    def rows(self, table: str) -> int:
        """Return the number of rows of a table, 0 if the file does not have it."""
        columns = self.tables.get(table)
        return next(iter(columns.values())).rows if columns else 0

    def spans(self, table: str, name: str) -> list[tuple[int, int]]:
        """Return the first row of each chunk of a column, and the row behind its last."""
        column = self.tables.get(table, {}).get(name)
        ends = list(accumulate(chunk.rows for chunk in column.chunks)) if column else []
        return list(zip([0, *ends], ends))  # noqa: B905  one longer

    def iterate_chunks(
        self, table: str, name: str, numbers: Sequence[int], low: int, work: Callable[[int, Bytes], _T]
    ) -> Iterator[_T]:
        """Yield the result of `work` for each chunk of a column; further chunks are processed meanwhile.

        `work` is called on several threads with one of `numbers` and the `low` lowest bytes of each
        value in that chunk, shape (low, rows). Raises `ProfileError` if a chunk is damaged.
        """

        def load_chunk(number: int) -> _T:
            chunk = self.tables[table][name].chunks[number]
            raw = self._read(chunk.offset, chunk.size)
            return work(number, low_bytes(raw, chunk, low, name))

        waiting: deque[Future[_T]] = deque()
        with ThreadPoolExecutor(_THREADS) as pool:
            for number in numbers:
                waiting.append(pool.submit(load_chunk, number))
                if len(waiting) > _THREADS:
                    yield self._guard(waiting.popleft().result)
            while waiting:
                yield self._guard(waiting.popleft().result)

    def verify(self) -> None:
        """Read and check every column of the file. Raises `ProfileError` for any damage."""
        for name, table in self.tables.items():
            for column in table:
                self.column(name, column)

    def fileno(self) -> int:
        """Return the descriptor of the open file; its position is not used."""
        return self._descriptor

    def close(self) -> None:
        """Close the file; then columns cannot be read."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.close()

    def _open(self) -> int:
        try:
            # A pipe would block an ordinary open for ever.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ProfileError(f"{self.path}: {reason}; name a profile that `haloscope run` wrote") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ProfileError(f"{self.path}: is not a file; name a profile that `haloscope run` wrote")
        return descriptor

    def _guard(self, action: Callable[[], _T]) -> _T:
        try:
            return action()
        except DamageError as damage:
            raise damage.make_error(self.path) from None
        except OSError as error:
            raise ProfileError(f"{self.path}: cannot be read: {error.strerror}") from None

    def _read(self, offset: int, size: int) -> bytes:
        parts = []
        while size > 0:
            part = os.pread(self._descriptor, size, offset)
            if not part:
                raise DamageError(f"it was cut short at byte {offset}")
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_directory(self) -> Directory:
        size = os.fstat(self._descriptor).st_size
        header = self._read(0, min(size, HEADER_BYTES))
        check_header(self.path, header)
        raw = self._read(max(size - TRAILER_BYTES, 0), min(size, TRAILER_BYTES))
        start, length, directory_crc = directory_place(header, raw, size)
        content = self._read(start, length)
        if zlib.crc32(content) != directory_crc:
            raise DamageError("the checksum of its directory is wrong")
        return parse(content, start)

    def _load_small(self, wanted: Sequence[StoredColumn]) -> list[Integers | Floats]:
        """Return neighbouring columns: read in one step, and unpacked once if they are equal."""
        chunks = [chunk for column in wanted for chunk in column.chunks]
        first = min((chunk.offset for chunk in chunks), default=0)
        after = max((chunk.offset + chunk.size for chunk in chunks), default=0)
        if after - first > _AT_ONCE:
            return [self._load(column) for column in wanted]
        content = self._read(first, after - first)
        loaded = []
        for column in wanted:
            parts = []
            for chunk in column.chunks:
                begin = chunk.offset - first
                parts.append(_decode(content[begin : begin + chunk.size], chunk, column.name))
            loaded.append(self._cast(column, parts))
        return loaded

    def _load(self, column: StoredColumn) -> Integers | Floats:
        return self._cast(
            column, [decode(self._read(c.offset, c.size), c, column.name) for c in column.chunks]
        )

    def _cast(self, column: StoredColumn, parts: list[Integers]) -> Integers | Floats:
        values = _join(parts)
        if column.type == "real":
            return values.view(np.float64)
        if column.type == "string" and not _are_within(values, len(self.strings)):
            raise DamageError(f"column {column.name} names a string that does not exist")
        return values


def _join(parts: list[Integers]) -> Integers:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _are_within(indices: Integers, length: int) -> bool:
    return not len(indices) or bool(indices.min() >= 0 and indices.max() < length)


_WIDTH = 8
_FEW_ROWS = 4096  # with fewer rows, a search for zero planes takes as long as copying them
_ZlibError: type[Exception] = zlib_ng.error  # type: ignore[assignment]  # its stub says it is one


def decode(raw: bytes, chunk: Chunk, name: str) -> Integers:
    """Return the chunk's `rows` values, always as signed 64-bit integers.

    `raw` has the chunk's bytes in the file; `name` is the column's name, for messages. Raises `DamageError`
    when the checksum or the length is wrong.
    """
    _check(raw, chunk, name)
    if chunk.encoding == PLAIN:
        return np.frombuffer(raw, dtype="<i8")
    return _unshuffle(_inflate(raw, chunk, _WIDTH, name))


def _decode(raw: bytes, chunk: Chunk, name: str) -> Integers:
    """Return the result of `decode`, which must not be changed."""
    if chunk.rows > _FEW_ROWS:
        return decode(raw, chunk, name)
    try:
        return _decode_once(raw, chunk.rows, chunk.crc, chunk.encoding)
    except DamageError:
        return decode(raw, chunk, name)  # its error names the column


# Many columns of a profile are zero, and runs of one program have equal counts.
@lru_cache(maxsize=256)
def _decode_once(raw: bytes, rows: int, crc: int, encoding: int) -> Integers:
    values = decode(raw, Chunk(rows, 0, len(raw), crc, encoding), "")
    values.flags.writeable = False
    return values


def low_bytes(raw: bytes, chunk: Chunk, number: int, name: str) -> Bytes:
    """Return the lowest `number` bytes of each value, shape (number, rows), the lowest one first.

    No more of the chunk is inflated. Raises `DamageError` as `decode` does.
    """
    _check(raw, chunk, name)
    if chunk.encoding == PLAIN:
        values = np.frombuffer(raw, dtype=np.uint8).reshape(chunk.rows, _WIDTH)
        return np.ascontiguousarray(values[:, :number].T)
    return _inflate(raw, chunk, number, name)


def _check(raw: bytes, chunk: Chunk, name: str) -> None:
    if zlib_ng.crc32(raw) != chunk.crc:
        raise DamageError(f"the checksum of column {name} is wrong")


def _inflate(raw: bytes, chunk: Chunk, number: int, name: str) -> Bytes:
    expected, whole = number * chunk.rows, number == _WIDTH
    stream = zlib_ng.decompressobj()
    try:
        # A limit of 0 would mean no limit. The output grows with the unpacked data.
        data = stream.decompress(raw, expected + (1 if whole else 0)) if raw and expected else b""
    except _ZlibError:
        raise DamageError(f"column {name} does not unpack") from None
    if len(data) != expected or (whole and (not stream.eof or stream.unused_data)):
        raise DamageError(f"column {name} does not unpack to {expected} bytes")
    return np.frombuffer(data, dtype=np.uint8).reshape(number, chunk.rows)


def _unshuffle(planes: Bytes) -> Integers:
    if planes.shape[1] <= _FEW_ROWS:
        return np.ascontiguousarray(planes.T).view("<i8")[:, 0]
    values = np.zeros((planes.shape[1], _WIDTH), dtype=np.uint8)
    # The high bytes of counts are nearly always zero, and the array is zero already.
    for position in np.flatnonzero(planes.any(axis=1)):
        values[:, position] = planes[position]
    return values.view("<i8")[:, 0]
