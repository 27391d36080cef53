"""The shareable heap, used by tests/hide/programs/shm/heap.cpp."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from haloscope.hide import build_heap
from support.missing import missing
from support.mpi import CHECKOUT
from support.processes import run_program

HIDE = CHECKOUT / "src" / "hide"
PROGRAM = CHECKOUT / "tests" / "hide" / "programs" / "shm" / "heap.cpp"
ARENA = ("shm/heap/shared_arena", "shm/heap/forking", "shm/heap/extents", "halo/shared_file")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("heap") / "heap"
    sources = [PROGRAM, *(HIDE / f"{name}.cpp" for name in ARENA)]
    words = ["g++", "-std=c++20", "-O1", "-g0", "-Wall", "-Wextra", "-Werror", "-pthread"]
    # -rdynamic: the heap calls the program's memfd_create.
    command = [*words, "-rdynamic", f"-I{CHECKOUT / 'src'}", *map(str, sources), "-o", str(made), "-ldl"]
    subprocess.run(command, check=True)
    return made


def environment(**others: str) -> dict[str, str]:
    return {**os.environ, "LD_PRELOAD": str(build_heap(quiet=True)), **others}


def run(*command: str | Path, **others: str) -> list[str]:
    """Return the output lines of a program with the heap preloaded."""
    return run_program(command, env=environment(**others)).stdout.splitlines()


@pytest.mark.parametrize(
    "what", ["random", "edges", "returned", "closed", "lazy", "untouched", "no descriptors"]
)
def test_program(program: Path, what: str) -> None:
    assert run(program, what) == ["right"]


def test_a_child_has_a_copy(program: Path) -> None:
    """Both write to the same addresses while other threads allocate."""
    assert run(program, "forks") == ["right"]


def test_the_child_dies_before_it_has_its_copy(program: Path) -> None:
    """Other handlers of fork() allocate while the arena is locked."""
    assert run(program, "handlers") == ["right"]


def test_another_process_reads_and_writes(program: Path) -> None:
    with subprocess.Popen(
        [program, "serve"], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        name = server.stdout.readline().split()
        wrong = [*name[:3], str(int(name[3]) ^ 1), *name[4:]]
        read, refused = (run_program([program, "read", *words], status=None) for words in (name, wrong))
        answer = server.communicate("\n")[0]
    assert read.stdout == "served\nright\n"
    assert "not so: it can be opened" in refused.stderr
    assert answer == "written\nright\n"


@pytest.mark.parametrize(
    ("around", "settings", "shared"),
    [
        ("exec", {}, range(100, 101)),
        ("ulimit -v 200000; exec", {}, range(20, 80)),  # a quarter of the addresses
        ("ulimit -f 1000; exec", {}, range(1)),
        ("exec", {"FORBID": "memfd"}, range(100, 101)),
        ("exec", {"HALOSCOPE_SHM_THRESHOLD": "1000001"}, range(1)),
        ("exec", {"HALOSCOPE_HEAP_RESERVE": "much"}, range(100, 101)),
    ],
)
def test_blocks_that_cannot_be_shared(
    program: Path, around: str, settings: dict[str, str], shared: Sequence[int]
) -> None:
    """100 blocks of a million bytes: those that cannot be shared come from the C library's heap."""
    count, last = run("sh", "-c", f'{around} "$0" count', program, **settings)
    assert last == "right"
    assert int(count) in shared


def test_shared_memory_is_full(program: Path) -> None:
    """When shared memory is full, the C library's heap is used, without a signal."""
    within = ["unshare", "--mount", "sh", "-c"]
    mount = "mount -t tmpfs -o size=16m none /dev/shm"
    if subprocess.run([*within, mount], capture_output=True, check=False).returncode:
        missing("mounting in a namespace: needs root")
    count, _ = run(*within, f'{mount} && exec "$0" count', program, FORBID="memfd")
    assert 5 < int(count) < 16


def test_python() -> None:
    """Python with NumPy, subprocesses and fork."""
    text = """
import numpy, os, subprocess
a = numpy.arange(10**6)
assert subprocess.run(["echo", "there"], capture_output=True, text=True).stdout == "there\\n"
child = os.fork()
a += 1
if child == 0:
    os._exit(int(a.sum() - 500000500000) != 0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert a.sum() == 500000500000
text = "x" * 10**7
print(len(numpy.linalg.inv(numpy.eye(300) + 1)), len(text + text))
print(any("haloscope-arena" in line for line in open("/proc/self/maps")))
"""
    assert run(sys.executable, "-c", text) == ["300 20000000", "True"]


@pytest.mark.parametrize(("asked", "given"), [("0", 1), ("3", 3), ("4096", 4096), ("10000", 4096)])
def test_the_reserve_is_as_long_as_asked_for(asked: str, given: int) -> None:
    """In GiB."""
    text = """
maps = [line.split()[0].split("-") for line in open("/proc/self/maps") if "haloscope-arena" in line]
print(round(sum(int(end, 16) - int(begin, 16) for begin, end in maps) / 2**30))
"""
    command = (sys.executable, "-c", f"text = 'x' * 10**7{text}")
    assert run(*command, HALOSCOPE_HEAP_RESERVE=asked) == [str(given)]
