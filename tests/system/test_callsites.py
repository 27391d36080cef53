"""Call sites of real programs under the real commands: the lines of source that the calls stand on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import haloscope
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import PROGRAMS, Watched, watch

DEPTH = ["--callsites", "--depth", "6"]
# Ranks open the same two libraries, some in one order, some in the other, and say where they lie.
ORDERS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#if defined(FIRST)
void work(void) { MPI_Barrier(MPI_COMM_WORLD); }
#elif defined(SECOND)
void work(void) { MPI_Barrier(MPI_COMM_WORLD); }
#else
int main(int argc, char **argv) {
  void (*work[2])(void);
  int rank, size, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (i = 0; i < 2; i++) {
    const int which = (rank + i) % 2;
    *(void **)&work[which] = dlsym(dlopen(argv[1 + which], RTLD_NOW | RTLD_LOCAL), "work");
  }
  printf("%p %p %d\n", (void *)main, (void *)work[0], (char *)work[0] < (char *)work[1]);
  for (i = 0; i < 20; i++) work[i % 2]();
  MPI_Finalize();
  return 0;
}
#endif
"""
PYTHON = """
from mpi4py import MPI

def exchange(comm):
    return comm.allreduce(1.5)  # exchange

def solve(comm):
    for step in range(20):
        exchange(comm)  # solve
        comm.Barrier()  # barrier

solve(MPI.COMM_WORLD)  # module
"""


def line_of(comment: str, source: Path) -> int:
    lines = source.read_text().splitlines()
    return next(
        n
        for n, line in enumerate(lines, 1)
        if line.endswith(("// " + comment, "! " + comment, "# " + comment))
    )


