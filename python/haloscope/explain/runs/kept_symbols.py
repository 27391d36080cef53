"""Storage of symbols in a profile, so that it has source lines wherever it is opened."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import numpy as np

from haloscope.base.files import replace_whole
from haloscope.base.schema import STORED, TRAILER, TRAILER_END
from haloscope.profile import Profile
from haloscope.profile.sites import Functions

_HEADER_BYTES = 16
_SHUFFLED = 1


def keep_symbols(path: str | os.PathLike[str]) -> list[str]:
    """Store the symbols of a profile's call sites in it; return one line per module with unknown symbols.

    The profile is replaced atomically, and then has rows in its table `symbols`. A profile without call sites
    or with such rows is not changed.

    Raises:
        ProfileError: The profile cannot be read.
        OutputError: The profile cannot be replaced.
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
    """Append the table `symbols` after the other columns, with a new directory and trailer."""
    # The file that was read: the path may lead to a different file now.
    with os.fdopen(os.dup(profile.file.fileno()), "rb") as old:
        old.seek(0)
        header = old.read(_HEADER_BYTES)
        old.seek(-TRAILER.size, os.SEEK_END)
        start, length, *_ = TRAILER.unpack(old.read(TRAILER.size))
        old.seek(start)
        # NaN of other programs means unknown, and JSON has no NaN.
        directory = json.loads(old.read(length), parse_constant=lambda _: None)
        body = _pack_table(directory, found, start)
        text = json.dumps(directory, ensure_ascii=False).encode()
        place = start + len(body), len(text), zlib.crc32(text)
        checked = TRAILER.pack(*place, 0, TRAILER_END)[:20]
        ending = TRAILER.pack(*place, zlib.crc32(checked, zlib.crc32(header)), TRAILER_END)
        old.seek(0)
        replace_whole(profile.path.resolve(), old, start, [body, text, ending], "profile")


def _pack_table(directory: dict[str, Any], found: Functions, start: int) -> bytes:
    """Return the bytes of the columns, which will begin at `start`, and describe them in the directory."""
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
    # The table from the recorder is empty.
    directory["tables"] = [table for table in directory["tables"] if table["name"] != "symbols"] + [entry]
    return b"".join(parts)
