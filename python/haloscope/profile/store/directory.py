"""The directory of a profile: JSON with the position of each column, checked before use.

All of this comes from a file that may be damaged or malicious. A directory that passes `parse` has unique
names, known types, and chunks that tile the file from byte 16 to its own start. So later steps need not check
offsets and row counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, repeat
from typing import Any, NamedTuple

import numpy as np

from haloscope.base.schema import OPTIONAL
from haloscope.profile.store.columns import LAYOUT, NEEDED
from haloscope.profile.store.framing import HEADER_BYTES, DamageError

PLAIN, SHUFFLED_ZLIB = 0, 1
# DEFLATE compresses at most 1032:1. A file with more rows is refused before it costs memory.
_MOST_INFLATION = 1032
# A single chunk may come near to that, if all its numbers are equal. All tables of a run together do not, as
# each row has a different time.
_SMALL, _INFLATION = 64 << 20, 128
_TYPES = ("integer", "real", "string")
_MOST_AT_ONCE = 1 << 48  # rows, or bytes; products with the above fit into 64 bits
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


_Head = tuple[str, str, str]


class Chunk(NamedTuple):
    """`rows` values of one column: `size` bytes at `offset`, packed by `encoding`."""

    rows: int
    offset: int
    size: int
    crc: int
    encoding: int


class StoredColumn(NamedTuple):
    """One column: its type (`integer`, `real`, `string`), unit, and chunks in order."""

    name: str
    type: str
    unit: str
    chunks: tuple[Chunk, ...]

    @property
    def rows(self) -> int:
        return sum([chunk.rows for chunk in self.chunks])


Table = Mapping[str, StoredColumn]


@dataclass(frozen=True)
class Directory:
    """Run information, the pool of strings, and the tables by name."""

    info: Mapping[str, Any]
    strings: Sequence[str]
    tables: Mapping[str, Table]


def most_memory(size: int) -> int:
    """Return the most bytes that the unpacked tables of a file of `size` bytes may take."""
    return _SMALL + _INFLATION * size


def parse(raw: bytes, start: int) -> Directory:
    """Return the directory in `raw`, which is at byte `start` of its file.

    Raises `DamageError` if it is not JSON, not of the documented shape, or its chunks do not tile
    the file.
    """
    content = _object(_decode(raw), "the directory")
    strings = _list(content.get("strings"), "strings")
    if not all(isinstance(text, str) for text in strings):
        raise DamageError("the directory's strings are not all strings")
    drafts: dict[str, _Draft] = {}
    for entry in _list(content.get("tables"), "tables"):
        draft = _draft(entry)
        if draft.name in drafts:
            raise DamageError(f"two tables are called {draft.name}")
        drafts[draft.name] = draft
    tables = _tables(drafts, start)
    _check_layout(tables)
    return Directory(_object(content.get("info"), "info"), strings, tables)


def _decode(raw: bytes) -> object:
    try:
        # Python also reads NaN and Infinity, which are not JSON; both mean unknown.
        content = json.loads(raw.decode("utf-8"), parse_constant=lambda _: None)
        if _SURROGATE.search(raw):  # it also reads halves of characters, which are not text
            json.dumps(content, ensure_ascii=False).encode("utf-8")
        return content
    except (ValueError, RecursionError):
        raise DamageError("its directory is not valid JSON") from None


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DamageError(f"{what} is not a JSON object")
    return value


def _list(value: object, what: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise DamageError(f"the directory's {what} is not a list" + (f" of {length}" if length else ""))
    return value


def _count(value: object, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise DamageError(f"{what} is not a count")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise DamageError(f"{what} is not a string")
    return value


class _Draft(NamedTuple):
    """A table before its chunks are checked: `chunks` are rows, and the JSON value of each column."""

    name: str
    heads: tuple[_Head, ...]
    chunks: list[tuple[int, list[Any]]]


def _draft(entry: object) -> _Draft:
    fields = _object(entry, "a table")
    name = _text(fields.get("name"), "a table's name")
    heads = _heads(_list(fields.get("columns"), f"columns of {name}"), name)
    found = _list(fields.get("chunks"), f"chunks of {name}")
    return _Draft(name, heads, [_chunk(chunk, name, len(heads)) for chunk in found])


def _heads(values: list[Any], table: str) -> tuple[_Head, ...]:
    # Nearly all files have the same tables.
    if {type(value) for value in values} <= {list}:
        try:
            return _cache_heads(tuple(map(tuple, values)), table)
        except TypeError:  # values that are not texts
            pass
    return _check_heads(values, table)


@lru_cache(maxsize=64)
def _cache_heads(values: tuple[tuple[Any, ...], ...], table: str) -> tuple[_Head, ...]:
    return _check_heads([list(value) for value in values], table)


def _check_heads(values: list[Any], table: str) -> tuple[_Head, ...]:
    heads = tuple(_head(value, table) for value in values)
    if len({head[0] for head in heads}) != len(heads):
        raise DamageError(f"table {table} has two columns of one name")
    return heads


def _head(value: object, table: str) -> _Head:
    name, kind, unit = (
        _text(part, f"a column of {table}") for part in _list(value, f"columns of {table}", 3)
    )
    if kind not in _TYPES:
        raise DamageError(f"column {name} of {table} has the unknown type {kind}")
    return name, kind, unit


def _chunk(value: object, table: str, columns: int) -> tuple[int, list[Any]]:
    fields = _object(value, f"a chunk of {table}")
    rows = _count(fields.get("rows"), f"the number of rows of a chunk of {table}")
    return rows, _list(fields.get("columns"), f"chunks of {table}", columns)


def _tables(drafts: Mapping[str, _Draft], start: int) -> dict[str, Table]:
    chunks = [(draft.name, rows, parts) for draft in drafts.values() for rows, parts in draft.chunks]
    # Chunks are most of a directory: they are checked together, and one by one only to report an error.
    if _are_sane([(rows, parts) for _, rows, parts in chunks], start):
        made = iter([[Chunk(rows, *part) for part in parts] for _, rows, parts in chunks])
    else:
        looked_at = [[_check_chunk(part, rows, name) for part in parts] for name, rows, parts in chunks]
        every = [chunk for parts in looked_at for chunk in parts]
        _check_tiling(every, start)
        _check_memory(sum(chunk.rows * 8 for chunk in every), start)
        made = iter(looked_at)
    tables: dict[str, Table] = {}
    for draft in drafts.values():
        parts = list(islice(made, len(draft.chunks)))
        columns = zip(*parts, strict=True) if parts else repeat((), len(draft.heads))
        tables[draft.name] = {
            head[0]: StoredColumn(*head, tuple(pieces))
            for head, pieces in zip(draft.heads, columns, strict=True)
        }
    return tables


def _are_sane(chunks: Sequence[tuple[int, list[Any]]], start: int) -> bool:
    """Return whether all chunks are valid (see `_looked_at`), small, and tile the file."""
    parts = [part for _, row in chunks for part in row]
    if {type(part) for part in parts} != {list} or {len(part) for part in parts} != {4}:
        return False
    numbers = list(chain.from_iterable(parts))
    if {type(number) for number in numbers} != {int}:  # bool is refused
        return False
    if min(numbers) < 0 or max(numbers) >= _MOST_AT_ONCE or max(rows for rows, _ in chunks) >= _MOST_AT_ONCE:
        return False
    offset, size, _, encoding = np.array(numbers, dtype=np.int64).reshape(-1, 4).T
    unpacked = np.repeat([rows * 8 for rows, _ in chunks], [len(row) for _, row in chunks])
    fits = np.where(encoding == PLAIN, size == unpacked, unpacked <= size * _MOST_INFLATION)
    order = np.lexsort((size, offset))
    begins, ends = offset[order], (offset + size)[order]
    is_tiled = begins[0] == HEADER_BYTES and ends[-1] == start and np.array_equal(begins[1:], ends[:-1])
    fits_together = unpacked.sum(dtype=np.float64) <= most_memory(start)
    return bool(is_tiled and fits.all() and fits_together and (encoding <= SHUFFLED_ZLIB).all())


def _check_chunk(value: object, rows: int, table: str) -> Chunk:
    """Return the chunk, or raise `DamageError` with the reason."""
    numbers = _list(value, f"chunks of {table}", 4)
    chunk = Chunk(rows, *(_count(number, f"a chunk of {table}") for number in numbers))
    if chunk.encoding not in (PLAIN, SHUFFLED_ZLIB):
        raise DamageError(f"table {table} is packed in the unknown way {chunk.encoding}")
    size = chunk.size
    if rows * 8 != size if chunk.encoding == PLAIN else rows * 8 > size * _MOST_INFLATION:
        raise DamageError(f"{rows} rows of table {table} cannot come from {chunk.size} bytes")
    return chunk


def _check_tiling(chunks: Sequence[Chunk], start: int) -> None:
    offset = HEADER_BYTES
    for chunk in sorted(chunks, key=lambda chunk: (chunk.offset, chunk.size)):
        if chunk.offset != offset:
            raise DamageError(f"its columns leave a gap or overlap at byte {min(offset, chunk.offset)}")
        offset += chunk.size
    if offset != start:
        raise DamageError(f"its columns end at byte {offset} and its directory starts at {start}")


def _check_memory(unpacked: int, start: int) -> None:
    if unpacked > most_memory(start):
        raise DamageError(
            f"its tables would take {unpacked} bytes of memory, more than any run's in a file of {start}"
        )


def _check_layout(tables: Mapping[str, Table]) -> None:
    for name, columns in LAYOUT.items():
        if name not in tables:
            if name in OPTIONAL:
                continue
            raise DamageError(f"it has no table {name}")
        for column in NEEDED[name]:
            if column not in tables[name]:
                raise DamageError(f"its table {name} has no column {column}")
        for column, kind in columns.items():
            if column in tables[name] and tables[name][column].type != kind:
                raise DamageError(f"column {column} of its table {name} is not of type {kind}")
