"""The Python package as it is installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import haloscope
from haloscope import _paths
from support.mpi import CHECKOUT


def test_importing_loads_no_table_library() -> None:
    script = "import haloscope, sys; print({'numpy', 'polars', 'plotly'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_every_public_name_exists() -> None:
    for name in haloscope.__all__:
        assert getattr(haloscope, name) is not None


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'haloscope' has no attribute 'oepn'"):
        haloscope.oepn  # noqa: B018 - the access is what fails


def test_missing_sources_are_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"no-such-room.*git status"):
        _paths.source("src", "no-such-room")


@pytest.mark.slow
def test_wheel_carries_what_the_recorder_is_built_from(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", tmp_path, CHECKOUT], check=True)
    (wheel,) = tmp_path.glob("haloscope-*-py3-none-linux_*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"haloscope/py.typed", "haloscope/explain/libhaloscope-explain.so"} <= names
    assert {"haloscope/predict/machines/orfeo.yaml", "haloscope/predict/page/model.js"} <= names
    for tree in ("include", "src", "apps"):
        tracked = _tracked(tree)
        assert tracked, f"no {tree}/ in this checkout"
        assert {f"haloscope/_share/{path}" for path in tracked} <= names


def _tracked(tree: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", tree], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return listed.stdout.splitlines()
