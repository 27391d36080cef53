"""The native kernels under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.missing import missing
from support.processes import run_program
from support.sanitizers import build_kernels, report_options, reports

PROGRAMS = [Path(__file__).with_name("programs") / name for name in ("odd_shapes.py", "odd_traces.py")]


@pytest.mark.parametrize(
    "effort", ["some", pytest.param("all", marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
)
def test_nothing_is_reported(tmp_path: Path, effort: str) -> None:
    try:
        # To look for undefined behaviour, too, doubles the time of the build.
        sanitizers = "address" if effort == "some" else "address,undefined"
        library, runtime = build_kernels(sanitizers, baseline_only=effort == "some")
    except LookupError as error:
        missing(str(error))
    for program in PROGRAMS:
        done = run_program(
            [sys.executable, program, library, effort],
            env={**os.environ, **report_options(tmp_path, ()), "LD_PRELOAD": str(runtime)},
            status=None,
        )
        assert reports(tmp_path) == []
        assert (done.returncode, done.stderr) == (0, "")
