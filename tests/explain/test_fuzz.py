"""Reading damaged profiles at random: an error message or a profile, soon and in little memory.

`HALOSCOPE_FUZZ=1000000 pytest tests/explain/test_fuzz.py --timeout 0` reads a million.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.fuzz import DAMAGES
from support.mpi import CHECKOUT

pytestmark = pytest.mark.slow
FILES = int(os.environ.get("HALOSCOPE_FUZZ", "20000"))
PROCESSES = 2


def start(arguments: Sequence[str]) -> subprocess.Popen[str]:
    """A process of its own, whose memory can be limited."""
    # Threads reserve memory that they do not use.
    quiet = {"POLARS_MAX_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    environment = {**os.environ, **quiet, "PYTHONPATH": str(CHECKOUT / "tests")}
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_damaged_profiles_are_refused_or_read(tmp_path: Path) -> None:
    share = FILES // PROCESSES
    running = []
    for seed in range(PROCESSES):
        directory = tmp_path / str(seed)
        directory.mkdir()
        running.append(start(["-m", "support.fuzz", str(share), str(seed), str(directory)]))
    for process in running:
        output, _ = process.communicate()
        assert process.returncode == 0, output
        outcome = json.loads(output.splitlines()[-1])
        assert outcome["files"] == outcome["read"] + outcome["refused"] == share
        assert min(outcome["read"], outcome["refused"]) > share / 20


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        ("path.read_bytes()[:0].index(b'x')", "ValueError"),
        ("bytearray(1 << 30)", "MemoryError"),
        ("__import__('numpy').zeros(1 << 40)", "MemoryError"),
        ("__import__('warnings').warn('x')", "UserWarning"),
        ("__import__('time').sleep(60)", "support.fuzz.Late"),
    ],
)
def test_anything_else_is_noticed(tmp_path: Path, reader: str, words: str) -> None:
    program = (
        "import sys; from support import fuzz; fuzz.SECONDS = 1;"
        f" fuzz.read = lambda path, *others: {reader}; sys.exit(fuzz.main())"
    )
    process = start(["-c", program, "100", "0", str(tmp_path)])
    output, _ = process.communicate()
    assert process.returncode == 1, output
    assert words in output
    assert any(f"file 0 of seed 0, damaged by {damage.__name__}: /" in output for damage in DAMAGES)
