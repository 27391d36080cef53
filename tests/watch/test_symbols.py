"""The recorder runs in other programs: its visible symbols, and its wrappers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from haloscope.base.headers import Headers, find_headers
from haloscope.base.objects import MpiLibrary
from haloscope.watch import build_recorder
from support.mpi import Mpi
from support.processes import run_program

ALLOWED = re.compile(
    r"lib(c|m|dl|pthread|gcc_s)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+|linux-vdso\.so\.\d+|librt\.so\.\d+"
)

# What programs and libraries with other people's markers call.
ANNOTATIONS = re.compile(
    r"cali_|adiak_|_ZNK?4cali|kokkosp_|p[48]est_(balance|partition|ghost|lnodes|transfer)|"
    r"(InitializeInjectionNvtx2|__itt_api_init|PetscLog(Set|(Event|Stage)Register|StagePush|StagePop)|"
    r"hypre_(ParCSRCommHandle\w+|BoomerAMG(Setup|Solve|Destroy)|MatvecCommPkgDestroy)|ncclProfiler_v5|ompt_start_tool|"
    r"(cuda|hip)Memcpy(Async)?|hipMemcpy(DtoH|HtoD)|cuMemcpy(DtoH|HtoD)(Async)?_v2|zeContextCreate)$"
)


def headers(mpi: Mpi) -> Headers:
    library = MpiLibrary("openmpi" if mpi.abi == "openmpi" else "mpich", mpi.library)
    return find_headers(library, (mpi.mpicc,))


@pytest.fixture(scope="module")
def recorder(mpi: Mpi) -> Path:
    return build_recorder(headers(mpi), quiet=True).library


def symbols(library: Path, *options: str) -> set[str]:
    command = ["nm", "-D", *options, str(library)]
    return {line.split()[-1].partition("@")[0] for line in run_program(command).stdout.splitlines()}


def declared(mpi: Mpi, tmp_path: Path) -> set[str]:
    """What the headers declare as PMPI_* and PMPIX_*, read from the preprocessed text."""
    source = tmp_path / "probe.c"
    source.write_text("#include <mpi.h>\n")
    include = [f"-I{directory}" for directory in headers(mpi).directories]
    done = run_program(["cc", "-E", *include, str(source)])
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", done.stdout)
    return set(re.findall(r"\bP(MPIX?_\w+)\s*\(", text))


# Not in the standard's list of functions, or no functions of the library: nothing can be wrapped.
# MPI_Session_set_info is Open MPI 5's alone.
NOT_STANDARD = re.compile(
    r"MPIX_Async_get_state$|MPI_(DUP_FN|T_|Session_set_info$)|MPI_\w+_(c2f|f2c|c2f08|f082c|f2f08|f082f)$"
)
# Removed in MPI-3, still declared by some.
REMOVED = set(
    """
    MPI_Address MPI_Errhandler_create MPI_Errhandler_get MPI_Errhandler_set MPI_Type_extent
    MPI_Type_hindexed MPI_Type_hvector MPI_Type_lb MPI_Type_struct MPI_Type_ub
""".split()
)


def test_every_declared_function_is_wrapped(mpi: Mpi, recorder: Path, tmp_path: Path) -> None:
    wrapped = {name for name in symbols(recorder, "--defined-only") if re.match("MPIX?_.*[a-z]", name)}
    expected = declared(mpi, tmp_path)
    assert "MPI_Send" in expected
    missing = expected - wrapped
    assert {name for name in missing if not NOT_STANDARD.match(name)} - REMOVED == set()
    assert wrapped - expected == set()


def test_nothing_else_is_exported(recorder: Path) -> None:
    # It is told what is unloaded, and what a program looks for; and the address sanitizer asks for options.
    exported = symbols(recorder, "--defined-only") - {"dlclose", "dlsym", "__asan_default_options"}
    others = {name for name in exported if not re.match(r"MPIX?_|mpi_|haloscope_", name)}
    assert {name for name in others if not ANNOTATIONS.match(name)} == set()


def test_no_mpi_library_is_needed_to_load_it(recorder: Path) -> None:
    undefined = symbols(recorder, "--undefined-only")
    assert {name for name in undefined if re.match(r"P?MPI_|MPIX_|ompi_|mpi_|MPIR_", name)} == set()


def test_links_only_the_c_library(recorder: Path) -> None:
    done = run_program(["readelf", "-d", str(recorder)])
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", done.stdout)
    assert needed
    assert [name for name in needed if not ALLOWED.fullmatch(name)] == []
    assert not re.search(r"\((RPATH|RUNPATH)\)", done.stdout)


def test_loads_into_programs_without_mpi(recorder: Path) -> None:
    done = run_program(["env", f"LD_PRELOAD={recorder}", "LD_BIND_NOW=1", "sh", "-c", "echo fine"])
    assert (done.stdout, done.stderr) == ("fine\n", "")