@pytest.fixture
def program(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> Path:
    """A program that reduces through `libpetsc_sum.so`, and may be deleted."""
    source = PROGRAMS / "callsites.cpp"
    library = compiler(mpi, source, ["-DLIBRARY", "-shared", "-fPIC", "-O2"])
    shutil.copy(library, tmp_path / "libpetsc_sum.so")
    flags = ["-O2", f"-L{tmp_path}", "-lpetsc_sum", f"-Wl,-rpath,{tmp_path}"]
    return Path(shutil.copy(compiler(mpi, source, flags), tmp_path / "program"))


def whole(watched: Watched, call: str) -> dict[str, Any]:
    """The one site of a function, whether or not iterations were found."""
    (row,) = watched.select("sites", False, region="<program>", call=call)
    return row


def site(watched: Watched, call: str) -> tuple[str, str, int, int]:
    row = whole(watched, call)
    return Path(row["file"]).name, row["function"], row["line"], row["calls"]


def test_lines_of_cpp(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    watched = watch(mpi, 2, [program], tmp_path, options=DEPTH)
    source = PROGRAMS / "callsites.cpp"
    at = {
        name: line_of(name, source)
        for name in ("exchange", "step", "sum", "main", "barrier", "in the library")
    }
    file, cpp = source.name, "step(Field<double>&, int)"
    exchange = "Field<double>::exchange(int)"
    assert site(watched, "MPI_Sendrecv_replace") == (file, exchange, at["exchange"], 100)
    # The library's line is no site, but in the stack.
    assert site(watched, "MPI_Allreduce") == (file, cpp, at["sum"], 100)
    assert site(watched, "MPI_Barrier") == (file, "main", at["barrier"], 2)
    row = whole(watched, "MPI_Allreduce")
    assert row["stack"] == ";".join(
        f"{name} ({file}:{at[place]})"
        for name, place in (("main", "main"), (cpp, "sum"), ("sum_up", "in the library"))
    )
    row = whole(watched, "MPI_Sendrecv_replace")
    assert row["stack"] == ";".join(
        f"{name} ({file}:{at[place]})"
        for name, place in (("main", "main"), (cpp, "step"), (exchange, "exchange"))
    )
    # Symbols are in the profile: it says the same where the program is not.
    program.unlink()
    (tmp_path / "libpetsc_sum.so").unlink()
    with haloscope.open(watched.path) as profile:
        assert profile.table("sites", exclusive=True).to_dicts() == watched.rows("sites", True)
        assert profile.site_book.remarks == []


def test_a_program_that_is_gone_is_named(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    text = "MPI_Init(&c, &v); remove(v[0]); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize();"
    head = "#include <mpi.h>\n#include <stdio.h>\n"
    made = compiler.text(any_mpi, "gone.c", f"{head}int main(int c, char **v) {{ {text} }}\n")
    program = Path(shutil.copy(made, tmp_path / "gone"))
    command = Path(sys.executable).with_name("haloscope")
    done = run_program(
        [command, "run", "-o", tmp_path / "gone.halo", *DEPTH, "--", *any_mpi.launch(2), program],
        env=any_mpi.environment(),
    )
    assert f"haloscope: {program}: does not exist any more\n" in done.stderr
    with haloscope.open(tmp_path / "gone.halo") as profile:
        (row,) = profile.table("sites", exclusive=True).filter(call="MPI_Barrier").to_dicts()
    assert row["site"].startswith("gone+0x")
    assert (row["file"], row["line"], row["function"], row["calls"]) == (None, None, None, 2)


def test_a_stripped_program_has_addresses(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Calls are distinguished by address; their function is null, and a remark gives the reason."""
    made = compiler(any_mpi, PROGRAMS / "unloaded.c", ["-DALONE"])
    program = tmp_path / "stripped"
    subprocess.run(["strip", "-s", "-o", program, made], check=True)
    watched = watch(any_mpi, 2, [program], tmp_path, options=DEPTH)
    row = whole(watched, "MPI_Barrier")
    assert row["site"].startswith("stripped+0x")
    assert (row["file"], row["line"], row["function"], row["calls"]) == (None, None, None, 20)
    with haloscope.open(watched.path) as profile:
        (remark,) = profile.site_book.remarks
    assert remark.startswith(f"{program}: has no debug information")


def test_libraries_that_are_unloaded(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Calls of two libraries are distinguished, though both were loaded at the same addresses in turn."""
    source = PROGRAMS / "unloaded.c"
    libraries = [
        compiler(any_mpi, source, [f"-D{name}", "-shared", "-fPIC"]) for name in ("FIRST", "SECOND", "FIRST")
    ]
    program = compiler(any_mpi, source, ["-ldl"])
    watched = watch(any_mpi, 2, [program, *libraries], tmp_path, options=["--callsites"])
    assert "".join(watched.done.stdout.split()) == "same" * 2
    rows = watched.select("sites", False, region="<program>", call="MPI_Barrier")
    calls = {row["line"]: row["calls"] for row in rows if row["line"]}
    assert calls == {line_of("first", source): 40, line_of("second", source): 20}


def test_where_libraries_lie_splits_no_site(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Addresses are random, and ranks load libraries in different orders."""
    libraries = [
        compiler.text(any_mpi, "orders.c", ORDERS, ["-shared", "-fPIC", f"-D{name}"])
        for name in ("FIRST", "SECOND")
    ]
    program = compiler.text(any_mpi, "orders.c", ORDERS, ["-fPIE", "-pie", "-ldl"])
    watched = watch(any_mpi, 4, [program, *libraries], tmp_path, options=["--callsites"])
    places = [line.split() for line in watched.done.stdout.splitlines()]
    assert len({program for program, _, _ in places}) > 1
    assert len({library for _, library, _ in places}) > 1
    assert {order for _, _, order in places} == {"0", "1"}
    rows = watched.select("sites", False, region="<program>", call="MPI_Barrier")
    barriers = [row["calls"] for row in rows if row["line"]]
    assert barriers == [40, 40]


def test_code_without_unwinding_information(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """The line is known, and who called it is not."""
    source = PROGRAMS / "unloaded.c"
    flags = ["-DALONE", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer"]
    watched = watch(any_mpi, 2, [compiler(any_mpi, source, flags)], tmp_path, options=DEPTH)
    line = line_of("alone", source)
    assert site(watched, "MPI_Barrier") == (source.name, "work", line, 20)
    assert whole(watched, "MPI_Barrier")["stack"].endswith(f"work ({source.name}:{line})")


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_lines_of_fortran(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    source = PROGRAMS / "callsites.f90"
    watched = watch(mpi, 2, [compiler(mpi, source, ["-O2"])], tmp_path, options=DEPTH)
    at = {name: line_of(name, source) for name in ("exchange", "barrier")}
    assert site(watched, "MPI_Allreduce") == (source.name, "halo::exchange", at["exchange"], 20)
    # Whether the program keeps its name depends on what the compiler puts where.
    name = site(watched, "MPI_Barrier")[1]
    assert name.lower() == "main"
    assert site(watched, "MPI_Barrier") == (source.name, name, at["barrier"], 2)


def test_lines_of_python(any_mpi: Mpi, tmp_path: Path) -> None:
    """Those of mpi4py's users, not of mpi4py."""
    source = tmp_path / "program.py"
    source.write_text(PYTHON)
    options = [*DEPTH, "--mpi", any_mpi.abi]
    watched = watch(any_mpi, 2, [sys.executable, source], tmp_path, options=options)
    assert site(watched, "MPI_Barrier")[:3] == ("program.py", "solve", line_of("barrier", source))
    inside = [row for row in watched.rows("sites", True) if row["line"] == line_of("exchange", source)]
    assert sum(row["time_total"] for row in inside) > 0
    for row in inside:
        assert (row["file"], row["function"]) == (str(source), "exchange")
        assert f"solve (program.py:{line_of('solve', source)});exchange (program.py:" in row["stack"]
