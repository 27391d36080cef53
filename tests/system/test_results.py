"""A run of the tests keeps its results, whatever happens in reporting one of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.mpi import CHECKOUT

CONFTEST = """
import pytest
from support.results import pytest_runtest_logreport, pytest_runtest_makereport

class Odd(pytest.Function):
    def repr_failure(self, excinfo):
        raise SystemError("AST constructor recursion depth mismatch (before=93, after=97)")

def pytest_pycollect_makeitem(collector, name, obj):
    if name == "test_odd":
        return Odd.from_parent(collector, name=name)
"""
TESTS = """
import os
def test_before(): pass
def test_odd(): assert os.getpid() == 0, "this is wrong"
def test_after(): pass
"""


def run(directory: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    results = directory / "results.jsonl"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", directory, "-c", os.devnull, *options],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PYTHONPATH": str(CHECKOUT / "tests"), "HALOSCOPE_TEST_RESULTS": str(results)},
        timeout=200,
    )
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    return done, {row["test"].partition("::")[2]: row["outcome"] for row in rows}


@pytest.mark.parametrize("options", [[], ["-n", "1"]])
def test_a_report_that_cannot_be_made_is_one_failure(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    done, outcomes = run(tmp_path, *options)
    assert done.returncode == 1, done.stdout + done.stderr
    assert outcomes == {"test_before": "passed", "test_odd": "failed", "test_after": "passed"}
    assert "this is wrong" in done.stdout
    assert "more cannot be shown: SystemError: AST constructor" in done.stdout


def test_a_run_that_dies_has_said_what_it_knew(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    tests = TESTS.replace("def test_after(): pass", "def test_after(): os.kill(os.getpid(), 9)")
    (tmp_path / "test_some.py").write_text(tests)
    done, outcomes = run(tmp_path)
    assert done.returncode == -9
    assert outcomes == {"test_before": "passed", "test_odd": "failed"}
