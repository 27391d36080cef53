"""A library that contains `src/interpose` is built again when any file there has changed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from haloscope.base import building, paths
from haloscope.base.headers import Headers
from haloscope.hide import build_injector, build_placer, build_shm_library
from haloscope.watch import build_recorder
from support.mpi import CHECKOUT

Build = Callable[[Headers], object]
BIN = Path(sys.executable).parent
FILES = sorted(p.name for p in (CHECKOUT / "src" / "interpose").iterdir() if p.is_file())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Sources that may be changed."""
    for tree in ("src", "include"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / tree, tmp_path / "copy" / tree, ignore=ignored)
    return tmp_path / "copy"


def change(file: Path) -> None:
    with file.open("a") as text:
        text.write("\n")


@pytest.mark.parametrize("build", [build_recorder, build_injector, build_placer, build_shm_library])
def test_name_in_the_cache(build: Build, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []

    def remember(name: str, *_: object) -> Path:
        names.append(name)
        return Path(name)

    monkeypatch.setattr(paths, "root", lambda: copy)
    monkeypatch.setattr(building, "build_once", remember)
    assert FILES
    headers = Headers("mpich", (copy,), "MPICH 4.0", (4, 0))
    build(headers)
    build(headers)
    assert len(set(names)) == 1
    for count, file in enumerate(FILES, 2):
        change(copy / "src" / "interpose" / file)
        build(headers)
        assert len(set(names)) == count, file


def identity(sources: Path, build: Path) -> str:
    """By which the recorder knows the live records of its own sources."""
    subprocess.run(
        [
            BIN / "cmake",
            "-S",
            sources / "src" / "watch",
            "-B",
            build,
            "-G",
            "Ninja",
            f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}",
            f"-DPython3_EXECUTABLE={sys.executable}",
        ],
        check=True,
        capture_output=True,
    )
    found = re.search(r"HALOSCOPE_SOURCES=(0x\w+)", (build / "build.ninja").read_text())
    assert found
    return found[1]


@pytest.mark.parametrize("file", ["interface.hpp", "sessions.cpp", "fortran.py"])
def test_identity_of_the_recorder(file: str, copy: Path, tmp_path: Path) -> None:
    before = identity(copy, tmp_path / "build")
    assert identity(copy, tmp_path / "build") == before
    change(copy / "src" / "interpose" / file)
    assert identity(copy, tmp_path / "build") != before
