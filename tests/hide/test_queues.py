"""The queues and similar algorithms of src/hide: between threads, and in a model of weak memory."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from support.mpi import CHECKOUT
from support.processes import run_program

PROGRAMS = CHECKOUT / "tests" / "hide" / "programs" / "shm"
HIDE = CHECKOUT / "src" / "hide"
ARENA = ("shm/heap/shared_arena", "shm/heap/forking", "shm/heap/extents", "halo/shared_file")


def run(
    directory: Path,
    program: str,
    *arguments: str,
    flags: tuple[str, ...] = ("-O2",),
    parts: tuple[str, ...] = (),
) -> str:
    """Return the output of a program. It is compiled with `parts` of src/hide, once per directory."""
    made = directory / program
    if not made.exists():
        sources = [str(PROGRAMS / f"{program}.cpp"), *(str(HIDE / f"{part}.cpp") for part in parts)]
        words = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-pthread", *flags]
        subprocess.run([*words, f"-I{CHECKOUT / 'src'}", *sources, "-o", str(made)], check=True)
    around = []
    if "-fsanitize=thread" in flags and shutil.which("setarch"):
        around = ["setarch", platform.machine(), "-R"]  # ThreadSanitizer supports few address ranges
        if subprocess.run([*around, "true"], capture_output=True, check=False).returncode:
            around = []
    done = run_program(
        [*around, str(made), *arguments], env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    )
    return done.stdout


def test_all_interleavings_on_weak_memory(tmp_path: Path) -> None:
    """Each algorithm is sound, and unsound without any one of its releases and acquires."""
    found = re.findall(
        r"^(.*): (\d+) executions, sound, (\d+) of (\d+) orders missed when weakened$",
        run(tmp_path, "model"),
        re.MULTILINE,
    )
    assert [row[0] for row in found] == ["control queue", "task queue", "handover", "helper mask"]
    for _, executions, missed, orders in found:
        assert int(executions) > 1000
        assert missed == orders
        assert int(orders) >= 3


def stress(directory: Path, operations: int, *flags: str) -> int:
    """Run operations on each kind of queue. Return the number of tasks that consumers saw."""
    printed = run(directory, "stress", str(operations), flags=flags)
    seen, overwritten = map(int, re.findall(r"(\d+) (?:seen|overwritten)", printed))
    assert seen + overwritten == 2 * operations
    return seen


def long(operations: int) -> ParameterSet:
    return pytest.param(operations, marks=pytest.mark.long)


@pytest.mark.parametrize("operations", [200_000, long(20_000_000)])
def test_queues_between_threads(tmp_path: Path, operations: int) -> None:
    """No task is lost, torn or out of order. Each consumer sees at least the last tasks."""
    assert stress(tmp_path, operations, "-O2") >= 2


@pytest.mark.parametrize("operations", [20_000, long(200_000)])
def test_no_data_races(tmp_path: Path, operations: int) -> None:
    assert stress(tmp_path, operations, "-O1", "-g1", "-fsanitize=thread") >= 2


def test_arena(tmp_path: Path) -> None:
    """Random blocks in threads, checked byte by byte; another process opens the arena; fork."""
    parts = ARENA
    flags = ("-O1", "-g1", "-fsanitize=thread")
    assert run(tmp_path, "arena", "1000", flags=flags, parts=parts) == "right\n"


def test_unused_queues_take_no_memory(tmp_path: Path) -> None:
    """Each pair of ranks has a queue, N² in total, but unused queues take no memory."""
    parts = (*ARENA, "halo/channels")
    few, many = (
        [int(word) for word in run(tmp_path, "room", str(ranks), parts=parts).split()] for ranks in (64, 256)
    )
    for pages_of_few, pages_of_many in zip(few, many, strict=True):
        assert pages_of_many <= 5 * pages_of_few  # four times the ranks
    assert many[1] <= 16 * 256
