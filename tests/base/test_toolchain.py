"""Compilers, build tools and libraries: which of several is used, and the remedy where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from haloscope import ComponentError, RecorderError
from haloscope.base.toolchain import (
    build_environment,
    build_tool,
    compiler,
    compiler_identity,
    find_hypre,
    find_p4est,
    find_petsc,
    run_logged,
    toolchain,
    wrapper_identity,
)


def file(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory that is all of PATH; the Python environment is `tmp_path / "own"`."""
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "own"))
    for name in ("CXX", "HYPRE_DIR", "P4EST_DIR", "PETSC_DIR", "PETSC_ARCH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tools").mkdir()
    return tmp_path / "tools"


def test_an_mpi_is_whole_or_not_taken(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match="no MPI compiler found: load your MPI's module"):
        toolchain()
    own = tmp_path / "own" / "bin"
    for name in ("mpicc", "mpicxx", "mpiexec"):
        file(own / name)
    assert (toolchain().compiler, toolchain().launcher) == (own / "mpicxx", own / "mpiexec")
    file(tools / "mpicc")
    file(tools / "mpicxx")
    assert toolchain().compiler == own / "mpicxx"  # the one on PATH has no launcher
    file(tools / "mpiexec")
    assert toolchain().compiler == tools / "mpicxx"


def test_the_compiler_is_the_users_else_the_first(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RecorderError, match=r"no C\+\+ compiler found: install one .*apt-get install g\+\+"):
        compiler()
    clang = file(tools / "clang++", "#!/bin/sh\necho clang 15.0\necho more\n")
    assert compiler() == str(clang)
    gcc = file(tools / "g++")
    assert compiler() == str(gcc)
    monkeypatch.setenv("CXX", "clang++")
    assert compiler() == str(clang)
    assert compiler_identity(str(clang)) == f"{clang} clang 15.0"
    assert compiler_identity(str(tmp_path / "none")) == str(tmp_path / "none")


def test_a_wrapper_is_known_by_what_it_runs(tools: Path, tmp_path: Path) -> None:
    wrapper = file(tools / "mpicxx", '#!/bin/sh\ncase $1 in -show) echo g++ -I/a;; *) echo "12 $1";; esac\n')
    assert wrapper_identity(wrapper).split() == ["g++", "-I/a", "12", "--version"]
    assert wrapper_identity(tmp_path / "none") == ""


def test_build_tools_are_the_environments_first(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(RecorderError, match=r"ninja not found: pip install 'haloscope\[build\]'"):
        build_tool("ninja")
    assert build_tool(str(file(tools / "ninja").name)) == str(tools / "ninja")
    own = file(tmp_path / "own" / "bin" / "ninja")
    assert build_tool("ninja") == str(own)


def test_a_build_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = ("LD_PRELOAD", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "DESTDIR")
    for name in dropped:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HTTP_PROXY", "kept")
    environment = build_environment()
    assert environment["HTTP_PROXY"] == "kept"
    assert not {"LD_PRELOAD", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "DESTDIR"} & set(
        environment
    )


def test_a_build_that_fails_is_logged(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_logged(["sh", "-c", "echo fine"], "building", log, {"PATH": "/usr/bin:/bin"})
    assert not log.exists()
    script = "echo ---; echo first; echo a.cpp: Error: no type; exit 3"
    with pytest.raises(RecorderError, match=f"building failed; .* in {log}: a.cpp: Error: no type$"):
        run_logged(["sh", "-c", script], "building", log, {"PATH": "/usr/bin:/bin"})
    assert log.read_text().splitlines()[1:] == ["---", "first", "a.cpp: Error: no type"]
    with pytest.raises(RecorderError, match=r"failed; .*: first second$"):
        run_logged(["sh", "-c", "echo first; echo second; echo third; exit 1"], "building", log, {})
    with pytest.raises(RecorderError, match="building: /none/cc: No such file"):
        run_logged(["/none/cc"], "building", log, {})


@pytest.mark.parametrize(
    "library", ["lib/libHYPRE.so", "lib64/libHYPRE.so", "lib/x/libHYPRE.so", "lib/libHYPRE.a"]
)
@pytest.mark.parametrize("header", ["include/HYPRE.h", "include/hypre/HYPRE.h"])
def test_hypre(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, header: str
) -> None:
    monkeypatch.setenv("HYPRE_DIR", str(tmp_path / "hypre"))
    file(tmp_path / "hypre" / header)
    with pytest.raises(ComponentError, match=r"apt-get install libhypre-dev.*HYPRE_DIR"):
        find_hypre()
    made = file(tmp_path / "hypre" / library)
    found = find_hypre()
    assert (found.include, found.library) == ((tmp_path / "hypre" / header).parent, made)


def test_p4est(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P4EST_DIR", str(tmp_path / "p4est"))
    with pytest.raises(ComponentError, match=r"apt-get install libp4est-dev.*P4EST_DIR"):
        find_p4est()
    header = file(tmp_path / "p4est" / "include" / "p8est.h")
    assert find_p4est().include == header.parent


@pytest.mark.parametrize(
    ("configuration", "abi"),
    [
        ("#define PETSC_HAVE_OMPI_MAJOR_VERSION 4", "openmpi"),
        ("#define PETSC_HAVE_MPICH_NUMVERSION 40", "mpich"),
        ("#define PETSC_HAVE_I_MPI_NUMVERSION 20", "mpich"),
        ("", None),
    ],
)
def test_petsc_that_is_named(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configuration: str, abi: str | None
) -> None:
    monkeypatch.setenv("PETSC_DIR", str(tmp_path / "petsc"))
    monkeypatch.setenv("PETSC_ARCH", "linux")
    with pytest.raises(ComponentError, match=r"libpetsc-real-dev.*PETSC_DIR"):
        find_petsc()
    header = file(tmp_path / "petsc/linux/include/petscconf.h", configuration)
    found = find_petsc()
    assert found.abi == abi
    assert found.includes == (tmp_path / "petsc" / "include", header.parent)
    with pytest.raises(ComponentError, match=r"no libpetsc\.so there; is PETSC_ARCH right\?"):
        found.library  # noqa: B018 - the access is what fails
    static = file(tmp_path / "petsc/linux/lib/libpetsc.a")
    assert found.library == static
    real = file(tmp_path / "petsc/linux/lib/libpetsc_real.so")
    assert found.library == real


def test_petsc_of_pkg_config_has_real_numbers(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file(tools / "pkg-config", f"#!/bin/sh\n[ $2 = PETSc ] && echo {tmp_path}/petsc\n")
    header = file(tmp_path / "petsc/include/petscconf.h")
    assert find_petsc().configured == tmp_path / "petsc"
    header.write_text("#define PETSC_USE_COMPLEX 1")
    monkeypatch.setenv("PETSC_DIR", str(tmp_path / "petsc"))
    with pytest.raises(ComponentError, match=r"this PETSc has complex numbers: install .*libpetsc-real-dev"):
        find_petsc()
