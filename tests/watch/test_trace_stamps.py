"""Ticks that go back: in a trace the clock stands still until it has come to where it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from haloscope.base.headers import find_headers
from haloscope.base.objects import Abi, MpiLibrary
from haloscope.base.toolchain import build_tool
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program

SOURCES = ("trace/encoder.cpp", "trace/packing.cpp", "records/arena.cpp", "records/compress.cpp")


@pytest.fixture(scope="module")
def kept(any_mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorder's own encoder as a program, with the headers that its build makes."""
    directory, source = tmp_path_factory.mktemp("stamps"), CHECKOUT / "src"
    abi: Abi = "openmpi" if any_mpi.abi == "openmpi" else "mpich"
    headers = find_headers(MpiLibrary(abi, any_mpi.library)).directories
    settings = {
        "CMAKE_MAKE_PROGRAM": build_tool("ninja"),
        "HALOSCOPE_ABI": abi,
        "HALOSCOPE_MPI_INCLUDE": ";".join(map(str, headers)),
        "Python3_EXECUTABLE": sys.executable,
    }
    words = [build_tool("cmake"), "-S", str(source / "watch"), "-B", str(directory), "-G", "Ninja"]
    words += [f"-D{name}={value}" for name, value in settings.items()]
    for command in (words, [build_tool("ninja"), "-C", str(directory), "generated"]):
        subprocess.run(command, check=True, capture_output=True)
    own = [source / "watch" / name for name in SOURCES]
    includes = [f"-I{path}" for path in (source, directory / "generated", CHECKOUT / "include", *headers)]
    program = Path(__file__).with_name("repeats") / "stamps_back.cpp"
    target = directory / "kept"
    subprocess.run(["c++", "-std=c++20", "-O1", *includes, program, *own, "-o", target, "-ldl"], check=True)
    return target


@pytest.mark.parametrize(
    ("ticks", "ends"),
    [
        ([110, 120, 130, 140], [110, 120, 130, 140]),
        ([110, 120, 90, 95, 130, 140], [110, 120, 120, 120, 130, 140]),
        ([90, 110], [100, 110]),
    ],
)
def test_a_clock_that_goes_back_stands_still(kept: Path, ticks: list[int], ends: list[int]) -> None:
    done = run_program([kept], text=" ".join(map(str, ticks)))
    assert [int(line) for line in done.stdout.split()] == ends
