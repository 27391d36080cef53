"""A ready-made library is used for the MPI libraries that it fits, and for no other."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from haloscope import RecorderError
from haloscope.base import building
from haloscope.base.building import build_preload, is_ready
from haloscope.base.cache import is_whole
from haloscope.base.headers import Headers, find_headers
from haloscope.base.objects import Abi, MpiLibrary
from haloscope.base.prebuilt import DESCRIPTION, find_prebuilt, functions, source_mark
from support.mpi import Mpi
from support.small_mpi import FUNCTIONS, small_open_mpi


@pytest.fixture
def prebuilt_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("haloscope.base.paths.prebuilt", lambda: tmp_path / "prebuilt")
    monkeypatch.setenv("HALOSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "prebuilt"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.cpp"
    path.write_text("int zero;\n")
    return path


def library(mpi: Mpi) -> MpiLibrary:
    abi: Abi = "openmpi" if mpi.abi == "openmpi" else "mpich"
    return MpiLibrary(abi, mpi.library)


def make(
    prebuilt_folder: Path, name: str, source: Path, wraps: Sequence[str], known: Sequence[str], **more: Any
) -> Path:
    """An interface with one kind of library in it, `thing`."""
    (prebuilt_folder / name).mkdir(parents=True)
    archive = prebuilt_folder / name / "thing.tar.xz"
    (prebuilt_folder / "library.so").write_bytes(b"code")
    with tarfile.open(archive, "w:xz") as files:
        files.add(prebuilt_folder / "library.so", "library.so")
    described = {"product": name, "glibc": [2, 17], "wraps": list(wraps), "functions": list(known)}
    marks = {"sources": {"thing": source_mark("thing", [source])}}
    (prebuilt_folder / name / DESCRIPTION).write_text(json.dumps(described | marks | more))
    return archive


def check(built: Path, archive: Path) -> None:
    """The unpacked files are those of the archive."""
    assert archive.parent.name in built.name
    assert (built / "library.so").read_bytes() == b"code"
    assert is_whole(built)


def test_functions_of_a_library(mpi: Mpi) -> None:
    found = functions(mpi.library)
    assert {"MPI_Init", "MPI_Send", "MPI_Allreduce", "MPI_Type_create_f90_integer"} <= found
    assert not {name for name in found if name.isupper() or not name.startswith(("MPI_", "MPIX_"))}


def test_of_several_that_fit_the_one_that_knows_most_is_taken(
    mpi: Mpi, prebuilt_folder: Path, source: Path
) -> None:
    found, mine = library(mpi), sorted(functions(mpi.library))
    make(prebuilt_folder, f"{found.abi}-older", source, mine[:-9], mine[:-7])
    near = make(prebuilt_folder, f"{found.abi}-near", source, mine[:-5], mine[:-3])
    make(prebuilt_folder, f"{found.abi}-newer", source, [*mine, "MPI_To_come"], [*mine, "MPI_To_come"])
    taken = find_prebuilt("thing", found, [source])
    assert taken is not None
    assert (taken.archive, taken.unseen) == (near, tuple(mine[-3:]))
    exact = make(prebuilt_folder, f"{found.abi}-same", source, mine[:-5], mine)
    taken = find_prebuilt("thing", found, [source])
    assert taken is not None
    assert (taken.archive, taken.unseen) == (exact, ())


@pytest.mark.parametrize("wrong", ["sources", "glibc", "kind", "interface"])
def test_what_does_not_fit_is_not_taken(
    wrong: str, any_mpi: Mpi, prebuilt_folder: Path, source: Path
) -> None:
    found, mine = library(any_mpi), sorted(functions(any_mpi.library))
    name = "standard-same" if wrong == "interface" else f"{found.abi}-same"
    more = {"glibc": [2, 999]} if wrong == "glibc" else {}
    make(prebuilt_folder, name, source, mine, mine, **more)
    if wrong == "sources":
        source.write_text("int one;\n")
    kind = "other" if wrong == "kind" else "thing"
    assert find_prebuilt(kind, found, [source]) is None


def ready(mpi: Mpi, directories: tuple[Path, ...] = ()) -> Headers:
    return Headers(library(mpi).abi, directories, "this MPI", (3, 1), mpi.library)


def test_what_fits_is_not_built(
    any_mpi: Mpi, prebuilt_folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = sorted(functions(any_mpi.library))
    folder = make(prebuilt_folder, f"{any_mpi.abi}-same", source, mine, mine)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    check(build_preload("thing", ready(any_mpi), ["library.so"], [source]), folder)
    assert is_ready("thing", ready(any_mpi), [source])


@pytest.mark.parametrize("changed", ["source", "build", "interface"])
def test_a_build_is_searched_again_if_a_file_has_changed(
    any_mpi: Mpi, prebuilt_folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    mine = sorted(functions(any_mpi.library))
    archive = make(prebuilt_folder, f"{any_mpi.abi}-same", source, mine, mine)
    search = partial(build_preload, "thing", ready(any_mpi), ["library.so"], [source])
    monkeypatch.setattr("haloscope.base.known_builds._SETTLED", -(10**18))  # times may be equal
    built = search()
    monkeypatch.setattr(building, "find_prebuilt", None)  # it cannot be called
    assert search() == built
    files = {"source": source, "build": built / "library.so", "interface": archive.with_name(DESCRIPTION)}
    with files[changed].open("a") as file:
        file.write(" ")
    with pytest.raises(TypeError):
        search()


def test_what_fits_nearly_is_taken_where_nothing_can_be_built(
    any_mpi: Mpi,
    prebuilt_folder: Path,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    mine = sorted(functions(any_mpi.library))
    folder = make(prebuilt_folder, f"{any_mpi.abi}-near", source, mine[:-5], mine[:-2])
    monkeypatch.setattr(building, "build_once", lambda *_: Path("built"))
    with_headers = ready(any_mpi, (source.parent,))
    assert build_preload("thing", with_headers, ["library.so"], [source]) == Path("built")
    assert capfd.readouterr().err == ""
    monkeypatch.undo()
    monkeypatch.setattr("haloscope.base.paths.prebuilt", lambda: prebuilt_folder)
    monkeypatch.setenv("HALOSCOPE_CACHE", str(prebuilt_folder.with_name("cache")))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    check(build_preload("thing", with_headers, ["library.so"], [source]), folder)
    output = capfd.readouterr().err
    assert output.count("\n") == 1
    assert f"does not see 2 functions of this MPI, such as {mine[-2]}" in output
    assert "no C++ compiler found" in output


def test_one_line_where_nothing_fits_and_nothing_can_be_built(
    any_mpi: Mpi, prebuilt_folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not prebuilt_folder.exists()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(
        RecorderError, match=r"^no thing for this MPI yet, and it cannot be built: no C\+\+ comp"
    ):
        build_preload("thing", ready(any_mpi, (source.parent,)), ["library.so"], [source])


def test_no_headers_are_needed_for_what_is_ready(
    prebuilt_folder: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = MpiLibrary("openmpi", small_open_mpi(tmp_path / "site" / "lib", "4.1.4"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    with pytest.raises(RecorderError, match="no headers found"):
        find_headers(found)
    folder = make(prebuilt_folder, "openmpi-same", source, FUNCTIONS, FUNCTIONS)
    headers = find_headers(found)
    assert (headers.directories, headers.product) == ((), "Open MPI 4.1.4")
    check(build_preload("thing", headers, ["library.so"], [source]), folder)
