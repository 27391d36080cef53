"""A small file needs little memory, whatever sizes it states: 1 MiB never needs 1 GiB."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from haloscope import ProfileError, explain
from support.command import Command
from support.profiles import COLUMNS, columns_of, draft, path_rows, process_rows, seal
from support.sample import halo_profile
from support.traced_drafts import CALL, symbol, traced_draft, words_of

_GIB = 1 << 30
_MIB = 1 << 20


def most_memory(size: int) -> int:
    """Return how many bytes the tables of a file of this size may have (docs/format.md)."""
    return 64 * _MIB + 128 * size


def peak(command: Path, *words: str | Path) -> int:
    """Return the peak memory of a command in bytes."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen([command, *words], stdout=nowhere, stderr=nowhere)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in {0, 1}
    return usage.ru_maxrss * 1024


def forged(path: Path, table: str, rows: int, size: int = _MIB) -> Path:
    """Write a profile of `size` bytes whose `table` has this number of equal rows."""
    written = draft(paths=path_rows("halo"), processes=process_rows("alpha"))
    integers, reals, strings = COLUMNS[table]
    del written.tables[table]
    content = written.bytes()
    start = struct.unpack("<Q", content[-32:-24])[0]
    body, directory = bytearray(content[:start]), json.loads(content[start:-32])
    packed = zlib.compress(bytes(rows * 8), 9)
    kinds = {
        **dict.fromkeys(integers, "integer"),
        **dict.fromkeys(reals, "real"),
        **dict.fromkeys(strings, "string"),
    }
    columns = []
    for _ in kinds:
        columns.append([len(body), len(packed), zlib.crc32(packed), 1])
        body += packed
    heads = [[name, kind, ""] for name, kind in kinds.items()]
    directory["tables"].append(
        {"name": table, "columns": heads, "chunks": [{"rows": rows, "columns": columns}]}
    )
    # The rest of the file is noise that is never read.
    noise = np.random.default_rng(7).bytes(max(size - len(body) - (32 << 10), 8) // 8 * 8)
    part = {"rows": len(noise) // 8, "columns": [[len(body), len(noise), zlib.crc32(noise), 0]]}
    directory["tables"].append({"name": "noise", "columns": [["x", "integer", ""]], "chunks": [part]})
    path.write_bytes(seal(bytes(body) + noise, json.dumps(directory).encode()))
    assert path.stat().st_size <= size
    return path


def most_rows(table: str) -> int:
    """Return the number of rows of the largest table that a file of 1 MiB may have."""
    return (most_memory(_MIB - (48 << 10)) - (2 << 20)) // (8 * sum(map(len, COLUMNS[table])))


@pytest.mark.parametrize("table", ["calls", "ranks"])
def test_more_than_a_run_can_have_is_refused_at_once(tmp_path: Path, table: str) -> None:
    path = forged(tmp_path / "large.halo", table, most_rows(table) * 5 // 4)
    with pytest.raises(ProfileError, match="the profile is damaged: its tables would take") as caught:
        explain.open(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("ranks", ["findings"]),
        pytest.param("ranks", ["show"], marks=pytest.mark.long),
        pytest.param("calls", ["show", "--table", "calls"], marks=pytest.mark.long),
        pytest.param("partners", ["show", "--table", "partners"], marks=pytest.mark.long),
    ],
)
def test_a_mebibyte_of_file_never_costs_a_gibibyte(
    haloscope: Path, tmp_path: Path, table: str, words: list[str]
) -> None:
    path = forged(tmp_path / "large.halo", table, most_rows(table))
    with explain.open(path) as opened:
        assert opened.file.rows(table) == most_rows(table)
    assert peak(haloscope, *words, path) < _GIB


@pytest.mark.parametrize(
    ("events", "counts", "words"),
    [(1 << 40, 0, "its trace has too many events"), (1, 1 << 40, "times of its trace are too many")],
)
def test_a_trace_has_a_bounded_number_of_events(
    command: Command, tmp_path: Path, events: int, counts: int, words: str
) -> None:
    """Without a bound, rules and columns without bytes could describe any number of events."""
    sequence = {"rank": 0, "thread": 0, "segment": 0, "structure": 1, "events": events, "order": 0}
    piece = {"rank": 0, "thread": 0, "gaps": counts, "durations": 0, "bytes": 12}
    written = draft({"trace": "full"}, paths=path_rows("halo"), processes=process_rows("alpha"))
    written.tables["trace_sequences"] = {name: [value] for name, value in sequence.items()}
    written.tables["trace_pieces"] = {name: [value] for name, value in piece.items()}
    written.tables["trace_words"] = {"packed": [0, 0]}
    integers, reals, _ = COLUMNS["trace_clocks"]
    written.tables["trace_clocks"] = {name: [0] for name in integers} | {name: [1.0] for name in reals}
    path = written.write(tmp_path / "trace.halo")
    with explain.open(path) as opened, pytest.raises(ProfileError, match=f"trace.halo: {words} for a file"):
        opened.trace()
    done = command("report", path, "-o", tmp_path / "page.html")
    assert done.stderr.startswith(f"haloscope: trace.halo: the trace is left out: {words} for a file")
    assert done.stderr.count("\n") == 1


def test_rules_that_refer_to_each_other_are_bounded(tmp_path: Path) -> None:
    """Each of 1000 rules refers to the previous one; the first has 100 000 events."""
    events, times = 100_000, np.array([[0, 10]])
    first = [1, 0, events]
    stream = [1000, *first, *(word for rule in range(999) for word in (1, 2 * rule + 1, 1)), 1, 1, 1]
    packed = words_of(b"".join(number(value) for value in stream))
    made = traced_draft([symbol(0, CALL, call="MPI_Wtime")], [times])
    rules = [{"structure": 1, "position": at, "packed": word, "ranks": 1} for at, word in enumerate(packed)]
    made.tables["trace_rules"] = columns_of("trace_rules", rules)
    made.tables["trace_sequences"] = {**made.tables["trace_sequences"], "events": [events]}
    path = made.write(tmp_path / "rules.halo")
    with explain.open(path) as opened, pytest.raises(ProfileError, match="rules of its trace"):
        opened.trace()


def number(value: int) -> bytes:
    """Return a number as bytes of seven bits each, the lowest first."""
    low, high = value & 127, value >> 7
    return bytes([low]) if not high else bytes([low | 128]) + number(high)


def test_runs_of_any_size_are_far_from_the_bound(tmp_path: Path) -> None:
    """4096 ranks, which differ only in times."""
    path = halo_profile((16, 16, 16), regions=2).write(tmp_path / "large.halo")
    with explain.open(path) as opened:
        unpacked = sum(opened.file.rows(name) * 8 * len(table) for name, table in opened.file.tables.items())
        opened.verify()
    assert unpacked < most_memory(path.stat().st_size) / 2
