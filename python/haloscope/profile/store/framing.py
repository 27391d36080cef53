"""The frame of a profile, docs/format.md version 1: its header, its trailer, and errors of damage.

It needs no tables, which load slowly: `haloscope run` checks the frame of each new profile.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from haloscope.base.errors import ProfileError
from haloscope.base.schema import FORMAT, MAGIC, TRAILER, TRAILER_END

HEADER_BYTES = 16
TRAILER_BYTES = TRAILER.size
REMEDY = "run the program again, or take another copy"


class DamageError(Exception):
    """The damage of a file, without its name."""

    def make_error(self, path: Path) -> ProfileError:
        """Return the error to show, with the file's name and the remedy."""
        return ProfileError(f"{path}: the profile is damaged: {self}; {REMEDY}")


def check_header(path: Path, header: bytes) -> None:
    """Check the first bytes of a file, at most `HEADER_BYTES`. Raises `ProfileError`."""
    if not header:
        raise ProfileError(f"{path}: is empty; {REMEDY}")
    if header[: len(MAGIC)] != MAGIC[: len(header)]:
        raise ProfileError(f"{path}: is not a Haloscope profile; name a file that `haloscope run` wrote")
    if len(header) == HEADER_BYTES:
        major, minor = struct.unpack_from("<II", header, len(MAGIC))
        if major > FORMAT[0]:
            raise ProfileError(
                f"{path}: has the newer format version {major}.{minor}, and this"
                f" Haloscope reads up to {FORMAT[0]}; install a newer Haloscope"
            )


def directory_place(header: bytes, trailer: bytes, size: int) -> tuple[int, int, int]:
    """Return the offset, the length and the checksum of the directory of a file of `size` bytes.

    Raises `DamageError`.
    """
    if size < HEADER_BYTES + TRAILER_BYTES:
        raise DamageError(f"it was cut short at byte {size}")
    start, length, directory_crc, crc, end = TRAILER.unpack(trailer)
    if end != TRAILER_END:
        raise DamageError("it was cut short, its last bytes are missing")
    if zlib.crc32(trailer[:20], zlib.crc32(header)) != crc:
        raise DamageError("the checksum of its header is wrong")
    if start < HEADER_BYTES or start + length != size - TRAILER_BYTES:
        raise DamageError("its directory is outside the file")
    return start, length, directory_crc
