"""The recorder's memory: little, and as much as there are partners and sizes, not ranks."""

from __future__ import annotations

import os
from pathlib import Path

from support.missing import missing
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import program, watch

LIMIT = 16 << 10  # KiB


def records(
    mpi: Mpi, compiler: Compiler, directory: Path, ranks: int, partners: int = 2, sizes: int = 20
) -> int:
    """KiB of the rank that has most, in its live records."""
    # No history, which begins when a run has lasted for a while, and needs 34 KiB.
    options = ("--slice", "0")
    command = [str(program(compiler, mpi, "memory.c")), str(partners), str(sizes)]
    watched = watch(mpi, ranks, command, directory, options=options)
    assert watched.info["dropped"] == "0"
    return int(watched.done.stdout.split()[0])


def test_more_ranks_need_no_more_memory(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    few, many = (records(any_mpi, compiler, tmp_path, ranks) for ranks in (3, 8))
    assert 0 < few <= many <= few + 8  # names of communicators and the like may cross a page


def test_more_partners_or_sizes_need_more(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    single = records(any_mpi, compiler, tmp_path, 8, partners=1)
    many = records(any_mpi, compiler, tmp_path, 8, partners=7)
    sizes = records(any_mpi, compiler, tmp_path, 8, partners=1, sizes=400)
    assert single < many < LIMIT
    assert single < sizes < LIMIT


def test_all_memory_is_under_the_limit(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Records, tables of requests, what threads remember: everything beyond the bare program's."""
    arguments = [str(program(compiler, mpi, "memory.c")), "2", "400"]
    bare = mpi.run(3, arguments, status=None)
    watched = watch(mpi, 3, arguments, tmp_path)
    assert bare.stdout.split()[0] == "0"
    added = int(watched.done.stdout.split()[1]) - int(bare.stdout.split()[1])
    assert added < LIMIT
    # A shared page belongs to no process, so records may be missing in that.
    assert added + int(watched.done.stdout.split()[0]) < LIMIT


def test_memory_is_taken_as_it_is_used_also_after_mlockall(
    mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    """The kernel would take the pages of later mappings at once."""
    if os.geteuid() != 0:
        missing("locking memory needs root")
    text = """
        #include <mpi.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/mman.h>
        int main(int argc, char **argv) {
          char line[256];
          if (mlockall(MCL_FUTURE) != 0) return 9;
          MPI_Init(&argc, &argv);
          FILE *status = fopen("/proc/self/status", "r");
          while (fgets(line, sizeof line, status))
            if (strncmp(line, "VmHWM:", 6) == 0) puts(line + 6);
          return MPI_Finalize();
        }
    """
    executable = compiler.text(mpi, "locked.c", text)
    bare = mpi.run(1, [executable])
    watched = watch(mpi, 1, [executable], tmp_path, env={"HALOSCOPE_MEMORY": "1024"})  # MiB
    assert int(watched.done.stdout.split()[0]) - int(bare.stdout.split()[0]) < LIMIT * 8
