"""Writes profiles: the container of docs/format.md, whole and then renamed into place."""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haloscope.base.errors import OutputError

__all__ = ["write_profile"]

_MAGIC = b"\x89HALO\r\n\x1a"
_END = b"HALOEND\n"
_VERSION = (1, 0)
_CHUNK_ROWS = 1 << 20


def write_profile(path: Path, info: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
    """Write a profile; one that is there is replaced when the new one is whole.

    Columns of text become `string`, of floating point `real`, all others `integer`.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                _write(stream, info, tables)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def _write(stream: IO[bytes], info: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
    header = _MAGIC + struct.pack("<II", *_VERSION)
    stream.write(header)
    strings: dict[str, int] = {}
    entries = [_table(stream, name, frame, strings) for name, frame in tables.items()]
    directory = json.dumps({"info": dict(info), "strings": list(strings), "tables": entries}).encode()
    start = stream.tell()
    stream.write(directory)
    trailer = struct.pack("<QQI", start, len(directory), zlib.crc32(directory))
    stream.write(trailer + struct.pack("<I", zlib.crc32(header + trailer)) + _END)


def _table(stream: IO[bytes], name: str, frame: pl.DataFrame, strings: dict[str, int]) -> dict[str, Any]:
    heads = [[column, _kind(kind), ""] for column, kind in frame.schema.items()]
    chunks = []
    for first in range(0, frame.height, _CHUNK_ROWS):
        part = frame.slice(first, _CHUNK_ROWS)
        columns = [_column(stream, _values(column, strings)) for column in part]
        chunks.append({"rows": part.height, "columns": columns})
    return {"name": name, "columns": heads, "chunks": chunks}


def _kind(kind: pl.DataType) -> str:
    return "string" if kind == pl.String else "real" if kind.is_float() else "integer"


def _values(column: pl.Series, strings: dict[str, int]) -> NDArray[Any]:
    if column.dtype == pl.String:
        indices = [strings.setdefault(text, len(strings)) for text in column]
        return np.array(indices, dtype="<i8")
    return column.to_numpy().astype("<f8" if column.dtype.is_float() else "<i8")


def _column(stream: IO[bytes], values: NDArray[Any]) -> list[int]:
    """Shuffled and compressed: offset, bytes, CRC-32, encoding."""
    planes = values.view(np.uint8).reshape(-1, 8).T
    packed = zlib.compress(planes.tobytes(), 1)
    entry = [stream.tell(), len(packed), zlib.crc32(packed), 1]
    stream.write(packed)
    return entry


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
