"""Fortran programs: one text in three interfaces, whose tables are those of its twin in C."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from haloscope.base.objects import read_defined_names
from support.missing import missing
from support.mpi import CHECKOUT, Mpi
from support.programs import Compiler, mpifort
from support.recorder import library
from support.watched import PROGRAMS, Watched, program, watch

TABLES = ("regions", "ranks", "calls", "sizes", "partners", "collectives", "communicators", "series")
SERIES = ["--series", "pass"]
INTERFACES = {"mpif.h": "-DMPIF_H", "use mpi": "-DUSE_MPI", "use mpi_f08": "-DF08"}
# An argument may be of any type, for which the older interfaces have no word.
FLAGS = ["-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch", "-w"]


def ranks(mpi: Mpi) -> int:
    """MPICH does not yield: more ranks than cores would take minutes."""
    return 3 if mpi.abi == "openmpi" else 2


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fortran")


@pytest.fixture(scope="module")
def markers(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Flags for a program with markers: the module is compiled as its first lines say."""
    made = tmp_path_factory.mktemp("markers")
    source = CHECKOUT / "include" / "haloscope" / "haloscope.f90"
    subprocess.run([mpifort(mpi), "-c", source], cwd=made, check=True)
    return [f"-I{made}", str(made / "haloscope.o")]


@pytest.fixture(scope="module")
def in_c(mpi: Mpi, compiler: Compiler, directory: Path) -> Watched:
    return watch(mpi, ranks(mpi), [program(compiler, mpi, "twin.c")], directory, options=SERIES)


@pytest.fixture(scope="module", params=INTERFACES)
def in_fortran(
    request: pytest.FixtureRequest, mpi: Mpi, markers: list[str], compiler: Compiler, directory: Path
) -> Watched:
    flags = [*FLAGS, INTERFACES[request.param], *markers]
    if mpi.abi == "mpich" and request.param == "use mpi_f08":
        flags.append("-DLARGE_COUNTS")  # MPI 4
    command = [compiler(mpi, PROGRAMS / "twin.f90", flags)]
    return watch(mpi, ranks(mpi), command, directory, options=SERIES)


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_those_of_c(table: str, in_c: Watched, in_fortran: Watched) -> None:
    expected = in_c.facts(table)
    assert expected
    assert in_fortran.facts(table) == expected


def test_twin_in_c_talks(mpi: Mpi, in_c: Watched) -> None:
    """Equal tables say little if they are empty: some numbers, by hand."""
    n = ranks(mpi)
    assert in_c.region("Waitsome")["recvs_total"] == 2 * n
    assert in_c.region("Waitsome")["bytes_recv_total"] == n * 4 * (14 + 15)
    assert in_c.region("Gather")["coll_bytes_total"] == n * 4 * (6 + 7)
    assert in_c.region("persistent/pass")["instances"] == 3
    assert in_c.region("persistent")["bytes_sent_total"] == n * 4 * 4 * 50
    assert in_c.region("window")["rma_bytes_total"] == n * 4 * (80 + 81 + 82)
    assert [row["number"] for row in in_c.select("series", rank=0)] == [0, 0.5, 1]


def test_profile_is_whole(mpi: Mpi, in_fortran: Watched) -> None:
    info = in_fortran.info
    assert (info["ranks"], info["partial"], info["unaccounted"]) == (str(ranks(mpi)), "false", "{}")
    assert (info["unmatched_begins"], info["unmatched_ends"]) == ("0", "0")
    whole = in_fortran.region("<program>")
    assert (whole["ranks"], whole["instances"]) == (ranks(mpi), 1)
    assert whole["sends_total"] == whole["recvs_total"] > 0
    assert in_fortran.done.stdout + in_fortran.done.stderr == ""


