"""The bytes of one chunk, back into an array."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._directory import PLAIN, Chunk, DamageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decode"]

_WIDTH = 8


def decode(raw: bytes, chunk: Chunk, name: str) -> NDArray[np.int64]:
    """Return the chunk's `rows` values, as signed 64-bit integers whatever they mean.

    `raw` is the chunk's bytes as they stand in the file, `name` the column's name for messages.
    Raises `DamageError` when the checksum or the length is wrong.
    """
    if zlib.crc32(raw) != chunk.crc:
        raise DamageError(f"the checksum of column {name} is wrong")
    if chunk.encoding == PLAIN:
        return np.frombuffer(raw, dtype="<i8")
    return _unshuffle(_inflate(raw, chunk.rows * _WIDTH, name), chunk.rows)


def _inflate(raw: bytes, expected: int, name: str) -> bytes:
    stream = zlib.decompressobj()
    try:
        # The limit of 0 would mean none. The output grows with what comes out of the stream.
        data = stream.decompress(raw, expected + 1)
    except zlib.error:
        raise DamageError(f"column {name} does not unpack") from None
    if len(data) != expected or not stream.eof or stream.unused_data:
        raise DamageError(f"column {name} does not unpack to {expected} bytes")
    return data


def _unshuffle(data: bytes, rows: int) -> NDArray[np.int64]:
    planes = np.frombuffer(data, dtype=np.uint8).reshape(_WIDTH, rows)
    values = np.zeros((rows, _WIDTH), dtype=np.uint8)
    for position, plane in enumerate(planes):
        # The high bytes of counts are nearly always zero, as is the array already.
        if plane.any():
            values[:, position] = plane
    return values.view("<i8").reshape(rows)
