"""The native kernels under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.missing import missing
from support.sanitizers import build_kernels, report_options, reports

PROGRAMS = [Path(__file__).with_name("programs") / name for name in ("odd_shapes.py", "odd_traces.py")]


@pytest.mark.slow
@pytest.mark.timeout(1200)  # the build takes minutes where other work is going on
def test_nothing_is_reported(tmp_path: Path) -> None:
    try:
        library, runtime = build_kernels("address,undefined")
    except LookupError as error:
        missing(str(error))
    for program in PROGRAMS:
        done = subprocess.run(
            [sys.executable, program, library],
            env={**os.environ, **report_options(tmp_path, ()), "LD_PRELOAD": str(runtime)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert reports(tmp_path) == []
        assert (done.returncode, done.stderr) == (0, "")
