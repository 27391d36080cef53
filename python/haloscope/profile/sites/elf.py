"""Reads an ELF file: its load address, its build, and its debug information."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_PT_LOAD, _NOBITS, _NT_GNU_BUILD_ID = 1, 8, 3
_COMPRESSED, _BY_ZLIB = 0x800, 1
_MOST_UNCOMPRESSED = 1 << 30
_LINES = {".debug_info", ".zdebug_info"}
# Files from compilers have fewer sections, and shorter names and notes.
_MOST_HEADERS = 1 << 16
_MOST_BYTES = 1 << 22


@dataclass(frozen=True)
class Elf:
    """`base`: address of its first byte; `debug_link`: a file with its debug information, and its CRC-32."""

    base: int
    build: str
    has_lines: bool
    debug_link: tuple[str, int] | None


def read_elf(path: Path) -> Elf | None:
    """Return the file's description, or None if it is not a 64-bit ELF file.

    The file is untrusted: each number is compared with the file's size before it is used.
    """
    try:
        # A pipe would block an ordinary open forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return _Reader(file).elf()
    except (OSError, ValueError, struct.error):
        return None


def read_sections(path: Path, names: Collection[str]) -> tuple[dict[str, bytes], str]:
    """Return sections of an ELF file, uncompressed, and its byte order as in `struct`.

    Missing ones, and those that cannot be uncompressed, are left out.
    """
    try:
        with path.open("rb") as file:
            reader = _Reader(file)
            return reader.contents(names), reader.order
    except (OSError, ValueError, struct.error, zlib.error):
        return {}, "<"


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int


class _Reader:
    def __init__(self, file: BinaryIO) -> None:
        head = file.read(64)
        if head[:5] != b"\x7fELF\x02":
            raise ValueError
        self._file = file
        self.order = self._order = "<" if head[5] == 1 else ">"
        fields = struct.unpack(f"{self._order}QQQIHHHHHH", head[24:])
        _, self._segments_at, self._sections_at, _, _, _, self._segments, _, self._sections, self._names = (
            fields
        )

    def elf(self) -> Elf:
        sections = list(self._iterate_sections())
        link = next((s for s in sections if s.name == ".gnu_debuglink"), None)
        return Elf(
            base=self._base(),
            build=next(filter(None, map(self._build, sections)), ""),
            has_lines=any(s.name in _LINES and s.kind != _NOBITS for s in sections),
            debug_link=None if link is None else self._debug_link(link),
        )

    def contents(self, names: Collection[str]) -> dict[str, bytes]:
        """Return the sections with these names, also those that old compilers call `.zdebug_…`."""
        found = {}
        for section in self._iterate_sections():
            name = section.name.replace(".zdebug_", ".debug_", 1)
            if name not in names or section.kind == _NOBITS:
                continue
            self._file.seek(section.offset)
            raw = self._file.read(section.size)
            if section.name != name and raw.startswith(b"ZLIB"):
                raw = _uncompress(raw[12:])
            elif section.flags & _COMPRESSED:
                (kind,) = struct.unpack_from(f"{self._order}I", raw)
                raw = _uncompress(raw[24:]) if kind == _BY_ZLIB else b""
            if raw:
                found[name] = raw
        return found

    def _bytes(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(min(size, _MOST_BYTES))

    def _base(self) -> int:
        """Return the address of the first loaded segment; others are above it."""
        for row in struct.iter_unpack(
            f"{self._order}IIQQQQQQ", self._read_rows(self._segments_at, self._segments, 56)
        ):
            if row[0] == _PT_LOAD:
                return int(row[3])
        return 0

    def _read_rows(self, offset: int, count: int, size: int) -> bytes:
        raw = self._bytes(offset, count * size)
        return raw[: len(raw) // size * size]

    def _iterate_sections(self) -> Iterator[_Section]:
        raw = self._read_rows(self._sections_at, min(self._sections, _MOST_HEADERS), 64)
        rows = list(struct.iter_unpack(f"{self._order}IIQQQQIIQQ", raw))
        names = self._bytes(*rows[self._names][4:6]) if self._names < len(rows) else b""
        for row in rows:
            name = names[row[0] : row[0] + 256].split(b"\0", 1)[0]
            yield _Section(name.decode("latin-1"), row[1], row[2], row[4], row[5])

    def _build(self, section: _Section) -> str:
        if section.name != ".note.gnu.build-id" or section.kind == _NOBITS:
            return ""
        raw = self._bytes(section.offset, min(section.size, 256))
        name, size, kind = struct.unpack(f"{self._order}III", raw[:12])
        return raw[16 : 16 + size].hex() if (name, kind) == (4, _NT_GNU_BUILD_ID) else ""

    def _debug_link(self, section: _Section) -> tuple[str, int] | None:
        raw = self._bytes(section.offset, min(section.size, 4096))
        name = raw.split(b"\0", 1)[0]
        # It must be the name of a file in the same directory, not a path.
        if not name or b"/" in name or len(raw) < len(name) + 5:
            return None
        (crc,) = struct.unpack(f"{self._order}I", raw[-4:])
        return os.fsdecode(name), crc


def _uncompress(raw: bytes) -> bytes:
    return zlib.decompressobj().decompress(raw, _MOST_UNCOMPRESSED)
