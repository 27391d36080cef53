"""Damages profiles at random and reads them: damage_profiles.py COUNT SEED DIRECTORY.

Whatever the damage, reading ends soon, in little memory, with a profile or a `ProfileError`. Any other
result is printed, the damaged file stays in the directory, and the exit status is 1.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import FrameType
from typing import Any

from haloscope import ProfileError, UsageError, explain
from haloscope.predict.simulate import ProfileWork

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from support.command import run_command
from support.profiles import Draft, draft, path_rows, process_rows, seal

MEMORY = 256 << 20  # bytes beyond what reading the sound profile takes
SECONDS = 10  # of the processor, per file: a busy machine does not matter
VERBS = 0.004  # share of the files that a verb reads
_HEADER, _TRAILER = 16, 32
_NUMBERS = [0, 1, 2, 7, 8, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63]
_NUMBERS += [2**64 - 1, 2**64, 10**400, -1, -8, -(2**63)]
_VALUES: list[Any] = [
    None,
    True,
    False,
    "",
    "x",
    "integer",
    "real",
    "string",
    "\ud800",
    "\x00",
    0.5,
    1e300,
    [],
    {},
    [[]],
    [0, 0, 0, 0],
    {"rows": 1},
    *_NUMBERS,
]

Random = random.Random
Column = tuple[str, str]  # of a table
Damage = tuple[bytes, Column | None]  # the file, and which column is damaged if one is


def sound() -> Draft:
    """A profile with rows in every table, and no more than that."""
    ranks = [
        {"path": path, "rank": rank, "instances": 2, "time": 1.0, "sends": 3, "bytes_sent": 300}
        for path in range(3)
        for rank in range(2)
    ]
    return draft(
        paths=path_rows("solve", "solve/halo"),
        processes=process_rows("alpha", "beta"),
        ranks=ranks,
        calls=[{"path": path, "call": "MPI_Send", "calls": 3} for path in range(3)],
        sizes=[{"path": 1, "kind": "p2p", "bytes": 100, "bytes_upper": 100, "messages": 3}],
        partners=[{"path": 1, "rank": 0, "partner": partner, "sends": 3} for partner in (1, -1)],
        collectives=[{"path": 1, "operation": "Allreduce", "comm_size": 2, "bytes": 8, "calls": 3}],
        communicators=[{"name": "MPI_COMM_WORLD", "size": 2, "ranks": 2, "calls": 3}],
        unaccounted=[{"call": "MPI_Unknown", "calls": 1}],
        series=[
            {"path": path, "rank": rank, "instance": i, "start": float(i), "duration": 0.5}
            for path in (1, 2)
            for rank in range(2)
            for i in range(3)
        ],
        values=[{"path": 1, "rank": 0, "instance": 0, "name": "x", "value": 2.0}],
        slices=[
            {"rank": 0, "slice": number, "start": 1.0 * number, "duration": 1.0, "wait_time": 0.5}
            for number in range(3)
        ],
    )


class Sound:
    """An undamaged profile, split into its parts."""

    def __init__(self, encoding: int) -> None:
        written = sound()
        written.encoding, written.chunk_rows = encoding, 4
        self.content = written.bytes()
        start, length = struct.unpack("<QQ", self.content[-_TRAILER:-16])
        self.body, self.directory = self.content[:start], self.content[start : start + length]

    def parsed(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.directory)
        return parsed


def _flip(file: Sound, rng: Random) -> Damage:
    content = bytearray(file.content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content), None


def _flip_column(file: Sound, rng: Random) -> Damage:
    """Flip a bit of a column, whose table is read afterwards."""
    column, _, part = _pick_column(file.parsed(), rng)
    content = bytearray(file.content)
    content[part[0] + rng.randrange(part[1])] ^= 1 << rng.randrange(8)
    return bytes(content), column


def _truncate(file: Sound, rng: Random) -> Damage:
    return file.content[: rng.randrange(len(file.content))], None


def _extend(file: Sound, rng: Random) -> Damage:
    more = rng.randbytes(rng.randrange(1, 64)) if rng.random() < 0.5 else file.content[-_TRAILER:]
    return file.content + more, None


def _splice(file: Sound, rng: Random) -> Damage:
    """Copy a piece of the file to another offset, replacing or moving the bytes there."""
    content = file.content
    first, place = rng.randrange(len(content)), rng.randrange(len(content))
    piece = content[first : first + rng.choice((1, 8, 32, 500))]
    kept = place + (len(piece) if rng.random() < 0.5 else 0)
    return content[:place] + piece + content[kept:], None


def _trailer(file: Sound, rng: Random) -> Damage:
    """Write wrong offsets and lengths with a correct checksum."""
    fields = list(struct.unpack("<QQI", file.content[-_TRAILER:-12]))
    which = rng.randrange(3)
    fields[which] = rng.choice(_NUMBERS) % 2 ** (32 if which == 2 else 64)
    if rng.random() < 0.5:
        fields[1] = (len(file.content) - _TRAILER - fields[0]) % 2**64
    raw = struct.pack("<QQI", *fields)
    crc = zlib.crc32(file.content[:_HEADER] + raw)
    return file.content[:-_TRAILER] + raw + struct.pack("<I", crc) + file.content[-8:], None


def _text(file: Sound, rng: Random) -> Damage:
    """Change bytes of the directory."""
    directory = bytearray(file.directory)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(directory))
        if rng.random() < 0.5:
            directory[place] = rng.choice(b'0123456789-,:[]{}"e.\\\xff\x00n')
        else:
            first = rng.randrange(len(directory))
            directory[place:place] = directory[first : first + rng.choice((1, 4, 40))]
    return seal(file.body, bytes(directory)), None


def _shape(file: Sound, rng: Random) -> Damage:
    """Change values of the directory, at any depth."""
    directory = file.parsed()
    for _ in range(rng.choice((1, 1, 3))):
        holder: Any = directory
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = rng.choice(keys)
            inner = holder[key]
            if isinstance(inner, dict | list) and inner and rng.random() < 0.85:
                holder = inner
                continue
            action = rng.random()
            if action < 0.1:
                del holder[key]
            elif action < 0.2 and isinstance(holder, list):
                holder.insert(key, inner)
            else:
                holder[key] = deepcopy(rng.choice(_VALUES))
            break
    return seal(file.body, json.dumps(directory).encode()), None


def _lengths(file: Sound, rng: Random) -> Damage:
    """Change one number of a chunk, or its number of rows."""
    directory = file.parsed()
    column, chunk, part = _pick_column(directory, rng)
    if rng.random() < 0.4:
        chunk["rows"] = rng.choice(_NUMBERS)
        if rng.random() < 0.5:  # the largest size that this number of rows may have
            part[1] = rng.choice(_NUMBERS)
    else:
        part[rng.randrange(4)] = rng.choice(_NUMBERS)
    return seal(file.body, json.dumps(directory).encode()), column


def _column(file: Sound, rng: Random) -> Damage:
    """Change values of a column, or its packed stream, with a correct checksum."""
    directory = file.parsed()
    column, chunk, part = _pick_column(directory, rng)
    offset, size, _, encoding = part
    raw = file.body[offset : offset + size]
    if rng.random() < 0.6:
        values = [rng.choice(_NUMBERS) % 2**64 for _ in range(chunk["rows"])]
        packed = struct.pack(f"<{len(values)}Q", *values)
        if encoding == 1:
            packed = zlib.compress(b"".join(packed[byte::8] for byte in range(8)), 1)
    elif rng.random() < 0.5:
        packed = zlib.compress(bytes(rng.choice((0, 8, 1 << 20))), 9)
    else:
        damaged = bytearray(raw)
        damaged[rng.randrange(size)] ^= 1 << rng.randrange(8)
        packed = bytes(damaged) + rng.choice((b"", b"", b"x"))
    return _replaced(file, directory, part, packed), column


def _series(file: Sound, rng: Random) -> Damage:
    """Assign the instances of `series` to other rows, or change their number."""
    directory = file.parsed()
    (table,) = [table for table in directory["tables"] if table["name"] == "series"]
    place = rng.randrange(len(table["columns"]))
    chunk = rng.choice(table["chunks"])
    part = chunk["columns"][place]
    values = [rng.choice((0, 0, 1, 2, 3, 6, 12, 13, 2**62, 2**63 - 1, -1)) for _ in range(chunk["rows"])]
    packed = struct.pack(f"<{len(values)}q", *values)
    if part[3] == 1:
        packed = zlib.compress(b"".join(packed[byte::8] for byte in range(8)), 1)
    return _replaced(file, directory, part, packed), ("series", table["columns"][place][0])


def _replaced(file: Sound, directory: dict[str, Any], part: list[int], packed: bytes) -> bytes:
    """Replace the bytes of a chunk, and move all later bytes."""
    offset, size = part[:2]
    part[1:3] = [len(packed), zlib.crc32(packed)]
    for table in directory["tables"]:
        for chunk in table["chunks"]:
            for other in chunk["columns"]:
                if other[0] > offset:
                    other[0] += len(packed) - size
    body = file.body[:offset] + packed + file.body[offset + size :]
    return seal(body, json.dumps(directory).encode())


def _pick_column(directory: dict[str, Any], rng: Random) -> tuple[Column, dict[str, Any], list[int]]:
    """Choose a column, a chunk of its table, and the chunk's entry for the column."""
    table = rng.choice([table for table in directory["tables"] if table["chunks"]])
    chunk = rng.choice(table["chunks"])
    place = rng.randrange(len(chunk["columns"]))
    return (table["name"], table["columns"][place][0]), chunk, chunk["columns"][place]


