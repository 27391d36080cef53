"""Damaged files of all formats: reading ends with an error message or a value, soon and in little memory.

A fixed set in each run, random ones in long runs. `HALOSCOPE_FUZZ=1000000 make test-long` reads a million.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")
DAMAGE, OTHERS = PROGRAMS / "damage_profiles.py", PROGRAMS / "damage_texts.py"
FEW, MANY = {DAMAGE: 300, OTHERS: 100}, int(os.environ.get("HALOSCOPE_FUZZ", "5000"))


def run(arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run Python in a separate process, whose memory can be limited."""
    # Threads would reserve memory that they do not use.
    quiet = {"POLARS_MAX_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **quiet},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "is_random",
    [False, pytest.param(True, marks=[pytest.mark.long, pytest.mark.timeout(0)])],  # a million take hours
    ids=["set", "random"],
)
@pytest.mark.parametrize("program", [DAMAGE, OTHERS], ids=["profiles", "others"])
def test_damaged_files_are_refused_or_read(tmp_path: Path, is_random: bool, program: Path) -> None:
    count, seed = (MANY, random.randrange(1 << 32)) if is_random else (FEW[program], 0)
    done = run([program, str(count), str(seed), tmp_path])
    assert done.returncode == 0, done.stdout
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["files"] == outcome["read"] + outcome["refused"] == count
    assert min(outcome["read"], outcome["refused"]) > count / 20


READERS = {
    "path.read_bytes()[:0].index(b'x')": "ValueError",
    "bytearray(1 << 30)": "MemoryError",
    "__import__('warnings').warn('x')": "UserWarning",
    "any(x for x in iter(int, 1))": "damage_profiles.Late",  # has no end
}
_EACH = """
import sys
sys.path.insert(0, sys.argv[4])
import damage_profiles as fuzz
fuzz.SECONDS = 0.5
for reader in sys.argv[5:]:
    fuzz.read = eval(f"lambda path, *others: {reader}")
    print("STATUS", fuzz.main(), flush=True)
"""


def test_anything_else_is_noticed(tmp_path: Path) -> None:
    done = run(["-c", _EACH, "100", "0", tmp_path, DAMAGE.parent, *READERS])
    assert done.returncode == 0, done.stdout
    ends = done.stdout.split("STATUS ")
    assert len(ends) == len(READERS) + 1
    for printed, following, words in zip(ends[:-1], ends[1:], READERS.values(), strict=True):
        assert following.startswith("1\n")
        assert words in printed
        assert re.search(r"^file 0 of seed 0, damaged by _\w+: /", printed, re.MULTILINE)
