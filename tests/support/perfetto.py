"""Reads Perfetto's packets, slowly: wire format, then names and times as each sequence says them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Fields = dict[int, list[Any]]


def fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field; a message or a text is bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = raw[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(raw):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 1:
            at += 8
            yield tag >> 3, int.from_bytes(raw[at - 8 : at], "little")
        else:
            assert tag & 7 == 2
            length = varint()
            assert at + length <= len(raw)
            at += length
            yield tag >> 3, raw[at - length : at]


def grouped(raw: bytes) -> Fields:
    """Return the values of each field."""
    found: Fields = defaultdict(list)
    for number, value in fields(raw):
        found[number].append(value)
    return found


@dataclass
class Slice:
    """A begin with its end: times in nanoseconds, annotations by name, flows that go out and come in."""

    name: str
    category: str
    begin: int
    depth: int
    said: dict[str, int]
    out: list[int]
    end: int = -1
    into: list[int] = field(default_factory=list)


@dataclass
class Track:
    """A thread: its process's number and name, its own, and its slices by their begin."""

    pid: int = 0
    process: str = ""
    tid: int = 0
    thread: str = ""
    slices: list[Slice] = field(default_factory=list)


@dataclass
class _Sequence:
    track: int = 0
    clock: int = 0
    names: dict[int, dict[int, str]] = field(default_factory=lambda: {1: {}, 2: {}, 3: {}})
    opened: list[Slice] = field(default_factory=list)


def read_perfetto(path: Path) -> list[Track]:
    """Return the threads of a trace, as they are described."""
    tracks: dict[int, Track] = {}
    processes: dict[int, Track] = {}
    sequences: dict[int, _Sequence] = defaultdict(_Sequence)
    for number, raw in fields(path.read_bytes()):
        assert number == 1
        assert isinstance(raw, bytes)
        packet = grouped(raw)
        sequence = sequences[packet[10][0]]
        for descriptor in packet[60]:
            _describe(grouped(descriptor), tracks, processes)
        if 59 in packet:
            defaults = grouped(packet[59][0])
            assert defaults[58] == [64]
            sequence.track = grouped(defaults[11][0])[11][0]
        for interned in packet[12]:
            for kind, entries in grouped(interned).items():
                for told in map(grouped, entries):
                    sequence.names[kind][told[1][0]] = told[2][0].decode()
        if 11 in packet:
            sequence.clock += packet[8][0]
            _apply(grouped(packet[11][0]), sequence, tracks[sequence.track])
    assert all(not sequence.opened for sequence in sequences.values())
    return [track for _, track in sorted(tracks.items())]


def _describe(told: Fields, tracks: dict[int, Track], processes: dict[int, Track]) -> None:
    number = told[1][0]
    if 3 in told:
        process = grouped(told[3][0])
        processes[number] = Track(process[1][0], process[6][0].decode())
    else:
        thread, above = grouped(told[4][0]), processes[told[5][0]]
        assert thread[1][0] == above.pid
        tracks[number] = Track(above.pid, above.process, thread[2][0], thread[5][0].decode())


def _apply(event: Fields, sequence: _Sequence, track: Track) -> None:
    if event[9] == [2]:
        ended = sequence.opened.pop()
        ended.end, ended.into = sequence.clock, event[48]
        return
    assert event[9] == [1]
    categories, names, words = (sequence.names[kind] for kind in (1, 2, 3))
    said = {}
    for annotation in event[4]:
        told = grouped(annotation)
        value = told[4][0]
        said[words[told[1][0]]] = value - (1 << 64) if value >> 63 else value
    depth = len(sequence.opened)
    made = Slice(names[event[10][0]], categories[event[3][0]], sequence.clock, depth, said, event[47])
    sequence.opened.append(made)
    track.slices.append(made)
