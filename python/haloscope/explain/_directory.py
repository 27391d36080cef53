"""The directory of a profile: JSON that says where each column stands, checked before use.

Everything here comes from a file that may be damaged or made to harm. A directory that passes
`parse` has unique names, known types, and chunks that tile the file from byte 16 to its own start,
so that no later step needs to ask whether an offset or a row count is sane.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from haloscope.base.schema import OPTIONAL
from haloscope.explain._columns import LAYOUT, NEEDED
from haloscope.explain._framing import HEADER_BYTES, DamageError

__all__ = ["Chunk", "Column", "Directory", "parse"]

PLAIN, SHUFFLED_ZLIB = 0, 1
# DEFLATE cannot do better than 1032:1. A file that claims more rows is refused before they cost memory.
_MOST_INFLATION = 1032
_TYPES = ("integer", "real", "string")
_FOUR_COUNTS = [int] * 4  # no bool
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Chunk(NamedTuple):
    """`rows` values of one column: `size` bytes at `offset`, packed by `encoding`."""

    rows: int
    offset: int
    size: int
    crc: int
    encoding: int


@dataclass(frozen=True)
class Column:
    """One column: its type (`integer`, `real`, `string`), unit, and chunks in order."""

    name: str
    type: str
    unit: str
    chunks: tuple[Chunk, ...]

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)


Table = Mapping[str, Column]


@dataclass(frozen=True)
class Directory:
    """Run information, the pool of strings, and the tables by name."""

    info: Mapping[str, Any]
    strings: Sequence[str]
    tables: Mapping[str, Table]


def parse(raw: bytes, start: int) -> Directory:
    """Return the directory in `raw`, which stands at byte `start` of its file.

    Raises `DamageError` if it is not JSON, not of the documented shape, or its chunks do not tile
    the file.
    """
    content = _object(_decode(raw), "the directory")
    strings = _list(content.get("strings"), "strings")
    if not all(isinstance(text, str) for text in strings):
        raise DamageError("the directory's strings are not all strings")
    tables: dict[str, Table] = {}
    for entry in _list(content.get("tables"), "tables"):
        name, table = _table(entry)
        if name in tables:
            raise DamageError(f"two tables are called {name}")
        tables[name] = table
    _check_tiling(tables, start)
    _check_layout(tables)
    return Directory(_object(content.get("info"), "info"), strings, tables)


def _decode(raw: bytes) -> object:
    try:
        # Python reads NaN and Infinity, which JSON has not; both mean unknown.
        content = json.loads(raw.decode("utf-8"), parse_constant=lambda _: None)
        if _SURROGATE.search(raw):  # and it reads halves of characters, which are no text
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


def _table(entry: object) -> tuple[str, Table]:
    fields = _object(entry, "a table")
    name = _text(fields.get("name"), "a table's name")
    heads = [_head(head, name) for head in _list(fields.get("columns"), f"columns of {name}")]
    if len({head[0] for head in heads}) != len(heads):
        raise DamageError(f"table {name} has two columns of one name")
    pieces: list[list[Chunk]] = [[] for _ in heads]
    for chunk in _list(fields.get("chunks"), f"chunks of {name}"):
        for piece, part in zip(pieces, _chunk(chunk, name, len(heads)), strict=True):
            piece.append(part)
    return name, {head[0]: Column(*head, tuple(piece)) for head, piece in zip(heads, pieces, strict=True)}


def _head(value: object, table: str) -> tuple[str, str, str]:
    name, kind, unit = _list(value, f"columns of {table}", 3)
    if not type(name) is type(kind) is type(unit) is str:
        name, kind, unit = (_text(part, f"a column of {table}") for part in (name, kind, unit))
    if kind not in _TYPES:
        raise DamageError(f"column {name} of {table} has the unknown type {kind}")
    return name, kind, unit


def _chunk(value: object, table: str, columns: int) -> list[Chunk]:
    fields = _object(value, f"a chunk of {table}")
    rows = _count(fields.get("rows"), f"the number of rows of a chunk of {table}")
    parts = _list(fields.get("columns"), f"chunks of {table}", columns)
    return [_part(part, rows, table) for part in parts]


def _part(value: object, rows: int, table: str) -> Chunk:
    # Most of what a directory has: looked at at once, and one by one only to say what is wrong.
    if type(value) is list and [type(number) for number in value] == _FOUR_COUNTS:
        offset, size, crc, encoding = value
        is_packed = encoding == SHUFFLED_ZLIB and 0 <= rows * 8 <= size * _MOST_INFLATION
        if is_packed and 0 <= offset < 2**63 and size < 2**63 and 0 <= crc < 2**63:
            return Chunk(rows, offset, size, crc, encoding)
    return _looked_at(value, rows, table)


def _looked_at(value: object, rows: int, table: str) -> Chunk:
    """Return the chunk, or raise `DamageError` that says what is wrong with it."""
    numbers = _list(value, f"chunks of {table}", 4)
    chunk = Chunk(rows, *(_count(number, f"a chunk of {table}") for number in numbers))
    if chunk.encoding not in (PLAIN, SHUFFLED_ZLIB):
        raise DamageError(f"table {table} is packed in the unknown way {chunk.encoding}")
    possible = chunk.size == rows * 8 if chunk.encoding == PLAIN else _inflates_to(rows, chunk.size)
    if not possible:
        raise DamageError(f"{rows} rows of table {table} cannot come from {chunk.size} bytes")
    return chunk


def _inflates_to(rows: int, size: int) -> bool:
    return rows * 8 <= size * _MOST_INFLATION


def _check_tiling(tables: Mapping[str, Table], start: int) -> None:
    chunks = [c for table in tables.values() for column in table.values() for c in column.chunks]
    place = HEADER_BYTES
    for chunk in sorted(chunks, key=lambda chunk: (chunk.offset, chunk.size)):
        if chunk.offset != place:
            raise DamageError(f"its columns leave a gap or overlap at byte {min(place, chunk.offset)}")
        place += chunk.size
    if place != start:
        raise DamageError(f"its columns end at byte {place} and its directory starts at {start}")


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
