"""The `info` of a profile without its tables: one read of a small file, one of a large one's end."""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from pathlib import Path
from typing import Any

from haloscope.base.errors import ProfileError
from haloscope.profile.store.framing import (
    HEADER_BYTES,
    TRAILER_BYTES,
    DamageError,
    check_header,
    directory_place,
)

_AT_ONCE = 64 << 10  # bytes of a file's end, where its directory is
_MOST_INFO = (
    4 << 20
)  # of a directory: all of it except `info` grows with the run; no recorder writes a longer `info`
_BEGIN = re.compile(r'\s*\{\s*"info"\s*:\s*')
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def read_info(path: str) -> dict[str, Any]:
    """Return the `info` of the profile at `path`; the tables may be damaged.

    At most 4 MiB of the file are in memory. Raises `ProfileError` if it is not a complete profile.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise ProfileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        return _read(descriptor, path)
    except DamageError as damage:
        raise damage.make_error(Path(path)) from None
    except OSError as error:
        raise ProfileError(f"{path}: cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: str) -> dict[str, Any]:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise ProfileError(f"{path}: is not a file")
    size = status.st_size
    last = max(size - _AT_ONCE, 0)
    tail = os.pread(descriptor, _AT_ONCE, last)
    header = tail[:HEADER_BYTES] if last == 0 else os.pread(descriptor, HEADER_BYTES, 0)
    check_header(Path(path), header)
    start, length, checksum = directory_place(header, tail[-TRAILER_BYTES:], size)
    if start >= last:
        content = tail[start - last : start - last + length]
        found = zlib.crc32(content)
    else:
        content, found = _long(descriptor, start, length)
    if found != checksum:
        raise DamageError("the checksum of its directory is wrong")
    return _info(content)


def _long(descriptor: int, start: int, length: int) -> tuple[bytes, int]:
    """Return the begin of a long directory, and the checksum of all of it."""
    begin, found = b"", 0
    for offset in range(start, start + length, _MOST_INFO):
        part = os.pread(descriptor, min(_MOST_INFO, start + length - offset), offset)
        found = zlib.crc32(part, found)
        begin = begin or part
    return begin, found


def _info(content: bytes) -> dict[str, Any]:
    """Return `info`, which the recorder writes first; other writers may have a different order."""
    try:
        text = content.decode("utf-8", "replace")
        begin = _BEGIN.match(text)
        if begin:
            info, _ = _DECODER.raw_decode(text, begin.end())
        else:
            info = _DECODER.decode(text)["info"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamageError("its directory is not valid JSON") from None
    if not isinstance(info, dict):
        raise DamageError("info is not a JSON object")
    return info
