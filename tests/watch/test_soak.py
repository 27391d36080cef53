"""A small part of the soak in benchmarks/watch: programs that end in the middle of their work."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.processes import run_program
from support.programs import Compiler

SOAK = CHECKOUT / "benchmarks" / "watch" / "survival.py"


# Endurance. Seven runs end in each way once.
@pytest.mark.long
@pytest.mark.parametrize(
    ("mpi", "counts"), [("mpich-system", (70, 0, 7)), ("openmpi-system", (0, 14, 0))], indirect=["mpi"]
)
def test_no_end_is_changed_and_nothing_is_left(
    mpi: Mpi, compiler: Compiler, tmp_path: Path, counts: tuple[int, int, int]
) -> None:
    runs, launched, under = (str(count) for count in counts)
    words = [sys.executable, str(SOAK), "--runs", runs, "--launched", launched, "--under-run", under]
    done = run_program([*words, "--references", "2"], env=tools(mpi) | {"TMPDIR": str(tmp_path)}, status=None)
    parts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [part["differing"] + part["processes_left"] for part in parts] == [[]] * len(parts)
    assert done.returncode == 0, done.stderr
    assert sum(part["runs"] for part in parts) >= int(runs) + int(launched)
    assert all(part["profiles"] > 0 for part in parts)
