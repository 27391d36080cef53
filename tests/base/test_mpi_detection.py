"""The MPI of a command, from the libraries of its program and from its launcher."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from haloscope import RecorderError
from haloscope.base.headers import Headers, find_headers, library_version, read_headers
from haloscope.base.launch import parse
from haloscope.base.mpi import detect, find_installed_library, is_statically_linked
from haloscope.base.objects import MpiLibrary, abi_of, find_linked_mpi, interpreter
from support.missing import impossible
from support.mpi import Mpi
from support.programs import Compiler
from support.small_mpi import small_header, small_open_mpi

PROGRAM = """
#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }
"""
# Loads MPI as mpi4py does, and prints the files that are loaded.
LOADS_LATE = """
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  char line[4096];
  if (!dlopen("%s", RTLD_NOW)) return 1;
  for (FILE *maps = fopen("/proc/self/maps", "r"); fgets(line, sizeof line, maps);)
    if (sscanf(line, "%%*s %%*s %%*s %%*s %%*s %%s", line) == 1) puts(line);
}
"""


@pytest.fixture
def program(mpi: Mpi, compiler: Compiler) -> Path:
    return compiler.text(mpi, "program.c", PROGRAM)


def same(one: Path | None, other: Path) -> bool:
    return one is not None and one.resolve() == other.resolve()


@pytest.mark.parametrize("front", [[], ["env", "A=b"], ["nice", "-n", "1"]])
def test_linked_program(mpi: Mpi, program: Path, front: list[str]) -> None:
    found = detect(parse([*mpi.launch(2), *front, str(program)]))
    assert found is not None
    assert (found.abi, found.origin) == (mpi.abi, "linked")
    assert same(found.library.path, mpi.library)


def test_headers_are_the_librarys_own(mpi: Mpi, program: Path) -> None:
    found = detect(parse([str(program)]))
    assert found is not None
    assert found.library.path is not None
    version = library_version(found.library.path)
    assert version is not None
    assert (found.headers.standard, found.headers.product) == version


def test_program_counts_more_than_launcher(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text("#!/bin/sh\necho HYDRA Open MPI\n")
    launcher.chmod(0o755)
    found = detect(parse([str(launcher), "-n", "2", str(program)]))
    assert found is not None
    assert found.abi == mpi.abi


def test_launcher_tells_for_a_program_that_links_nothing(mpi: Mpi) -> None:
    found = detect(parse([*mpi.launch(2), "sleep", "1"]))
    assert found is not None
    assert (found.abi, found.origin) == (mpi.abi, "launcher")
    assert same(found.library.path, mpi.library)


def test_mpi4py_is_asked(mpi: Mpi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if mpi.library.name == "libmpich.so.12":
        impossible("mpi4py's wheel needs libmpi.so.12, which Debian calls otherwise")
    monkeypatch.setenv("MPI4PY_LIBMPI", str(mpi.library))
    script = tmp_path / "solver"
    script.write_text(f"#!{sys.executable}\n")
    script.chmod(0o755)
    for command in ([sys.executable, "solver.py"], [str(script)]):
        found = detect(parse(command))
        assert found is not None
        assert (found.abi, found.origin) == (mpi.abi, "mpi4py")
        assert same(found.library.path, mpi.library)


@pytest.mark.parametrize("first", ["site", "other"])
def test_mpi4py_is_asked_as_the_launcher_starts_it(
    first: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Launchers of Open MPI put their library first; a program that names its own file keeps it."""
    other, site = (small_open_mpi(tmp_path / name / "lib", "5.0.1") for name in ("other", "site"))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(other.parent))
    launcher = tmp_path / "site" / "bin" / "mpiexec"
    launcher.parent.mkdir()
    launcher.write_text("#!/bin/sh\n")
    launcher.chmod(0o755)
    include = small_header(tmp_path / "include", "5.0.1")
    name = other.name if first == "site" else str(other)
    (tmp_path / "python3.c").write_text(LOADS_LATE % name)
    subprocess.run(["cc", "python3.c", "-ldl", "-o", "python3"], cwd=tmp_path, check=True)
    found = detect(parse([str(launcher), "-n", "2", str(tmp_path / "python3")]), include=(include,))
    assert found is not None
    assert (found.preload, found.origin) == (site if first == "site" else other, "mpi4py")


def test_choice_overrides(any_mpi: Mpi, compiler: Compiler) -> None:
    program = compiler.text(any_mpi, "program.c", PROGRAM)
    include = read_headers_of(any_mpi)
    found = detect(parse([str(program)]), include=include.directories)
    assert found is not None
    assert found.headers.directories == include.directories
    with pytest.raises(RecorderError, match=r"no mpi\.h of the"):
        detect(parse([str(program)]), include=(Path("/nowhere"),))


