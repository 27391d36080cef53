"""What the tests of the injector share."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.injected import PROGRAMS, Inject, Injected
from support.mpi import Mpi
from support.programs import Compiler


@pytest.fixture
def inject(haloscope: Path, compiler: Compiler, tmp_path: Path) -> Inject:
    """`inject(mpi, ranks, program, *arguments, options=[…])` runs one of tests/hide/programs."""

    def run(
        mpi: Mpi,
        ranks: int,
        program: str,
        *arguments: str,
        options: Sequence[str] = (),
        around: Sequence[str | Path] = (),
    ) -> Injected:
        flags = ["-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"]
        executable = compiler(mpi, PROGRAMS / program, flags)
        record = tmp_path / "injected.csv"
        words = [haloscope, "inject", "-o", record, *options, "--", *around, *mpi.launch(ranks)]
        done = subprocess.run(
            [*map(str, words), str(executable), *arguments],
            env=mpi.environment(), cwd=tmp_path, timeout=200, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return Injected(done, record)

    return run
