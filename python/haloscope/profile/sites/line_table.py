"""The line table of an executable: DWARF 5, section 6.2, and its versions 2 to 4.

It is in the executable even where the other debug information is in separate files (-gsplit-dwarf).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

SECTIONS = (".debug_line", ".debug_line_str", ".debug_str")
# An executable has it if the rest is in separate files.
OF_SPLIT = ".debug_addr"
# Content types and forms of the file names of version 5.
_PATH, _DIRECTORY = 1, 2
_FIXED = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
_STRING, _STRP, _LINE_STRP, _UDATA, _BLOCK = 0x08, 0x0E, 0x1F, 0x0F, 0x09
# Instructions of the programs: extended ones, and standard ones.
_END, _SET_ADDRESS = 1, 2
_COPY, _ADVANCE, _ADVANCE_LINE, _SET_FILE, _CONST_ADVANCE, _FIXED_ADVANCE = 1, 2, 3, 4, 8, 9
_MOST_NAMES = 1 << 20

# An address, and file and line from there on; no file where code ends.
Row = tuple[int, str | None, int]


class _Bytes:
    """A position in bytes. Reading beyond the end raises `IndexError` or `struct.error`."""

    def __init__(self, data: bytes, order: str, at: int = 0) -> None:
        self.data, self.order, self.at = data, order, at

    def number(self, size: int) -> int:
        self.at += size
        if size == 16:
            return 0
        (value,) = struct.unpack_from(
            self.order + {1: "B", 2: "H", 4: "I", 8: "Q"}[size], self.data, self.at - size
        )
        return int(value)

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 70:
                return value

    def signed(self) -> int:
        begin = self.at
        value = self.unsigned()
        bits = 7 * (self.at - begin)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        found = self.data[self.at : end]
        self.at = end + 1
        return found.decode("utf-8", "replace")


@dataclass
class LineTable:
    """Rows of all units, sorted by address: the address, and file and line from there on; None ends code."""

    rows: list[Row] = field(default_factory=list)

    def look_up(self, address: int) -> tuple[str, int] | None:
        """Return file and line of the instruction at an address, None if unknown."""
        place = bisect_right(self.rows, address, key=lambda row: row[0]) - 1
        if place < 0:
            return None
        _, file, line = self.rows[place]
        return None if file is None or not line else (file, line)


def read_line_table(sections: Mapping[str, bytes], order: str) -> LineTable:
    """Return the line table of the sections `SECTIONS` of a file; what is damaged in them is left out."""
    data = sections.get(".debug_line", b"")
    rows: list[Row] = []
    at = 0
    while at + 4 < len(data):
        head = _Bytes(data, order, at)
        try:
            length, wide = head.number(4), 4
            if length == 0xFFFF_FFFF:
                length, wide = head.number(8), 8
            at = head.at + length
            unit = _Unit(_Bytes(data[head.at : at], order), wide, sections)
            rows += unit.rows()
        except (IndexError, ValueError, KeyError, struct.error):
            continue
    # At one address the end of a sequence comes before the begin of the next.
    rows.sort(key=lambda row: (row[0], row[1] is not None))
    return LineTable(rows)


class _Unit:
    """The header and the program of one unit."""

    def __init__(self, at: _Bytes, wide: int, sections: Mapping[str, bytes]) -> None:
        self._at, self._wide, self._sections = at, wide, sections
        version = at.number(2)
        if not 2 <= version <= 5:
            raise ValueError
        if version == 5:
            at.at += 2  # sizes of addresses and of segments
        begin = at.number(wide)
        begin += at.at
        self._step = at.number(1)
        if version >= 4:
            at.at += 1  # operations per instruction
        at.at += 1
        base = at.number(1)
        self._line_base = base - 256 if base > 127 else base
        self._line_range, self._opcode_base = at.number(1), at.number(1)
        if not self._line_range:
            raise ValueError
        self._arguments = [at.number(1) for _ in range(self._opcode_base - 1)]
        self._files = self._read_names_5() if version == 5 else self._read_names()
        at.at = begin

    def _read_names(self) -> list[str]:
        at = self._at
        directories = [""]
        while name := at.text():
            directories.append(name)
        files = [""]  # they are numbered from 1
        while name := at.text():
            directory = at.unsigned()
            at.unsigned(), at.unsigned()
            files.append(_join(directories[directory], name))
        return files

    def _read_names_5(self) -> list[str]:
        directories = [name for name, _ in self._read_entries()]
        for place, name in enumerate(directories[1:], 1):
            directories[place] = _join(directories[0], name)
        return [_join(directories[number], name) for name, number in self._read_entries()]

    def _read_entries(self) -> Iterator[tuple[str, int]]:
        at = self._at
        forms = [(at.unsigned(), at.unsigned()) for _ in range(at.number(1))]
        for _ in range(min(at.unsigned(), _MOST_NAMES)):
            values = {content: self._read_form(form) for content, form in forms}
            yield str(values.get(_PATH, "")), int(values.get(_DIRECTORY, 0))

    def _read_form(self, form: int) -> str | int:
        at = self._at
        if form == _STRING:
            return at.text()
        if form in (_STRP, _LINE_STRP):
            section = ".debug_line_str" if form == _LINE_STRP else ".debug_str"
            return _Bytes(self._sections.get(section, b""), at.order, at.number(self._wide)).text()
        if form == _UDATA:
            return at.unsigned()
        if form == _BLOCK:
            at.at += at.unsigned()
            return 0
        return at.number(_FIXED[form])

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the unit's program."""
        at = self._at
        self._restart()
        while at.at < len(at.data):
            opcode = at.number(1)
            if opcode >= self._opcode_base:
                steps, more = divmod(opcode - self._opcode_base, self._line_range)
                self._address += steps * self._step
                self._line += self._line_base + more
                yield self._address, self._files[self._file], self._line
            elif opcode == _COPY:
                yield self._address, self._files[self._file], self._line
            elif opcode == 0:
                if self._extended() == _END:
                    yield self._address, None, 0
                    self._restart()
            else:
                self._standard(opcode)

    def _restart(self) -> None:
        self._address, self._file, self._line = 0, 1, 1

    def _extended(self) -> int:
        at = self._at
        size = at.unsigned()
        after = at.at + size
        kind = at.number(1)
        if kind == _SET_ADDRESS:
            self._address = at.number(size - 1)
        at.at = after
        return kind

    def _standard(self, opcode: int) -> None:
        at = self._at
        if opcode == _ADVANCE_LINE:
            self._line += at.signed()
        elif opcode == _FIXED_ADVANCE:
            self._address += at.number(2)
        elif opcode == _CONST_ADVANCE:
            self._address += (255 - self._opcode_base) // self._line_range * self._step
        else:
            values = [at.unsigned() for _ in range(self._arguments[opcode - 1])]
            if opcode == _ADVANCE:
                self._address += values[0] * self._step
            elif opcode == _SET_FILE:
                self._file = values[0]


def _join(directory: str, name: str) -> str:
    return name if name.startswith("/") or not directory else f"{directory}/{name}"
