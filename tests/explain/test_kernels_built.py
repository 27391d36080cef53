"""The kernels of a checkout in which only `make demo` ran are built at their first use."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from support.mpi import CHECKOUT
from support.processes import run_program

USE = "from haloscope.explain import native_library; print(native_library()._name)"


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
