"""The native kernels: their build at first use, and runs under AddressSanitizer and UBSan."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from support.missing import missing
from support.mpi import CHECKOUT
from support.processes import run_program
from support.sanitizers import build_kernels, report_options, reports

USE = "from haloscope.explain import native_library; print(native_library()._name)"
PROGRAMS = [Path(__file__).with_name("programs") / name for name in ("odd_shapes.py", "odd_traces.py")]


@pytest.mark.parametrize("effort", ["some", pytest.param("all", marks=pytest.mark.long)])
def test_sanitizers_report_nothing(tmp_path: Path, effort: str) -> None:
    try:
        # The check for undefined behaviour doubles the time of the build.
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


@pytest.mark.long
def test_kernels_are_built_once_at_first_use(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(
        CHECKOUT / "python", checkout / "python", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    for name in ("src", "pyproject.toml"):
        (checkout / name).symlink_to(CHECKOUT / name)
    cache = tmp_path / "cache"
    # With -S nothing finds the package of this checkout, which is installed in place.
    places = os.pathsep.join([str(checkout / "python"), sysconfig.get_path("purelib")])
    environment = os.environ | {"PYTHONPATH": places, "HALOSCOPE_CACHE": str(cache)}

    def used() -> tuple[str, str]:
        done = run_program([sys.executable, "-S", "-c", USE], env=environment)
        return done.stdout.strip(), done.stderr

    library, remarks = used()
    assert Path(library).is_relative_to(cache)
    assert remarks.startswith("haloscope: building the kernels, once")
    assert used() == (library, "")