def test_program_without_mpi() -> None:
    assert detect(parse(["sleep", "1"])) is None


def test_a_shell_may_start_an_mpi_program(any_mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{any_mpi.mpicc.parent}:{os.environ['PATH']}")
    assert detect(parse(["sh", "-c", "mpiexec ./app"])) is not None


@pytest.mark.parametrize(
    ("name", "abi"),
    [
        ("libmpi.so.12", "mpich"),
        ("libmpich.so.12", "mpich"),
        ("libmpi_cray.so.12", "mpich"),
        ("libmpi_gnu_123.so.12", "mpich"),
        ("libmpifort.so.12", "mpich"),
        ("libmpi.so.12.2.2", "mpich"),
        ("libmpi.so.40", "openmpi"),
        ("libmpi_mpifh.so.40", "openmpi"),
        ("libmpi.so.40.30.4", "openmpi"),
        ("libmpi_abi.so.1", "standard"),
        ("libmpi_abi.so.0", "standard"),
        ("libmpi.so.120", None),
        ("libmpi.so.4", None),
        ("libm.so.12", None),
        ("libmpdec.so.12", None),
    ],
)
def test_interface_by_name(name: str, abi: str | None) -> None:
    assert abi_of(name) == abi


def test_site_library_is_recognised_by_interface(tmp_path: Path) -> None:
    """A library of another name, found through a chain and LD_LIBRARY_PATH."""
    names = ("mpi_gnu_123.so.12", "solver.so", "program")
    sources = (
        "int MPI_Init(){return 0;}",
        "int MPI_Init();int solve(){return MPI_Init();}",
        "int solve();int main(){return solve();}",
    )
    for name, source in zip(names, sources, strict=True):
        (tmp_path / f"{name}.c").write_text(source)
    shared = ["cc", "-shared", "-fPIC"]
    first, second, program = f"lib{names[0]}", f"lib{names[1]}", names[2]
    for command in (
        [*shared, f"{names[0]}.c", "-o", first, f"-Wl,-soname,{first}"],
        [*shared, f"{names[1]}.c", f"./{first}", "-o", second, f"-Wl,-soname,{second}"],
        ["cc", f"{program}.c", f"./{second}", "-o", program, f"-Wl,-rpath-link,{tmp_path}"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    assert find_linked_mpi(tmp_path / program) is None or find_linked_mpi(tmp_path / program) == MpiLibrary(
        "mpich", None
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", str(tmp_path))
        assert find_linked_mpi(tmp_path / program) == MpiLibrary("mpich", tmp_path / first)


@pytest.mark.parametrize(("name", "abi"), [("libmpi.so.12", "mpich"), ("libmpi.so.40", "openmpi")])
def test_missing_library_still_tells_the_interface(name: str, abi: str, tmp_path: Path) -> None:
    (tmp_path / "mpi.c").write_text("int MPI_Init(){return 0;}")
    (tmp_path / "program.c").write_text("int MPI_Init();int main(){return MPI_Init();}")
    for words in (
        ["cc", "-shared", "-fPIC", "mpi.c", "-o", name, f"-Wl,-soname,{name}"],
        ["cc", "program.c", f"./{name}", "-o", "program"],
    ):
        subprocess.run(words, cwd=tmp_path, check=True)
    (tmp_path / name).unlink()
    library = find_linked_mpi(tmp_path / "program")
    assert library is not None
    assert library.abi == abi


def test_mpi_inside_a_program_is_static(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "static.c").write_text("int MPI_Init(){return 0;} int main(){return MPI_Init();}")
    subprocess.run(["cc", "static.c", "-o", "static"], cwd=tmp_path, check=True)
    assert is_statically_linked(tmp_path / "static")
    assert not is_statically_linked(tmp_path / "static.c")
    assert not is_statically_linked(Path("/bin/true"))
    assert not is_statically_linked(compiler.text(any_mpi, "program.c", PROGRAM))


def test_a_program_without_its_libraries_is_not_static(tmp_path: Path) -> None:
    """Its MPI came with a library that is gone; or it opens MPI by name."""
    sources = {
        "lib.c": "int MPI_Init(){return 0;}",
        "program.c": "int MPI_Init();int main(){return MPI_Init();}",
        "opens.c": 'const char *name = "MPI_Init"; int main(){return name == 0;}',
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    for words in (
        ["cc", "-shared", "-fPIC", "lib.c", "-o", "libsolver.so", "-Wl,-soname,libsolver.so"],
        ["cc", "program.c", "./libsolver.so", "-o", "program"],
        ["cc", "opens.c", "-o", "opens"],
    ):
        subprocess.run(words, cwd=tmp_path, check=True)
    (tmp_path / "libsolver.so").unlink()
    for name in ("program", "opens"):
        assert not is_statically_linked(tmp_path / name)


def test_installation_of_a_launcher(mpi: Mpi) -> None:
    for tool in (mpi.mpiexec, mpi.mpicc):
        library = find_installed_library(tool)
        assert library is not None
        assert library.abi == mpi.abi
        assert same(library.path, mpi.library)


def test_library_without_headers_takes_others_that_are_not_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = small_open_mpi(tmp_path / "site" / "lib", "4.1.2")
    (tmp_path / "tools").mkdir()
    for name, version in (("mpicc", "4.1.3"), ("mpicc.openmpi", "4.1.1")):
        include = small_header(tmp_path / version, version)
        wrapper = tmp_path / "tools" / name
        wrapper.write_text(f"#!/bin/sh\necho cc -I{include}\n")
        wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    headers = find_headers(MpiLibrary("openmpi", library))
    assert (headers.directories, headers.product) == ((tmp_path / "4.1.1",), "Open MPI 4.1.1")


def test_no_headers_at_all_names_library_and_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    message = r"no headers found for /site/lib/libmpi.so.40: .*HALOSCOPE_MPI_INCLUDE"
    with pytest.raises(RecorderError, match=message):
        find_headers(MpiLibrary("openmpi", Path("/site/lib/libmpi.so.40")))


@pytest.mark.parametrize(
    ("standard", "product", "newer"),
    [
        ((3, 1), "Open MPI 4.1.4", False),
        ((3, 1), "Open MPI 4.1.3", True),
        ((3, 1), "Open MPI 5.0.11", False),
        ((3, 0), "Open MPI 4.1.4", True),
        ((3, 1), "Intel MPI 1.0", False),
    ],
)
def test_newer_headers(standard: tuple[int, int], product: str, newer: bool) -> None:
    headers = Headers("openmpi", (Path("/include"),), "Open MPI 4.1.4", (3, 1))
    assert headers.newer_than(standard, product) is newer


@pytest.mark.parametrize(
    ("defines", "product", "abi"),
    [
        (
            {"OMPI_MAJOR_VERSION": "5", "OMPI_MINOR_VERSION": "0", "OMPI_RELEASE_VERSION": "3"},
            "Open MPI 5.0.3",
            "openmpi",
        ),
        ({"MPICH_VERSION": '"4.2.1"'}, "MPICH 4.2.1", "mpich"),
        ({"MPICH_VERSION": '"3.4"', "I_MPI_VERSION": '"2021.18"'}, "Intel MPI 2021.18", "mpich"),
    ],
)
def test_reading_headers(tmp_path: Path, defines: dict[str, str], product: str, abi: str) -> None:
    defines = {"MPI_VERSION": "3", "MPI_SUBVERSION": "1", **defines}
    lines = (f"#define {name} {value}\n" for name, value in defines.items())
    (tmp_path / "mpi.h").write_text("".join(lines))
    for other in ("openmpi", "mpich", "standard"):
        headers = read_headers(tmp_path, other)
        assert (headers is None) is (other != abi)
    assert headers is None or headers.standard == (3, 1)
    found = read_headers(tmp_path, abi)  # type: ignore[arg-type]
    assert found is not None
    assert found.product == product


def test_headers_with_half_a_version(tmp_path: Path) -> None:
    text = '#define MPICH_VERSION "3.4"\n#define MPI_VERSION 3\n#define MPI_SUBVERSION LATEST\n'
    for lines in (text, text.replace("#define MPI_SUBVERSION LATEST\n", "")):
        (tmp_path / "mpi.h").write_text(lines)
        found = read_headers(tmp_path, "mpich")
        assert found is not None
        assert found.standard == (3, 0)
    assert read_headers(tmp_path / "none", "mpich") is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#!/usr/bin/env python3", ("python3",)),
        ("#!/usr/bin/env -S python3 -u", ("python3",)),
        ("#! /opt/my/python -s", ("/opt/my/python", "-s")),
        ("\x7fELF", ()),
        ("#!", ()),
    ],
)
def test_interpreter_of_a_script(tmp_path: Path, line: str, words: tuple[str, ...]) -> None:
    script = tmp_path / "script"
    script.write_text(line + "\nbody\n")
    assert interpreter(script) == words


def read_headers_of(mpi: Mpi) -> Headers:
    return find_headers(MpiLibrary(mpi.abi, mpi.library))  # type: ignore[arg-type]
