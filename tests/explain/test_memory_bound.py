"""A small file costs little memory, whatever it says it holds: 1 MiB of file never costs 1 GiB."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from haloscope import explain
from haloscope.base.errors import ProfileError
from haloscope.explain._directory import most_memory
from haloscope.explain._framing import DamageError
from haloscope.explain.trace._structure import _Rules
from support.profiles import COLUMNS, draft, path_rows, process_rows, seal
from support.sample import halo_profile

_GIB = 1 << 30
_MIB = 1 << 20
# Everything that a command shows of a profile, one after the other, in a process of its own.
_READER = """\
import contextlib, io, resource, sys
from haloscope import explain
from haloscope.cli._main import _run
for words in sys.argv[2:]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _run([*words.split(), sys.argv[1]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def peak(path: Path, *verbs: str) -> int:
    """Return the most memory that a process has while it runs verbs on a file, in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", _READER, path, *verbs], capture_output=True, text=True, timeout=250, check=True
    )
    return int(done.stdout)


def forged(path: Path, table: str, rows: int, size: int = _MIB) -> Path:
    """Write a profile of `size` bytes that says its `table` has so many rows, all alike."""
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
    # The rest is noise that nobody asks for.
    noise = np.random.default_rng(7).bytes(max(size - len(body) - (32 << 10), 8) // 8 * 8)
    part = {"rows": len(noise) // 8, "columns": [[len(body), len(noise), zlib.crc32(noise), 0]]}
    directory["tables"].append({"name": "noise", "columns": [["x", "integer", ""]], "chunks": [part]})
    path.write_bytes(seal(bytes(body) + noise, json.dumps(directory).encode()))
    assert path.stat().st_size <= size
    return path


def most_rows(table: str) -> int:
    """The largest table that a file of 1 MiB may have."""
    return (most_memory(_MIB - (48 << 10)) - (2 << 20)) // (8 * sum(map(len, COLUMNS[table])))


@pytest.mark.parametrize("table", ["calls", "ranks"])
def test_more_than_a_run_can_have_is_refused_at_once(tmp_path: Path, table: str) -> None:
    path = forged(tmp_path / "large.halo", table, most_rows(table) * 5 // 4)
    with pytest.raises(ProfileError, match="the profile is damaged: its tables would take") as caught:
        explain.open(path)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "verbs"),
    [
        ("ranks", ["show", "findings"]),
        ("calls", ["show --table calls"]),
        ("partners", ["show --table partners"]),
    ],
)
def test_a_mebibyte_of_file_never_costs_a_gibibyte(tmp_path: Path, table: str, verbs: list[str]) -> None:
    path = forged(tmp_path / "large.halo", table, most_rows(table))
    with explain.open(path) as opened:
        assert opened.file.rows(table) == most_rows(table)
    assert peak(path, *verbs) < _GIB


@pytest.mark.parametrize(
    ("events", "counts", "words"),
    [(1 << 40, 0, "too many events"), (1, 1 << 40, "times of its trace are too many")],
)
def test_a_trace_stands_for_no_more_events_than_fit(
    tmp_path: Path, events: int, counts: int, words: str
) -> None:
    """Rules and columns without bytes would stand for any number."""
    sequence = {"rank": 0, "thread": 0, "segment": 0, "structure": 1, "events": events, "order": 0}
    piece = {"rank": 0, "thread": 0, "gaps": counts, "durations": 0, "bytes": 12}
    written = draft({"trace": "full"}, processes=process_rows("alpha"))
    written.tables["trace_sequences"] = {name: [value] for name, value in sequence.items()}
    written.tables["trace_pieces"] = {name: [value] for name, value in piece.items()}
    written.tables["trace_words"] = {"packed": [0, 0]}
    integers, reals, _ = COLUMNS["trace_clocks"]
    written.tables["trace_clocks"] = {name: [0] for name in integers} | {name: [1.0] for name in reals}
    path = written.write(tmp_path / "trace.halo")
    with explain.open(path) as opened, pytest.raises(ProfileError, match=words):
        opened.trace()


def test_rules_that_stand_for_each_other_are_bounded() -> None:
    """Each of a thousand rules is the one before it, of a hundred thousand events."""
    events = 100_000
    first = [1, 0, events]
    stream = np.array(
        [1000, *first, *(word for rule in range(999) for word in (1, 2 * rule + 1, 1)), 1, 1, 1]
    )
    with pytest.raises(DamageError, match="too many events"):
        _Rules(1, events).read(stream)


def test_runs_of_any_size_are_far_from_the_bound(tmp_path: Path) -> None:
    """Of 4096 ranks, whose times alone differ."""
    path = halo_profile((16, 16, 16), regions=2).write(tmp_path / "large.halo")
    with explain.open(path) as opened:
        unpacked = sum(opened.file.rows(name) * 8 * len(table) for name, table in opened.file.tables.items())
        opened.verify()
    assert unpacked < most_memory(path.stat().st_size) / 2
