"""The recorder's memory: little, and as much as there are partners and sizes, not ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import program, watch

LIMIT = 16 << 10  # KiB


@pytest.fixture
def memory(mpi: Mpi, compiler: Compiler) -> Path:
    return program(compiler, mpi, "memory.c")


def records(mpi: Mpi, memory: Path, directory: Path, ranks: int, partners: int = 2, sizes: int = 20) -> int:
    """KiB of the rank that has most, in its live records."""
    # No history, which begins when a run has lasted for a while, and needs 34 KiB.
    options = ("--slice", "0")
    watched = watch(mpi, ranks, [memory, str(partners), str(sizes)], directory, options=options)
    assert watched.info["dropped"] == "0"
    return int(watched.done.stdout.split()[0])


def test_more_ranks_need_no_more_memory(mpi: Mpi, memory: Path, tmp_path: Path) -> None:
    few, many = (records(mpi, memory, tmp_path, ranks) for ranks in (4, 12))
    assert 0 < few <= many <= few + 8  # names of communicators and the like may cross a page


def test_more_partners_or_sizes_need_more(mpi: Mpi, memory: Path, tmp_path: Path) -> None:
    one = records(mpi, memory, tmp_path, 12, partners=1)
    many = records(mpi, memory, tmp_path, 12, partners=11)
    sizes = records(mpi, memory, tmp_path, 12, partners=1, sizes=400)
    assert one < many < LIMIT
    assert one < sizes < LIMIT


def test_all_memory_is_under_the_limit(mpi: Mpi, memory: Path, tmp_path: Path) -> None:
    """Records, tables of requests, what threads remember: everything beyond the bare program's."""
    arguments = [str(memory), "3", "400"]
    bare = mpi.run(4, arguments)
    watched = watch(mpi, 4, arguments, tmp_path)
    assert bare.stdout.split()[0] == "0"
    added = int(watched.done.stdout.split()[1]) - int(bare.stdout.split()[1])
    assert added < LIMIT
    # A shared page is nobody's own, so records may be missing in that.
    assert added + int(watched.done.stdout.split()[0]) < LIMIT
