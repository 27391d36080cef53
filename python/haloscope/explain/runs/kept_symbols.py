"""Symbols are put into a profile, so that it says lines of source wherever it is opened."""

from __future__ import annotations

import json
import os
import struct
import zlib
from typing import Any

import numpy as np

from haloscope.base.files import replace_whole
from haloscope.base.schema import STORED
from haloscope.profile import Profile
from haloscope.profile.sites import Functions

_TRAILER = struct.Struct("<QQI")
_TRAILER_BYTES = 32
_HEADER_BYTES = 16
_SHUFFLED = 1


def keep_symbols(path: str | os.PathLike[str]) -> list[str]:
    """Put what is known of a profile's call sites into it, and return what isn't, a line for each module.

    The profile is replaced when the new one is whole, and has rows in its table `symbols`; nothing is done
    to one without call sites, or that has such rows. Raises `ProfileError` and `OutputError`.
    """
    with Profile(path) as profile:
        book = profile.site_book
        if not book.rows.height or profile.data.source.rows("symbols"):
            return []
        found = book.symbols.functions
        if found:
            _write(profile, found)
        return book.remarks


def _write(profile: Profile, found: Functions) -> None:
    """Put table `symbols` behind the other columns, with a new directory and trailer."""
    # The file that was read, which may have another one at its place by now.
    with os.fdopen(os.dup(profile.file.fileno()), "rb") as old:
        old.seek(0)
        header = old.read(_HEADER_BYTES)
        old.seek(-_TRAILER_BYTES, os.SEEK_END)
        start, length, _ = _TRAILER.unpack(old.read(_TRAILER.size))
        old.seek(start)
        # Not-a-numbers of other programs mean unknown, and JSON has none.
        directory = json.loads(old.read(length), parse_constant=lambda _: None)
        body = _table(directory, found, start)
        text = json.dumps(directory, ensure_ascii=False).encode()
        trailer = _TRAILER.pack(start + len(body), len(text), zlib.crc32(text))
        ending = trailer + struct.pack("<I", zlib.crc32(trailer, zlib.crc32(header))) + b"HALOEND\n"
        old.seek(0)
        replace_whole(profile.path.resolve(), old, start, [body, text, ending], "profile")


def _table(directory: dict[str, Any], found: Functions, start: int) -> bytes:
    """Return the columns' bytes, which will stand at `start`, and describe them in the directory."""
    numbers: dict[str, int] = {}
    for index, text in enumerate(directory["strings"]):
        numbers.setdefault(text, index)

    def number(text: str) -> int:
        if text not in numbers:
            numbers[text] = len(directory["strings"])
            directory["strings"].append(text)
        return numbers[text]

    rows = [
        (number(module), offset, depth, number(function), number(file or ""), line)
        for (module, offset), functions in sorted(found.items())
        for depth, (function, file, line) in enumerate(functions)
    ]
    parts: list[bytes] = []
    chunk = []
    for values in np.array(rows, dtype="<i8").T:
        packed = zlib.compress(np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8).T.tobytes())
        chunk.append([start + sum(map(len, parts)), len(packed), zlib.crc32(packed), _SHUFFLED])
        parts.append(packed)
    columns = [[column.name, column.type, column.unit] for column in STORED["symbols"]]
    entry = {"name": "symbols", "columns": columns, "chunks": [{"rows": len(rows), "columns": chunk}]}
    # The recorder's own one is empty.
    directory["tables"] = [table for table in directory["tables"] if table["name"] != "symbols"] + [entry]
    return b"".join(parts)