# How often each damage is drawn. Damage that a checksum detects at once is rare.
DAMAGES: dict[Callable[[Sound, Random], Damage], int] = {
    _flip: 4,
    _flip_column: 2,
    _truncate: 3,
    _extend: 1,
    _splice: 2,
    _trailer: 2,
    _text: 4,
    _shape: 6,
    _lengths: 3,
    _column: 6,
    _series: 2,
}


def read(path: Path, damaged: Column | None, rng: Random) -> None:
    """Open a profile and read the damaged column; sometimes also the summary and all tables."""
    with explain.open(path) as profile:
        if damaged:
            profile.file.column(*damaged)
        depth = rng.random()
        if damaged and damaged[0] in ("series", "instances") and depth < 0.3:
            _read_instances(profile, rng)
        if depth < 0.03:
            profile.table(rng.choice(list(explain.TABLES)), exclusive=rng.random() < 0.5)
        elif depth < 0.032:
            profile.verify()
            explain.summary(profile)
    if depth > 1 - VERBS:
        _verb(path, rng)


def _verb(path: Path, rng: Random) -> None:
    """Run a verb that reads profiles: it succeeds, or prints one line."""
    words = rng.choice(
        (
            ["show", path, "--table", rng.choice(("info", "partners", "series", "slices"))],
            ["report", path, "-o", path.with_suffix(".html")],
            ["regimes", path, "--region", "halo", "--states", "1", "--format", "csv"],
            ["simulate", path, "--platform", "dragonfly"],
        )
    )
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        # SimGrid starts after the profile is read, and is not tested here.
        status = _pattern(path) if words[0] == "simulate" else run_command(*map(str, words))
    assert status in {0, 1, 2}, status
    assert status == 0 or said.getvalue().count("\n") == 1, said.getvalue()


