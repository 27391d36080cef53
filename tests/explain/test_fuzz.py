"""Damaged profiles: reading ends with an error message or a profile, soon and in little memory.

A fixed set in each run, random ones in long runs. `HALOSCOPE_FUZZ=1000000 make test-long` reads a million.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

DAMAGE = Path(__file__).with_name("programs") / "damage_profiles.py"
FEW, MANY = 300, int(os.environ.get("HALOSCOPE_FUZZ", "20000"))


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
    "is_random", [False, pytest.param(True, marks=pytest.mark.long)], ids=["set", "random"]
)
def test_damaged_profiles_are_refused_or_read(tmp_path: Path, is_random: bool) -> None:
    count, seed = (MANY, random.randrange(1 << 32)) if is_random else (FEW, 0)
    done = run([DAMAGE, str(count), str(seed), tmp_path])
    assert done.returncode == 0, done.stdout
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["files"] == outcome["read"] + outcome["refused"] == count
    assert min(outcome["read"], outcome["refused"]) > count / 20
