"""The queues and their kin of src/hide/stencil: between threads, and in a model of weak memory."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from support.mpi import CHECKOUT

PROGRAMS = CHECKOUT / "tests" / "hide" / "programs" / "stencil"
STENCIL = CHECKOUT / "src" / "hide" / "stencil"
# HALOSCOPE_STRESS=100000000 for the long run.
OPERATIONS = int(os.environ.get("HALOSCOPE_STRESS", "1000000"))


def run(directory: Path, program: str, *arguments: str, flags: tuple[str, ...] = ("-O2",)) -> str:
    made = directory / program
    source = PROGRAMS / f"{program}.cpp"
    words = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-pthread", *flags]
    subprocess.run([*words, f"-I{STENCIL}", str(source), "-o", str(made)], check=True)
    around = []
    if "-fsanitize=thread" in flags and shutil.which("setarch"):
        around = ["setarch", platform.machine(), "-R"]  # it knows few ranges of addresses
        if subprocess.run([*around, "true"], capture_output=True, check=False).returncode:
            around = []
    done = subprocess.run(
        [*around, str(made), *arguments],
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}, timeout=280, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_interleavings_on_weak_memory(tmp_path: Path) -> None:
    """Each algorithm is sound, and unsound without any one of its releases and acquires."""
    found = re.findall(
        r"^(.*): (\d+) executions, sound, (\d+) of (\d+) orders missed when weakened$",
        run(tmp_path, "model"), re.MULTILINE,
    )  # fmt: skip
    assert [row[0] for row in found] == ["control queue", "task queue", "handover", "helper mask"]
    for _, executions, missed, orders in found:
        assert int(executions) > 1000
        assert missed == orders
        assert int(orders) >= 3


def test_millions_of_operations(tmp_path: Path) -> None:
    """Nothing is lost, torn or out of order; some tasks were overwritten before they were seen."""
    seen, overwritten = map(int, re.findall(r"\d+", run(tmp_path, "stress", str(OPERATIONS))))
    assert seen > 0
    assert overwritten > 0
    assert seen + overwritten == 2 * OPERATIONS


def test_no_data_races(tmp_path: Path) -> None:
    operations = str(max(100_000, OPERATIONS // 50))
    run(tmp_path, "stress", operations, flags=("-O1", "-g1", "-fsanitize=thread"))
