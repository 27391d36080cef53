"""tools/tidy.py looks again at what has changed, and says each time what is wrong."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.mpi import CHECKOUT

FAULTY = "int zero(int *at) { at = nullptr; return *at; }\n"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)  # nothing is kept there
    shutil.copy(CHECKOUT / ".clang-tidy", tmp_path)
    (tmp_path / "one.cpp").write_text('#include "one.hpp"\n')
    (tmp_path / "one.hpp").write_text("#pragma once\n")
    return tmp_path


def tidy(directory: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    words = [CHECKOUT / "tools" / "tidy.py", directory / "one.cpp", "--", "-std=c++20", *flags]
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


def marks(directory: Path) -> set[str]:
    return {path.name for path in directory.glob("cache/haloscope-lint/*")}


def test_what_was_clean_is_kept_until_it_changes(sources: Path) -> None:
    assert tidy(sources).returncode == 0
    (first,) = marks(sources)
    assert tidy(sources).returncode == 0
    assert marks(sources) == {first}
    assert tidy(sources, "-DOTHER").returncode == 0
    assert len(marks(sources)) == 2
    (sources / "one.hpp").write_text("#pragma once\n#define MORE\n")
    assert tidy(sources).returncode == 0
    assert len(marks(sources)) == 3


def test_what_is_wrong_is_said_each_time(sources: Path) -> None:
    (sources / "one.cpp").write_text(FAULTY)
    for _ in range(2):
        done = tidy(sources)
        assert done.returncode != 0
        assert "clang-analyzer-core.NullDereference" in done.stdout
    assert marks(sources) == set()


def test_a_file_that_cannot_be_read_is_no_clean_one(sources: Path) -> None:
    (sources / "one.hpp").unlink()
    assert tidy(sources).returncode != 0
    assert marks(sources) == set()