def test_calls_are_counted_once(mpi: Mpi, in_fortran: Watched) -> None:
    """Some libraries' Fortran functions call C's, which are watched as well."""
    n = ranks(mpi)
    assert in_fortran.calls("MPI_Send", "Recv") == 3
    assert in_fortran.calls("MPI_Recv", "Recv") == 3
    assert in_fortran.calls("MPI_Isend", "Waitall") == 4 * n
    assert in_fortran.calls("MPI_Allreduce", "Allreduce") == 2 * n
    assert in_fortran.calls("MPI_Comm_split", "Comm_split") == 2 * n
    assert in_fortran.region("Allreduce")["colls_total"] == 2 * n


@pytest.mark.parametrize("flag", ["-fsecond-underscore", "-fno-underscoring"])
def test_names_of_all_compilers_are_counted(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, flag: str
) -> None:
    executable = compiler(any_mpi, PROGRAMS / "sends.f90", [flag])
    bare = any_mpi.run(2, [executable], status=None)
    if bare.returncode:
        missing(f"{any_mpi.name} has no functions for {flag}: {bare.stderr[-200:]}")
    watched = watch(any_mpi, 2, [executable], tmp_path)
    assert watched.traffic("<program>").sends == watched.traffic("<program>").recvs == 6
    assert watched.calls("MPI_Wait", "<program>") == 12


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_every_name_of_the_library_is_wrapped(mpi: Mpi) -> None:
    """Those of MPICH that have no wrapper of their own call C's functions."""
    wrapped = read_defined_names(library(mpi), rb"(MPI_[A-Z0-9_]+|mpi_[a-z0-9_]+)")
    if mpi.abi == "openmpi":
        pattern, names = rb"(MPI_[A-Z0-9_]+|mpi_[a-z0-9_]+)", ("libmpi_mpifh", "libmpi_usempif08")
    else:
        pattern, names = rb"mpi_[a-z0-9_]+_f08(ts)?(_large)?_", ("libmpichfort", "libmpifort")
    files = [path for name in names for path in mpi.library.parent.glob(f"{name}.so.*")]
    if not files:
        missing(f"{mpi.name} has no Fortran library")
    found = {name for path in files for name in read_defined_names(path, pattern)}
    # Removed functions of MPI-1, which the recorder does not count, are still in some libraries.
    in_c = {name.lower() for name in read_defined_names(library(mpi), rb"MPI_[A-Z][a-z0-9_]+")}
    procedures = {name for name in found if _name_in_c(name) in in_c and not _is_not_a_call(name)}
    assert len(procedures) > 300
    assert procedures - wrapped == set()


def _name_in_c(name: str) -> str:
    return re.sub(r"(_cptr|_f08(ts)?)?(_large)?_*$", "", name.lower())


def _is_not_a_call(name: str) -> bool:
    """Return whether it is a constant, a callback, a function with a result, or one of MPI-1 for attributes.

    None of these takes time.
    """
    lower = name.lower().replace("mpi_keyval_", "mpi_attr_")
    return lower.startswith(
        ("mpi_fortran_", "mpi_f_sync_reg", "mpi_wtime", "mpi_wtick", "mpi_aint_", "mpi_attr_")
    ) or ("_fn" in lower or "sizeof" in lower)


@pytest.mark.parametrize("interface", INTERFACES.values())
def test_recording_is_switched_off(any_mpi: Mpi, compiler: Compiler, tmp_path: Path, interface: str) -> None:
    """MPI_Pcontrol has no error argument in the standard, and one in MPICH's mpi_f08."""
    text = """
program controls
#if defined(MPIF_H)
  implicit none
  include 'mpif.h'
#elif defined(USE_MPI)
  use mpi
#else
  use mpi_f08
#endif
  integer :: error, before, after
  before = 17
  after = 19
  call MPI_Init(error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Pcontrol(0)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Pcontrol(1)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (before /= 17 .or. after /= 19) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  call MPI_Finalize(error)
end program
"""
    executable = compiler.text(any_mpi, "controls.f90", text, [*FLAGS, interface])
    watched = watch(any_mpi, 2, [executable], tmp_path)
    assert watched.region("<program>")["colls_total"] == 2 * 2