def _pattern(path: Path) -> int:
    """Run the part of `simulate` before it starts SimGrid."""
    ProfileWork(path, None, "weak")
    return 0


def _read_instances(profile: explain.Profile, rng: Random) -> None:
    if rng.random() < 0.5:
        profile.table("series")
        return
    instances = profile.instances("halo")
    for matrix in (instances.start, instances.duration, instances.wait):
        assert matrix.shape == (len(instances.ranks), max(instances.counts))


class Late(BaseException):
    """The time for a file is over."""


def end_late(number: int, frame: FrameType | None) -> None:
    raise Late


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    bound = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (bound, resource.RLIM_INFINITY))


def _warm_up(files: list[Sound], path: Path) -> None:
    """Import modules, start threads and read the largest table: their memory does not count."""
    for file in files:
        path.write_bytes(file.content)
        with explain.open(path) as profile:
            profile.verify()
            for table in explain.TABLES:
                profile.table(table)
            explain.summary(profile)
        explain.report([path], path.with_suffix(".html"))


def fuzz(count: int, seed: int, directory: Path) -> Counter[str]:
    """Read `count` damaged files. Return how many were read and refused; raise any other error."""
    files, path = [Sound(0), Sound(1)], directory / "damaged.halo"
    _warm_up(files, path)
    limit_memory()
    signal.signal(signal.SIGPROF, end_late)
    outcomes: Counter[str] = Counter()
    damages, weights = list(DAMAGES), list(DAMAGES.values())
    for index in range(count):
        rng = Random(seed << 40 | index)
        damage = rng.choices(damages, weights)[0]
        content, damaged = damage(rng.choice(files), rng)
        path.write_bytes(content)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            read(path, damaged, rng)
            outcomes["read"] += 1
        except (ProfileError, UsageError):  # a region that has no instances any more
            outcomes["refused"] += 1
        except BaseException:
            print(f"file {index} of seed {seed}, damaged by {damage.__name__}: {path}")
            raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return outcomes


def main(damage: Callable[[int, int, Path], Counter[str]] = fuzz) -> int:
    """Run `damage` with the arguments of the command, and print its counts."""
    warnings.simplefilter("error")
    count, seed, directory = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    start = time.perf_counter()
    try:
        outcomes = damage(count, seed, directory)
    except BaseException:
        traceback.print_exc()
        return 1
    seconds = time.perf_counter() - start
    print(json.dumps({"files": count, "seconds": round(seconds, 1), **outcomes}))
    return int(outcomes["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
