"""The bytes of one chunk, back into an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

# Inflates twice as fast as the interpreter's own, and is the same otherwise.
from zlib_ng import zlib_ng as zlib

from haloscope.explain._directory import PLAIN, Chunk, DamageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decode", "low_bytes"]

_WIDTH = 8
_ZlibError: type[Exception] = zlib.error  # type: ignore[assignment]  # its stub says it is one


def decode(raw: bytes, chunk: Chunk, name: str) -> NDArray[np.int64]:
    """Return the chunk's `rows` values, as signed 64-bit integers whatever they mean.

    `raw` is the chunk's bytes as they stand in the file, `name` the column's name for messages.
    Raises `DamageError` when the checksum or the length is wrong.
    """
    _check(raw, chunk, name)
    if chunk.encoding == PLAIN:
        return np.frombuffer(raw, dtype="<i8")
    return _unshuffle(_planes(raw, chunk, _WIDTH, name))


def low_bytes(raw: bytes, chunk: Chunk, number: int, name: str) -> NDArray[np.uint8]:
    """Return the lowest `number` bytes of each value, shape (number, rows), the lowest one first.

    No more of the chunk is inflated. Raises `DamageError` as `decode` does.
    """
    _check(raw, chunk, name)
    if chunk.encoding == PLAIN:
        values = np.frombuffer(raw, dtype=np.uint8).reshape(chunk.rows, _WIDTH)
        return np.ascontiguousarray(values[:, :number].T)
    return _planes(raw, chunk, number, name)


def _check(raw: bytes, chunk: Chunk, name: str) -> None:
    if zlib.crc32(raw) != chunk.crc:
        raise DamageError(f"the checksum of column {name} is wrong")


def _planes(raw: bytes, chunk: Chunk, number: int, name: str) -> NDArray[np.uint8]:
    expected, whole = number * chunk.rows, number == _WIDTH
    stream = zlib.decompressobj()
    try:
        # The limit of 0 would mean none. The output grows with what comes out of the stream.
        data = stream.decompress(raw, expected + (1 if whole else 0)) if raw and expected else b""
    except _ZlibError:
        raise DamageError(f"column {name} does not unpack") from None
    if len(data) != expected or (whole and (not stream.eof or stream.unused_data)):
        raise DamageError(f"column {name} does not unpack to {expected} bytes")
    return np.frombuffer(data, dtype=np.uint8).reshape(number, chunk.rows)


def _unshuffle(planes: NDArray[np.uint8]) -> NDArray[np.int64]:
    values = np.zeros((planes.shape[1], _WIDTH), dtype=np.uint8)
    for position, plane in enumerate(planes):
        # The high bytes of counts are nearly always zero, as is the array already.
        if plane.any():
            values[:, position] = plane
    return values.view("<i8")[:, 0]
