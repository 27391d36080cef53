"""Markers of Kokkos, NVTX and ITT: programs load the recorder as these interfaces do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import PROGRAMS, STRICT, Watched, program, watch

FLAGS = ("-ldl", "-lpthread", "-Wno-pedantic")


def watched(mpi: Mpi, compiler: Compiler, tmp_path: Path, name: str, **environment: str) -> Watched:
    command = [program(compiler, mpi, name, FLAGS)]
    return watch(mpi, 2, command, tmp_path, env=environment)


def sends(run: Watched) -> dict[str, tuple[int, int]]:
    """Messages of all ranks in a region alone, and its instances in each, by path."""
    rows = run.rows("regions", True)
    return {row["path"]: (row["sends_total"], row["instances"]) for row in rows}


def assert_balanced(run: Watched, interface: str) -> None:
    info = run.info
    assert (info["unmatched_begins"], info["unmatched_ends"], info["dropped"]) == ("0", "0", "0")
    assert json.loads(info["annotations"]) == interface


def test_kokkos(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watched(mpi, compiler, tmp_path, "told_kokkos.c")
    found = sends(run)
    assert found["before MPI_Init"] == (2, 1)
    assert found["assembly"] == (0, 1)
    assert found["assembly/fill"] == (6, 3)
    kernels = ("norm", "offsets", "fence: before send")
    assert {name: found[f"assembly/{name}"] for name in kernels} == dict.fromkeys(kernels, (2, 1))
    assert found["deep_copy"] == (2, 1)
    assert found["past MPI_Finalize"] == (0, 1)
    assert (found["first"], found["first/second"]) == ((4, 2), (4, 2))
    assert_balanced(run, "kokkos")
    assert json.loads(run.info["kokkos_space"]) == "Serial"


def test_names_of_kernels_are_bounded(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    found = sends(watched(mpi, compiler, tmp_path, "told_kokkos.c"))
    assert ("x" * 124 + "...", (2, 1)) in found.items()
    many = {path: value for path, value in found.items() if path.startswith("many/")}
    assert len(many) == 257
    assert many["many/(other)"] == (2 * (1000 - 256), 1000 - 256)
    assert many["many/kernel 0"] == (4, 2)


def test_nvtx(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watched(mpi, compiler, tmp_path, "told_nvtx.c")
    found = sends(run)
    assert (found["step"], found["step/wide"]) == ((6, 3), (6, 3))
    assert (found["registered"], found["attributes"], found["(unnamed)"]) == ((2, 1), (2, 1), (2, 1))
    assert (found["first"], found["first/second"]) == ((2, 1), (2, 1))
    assert found["<program>"] == (2, 1)
    assert not any("work" in path or "past" in path for path in found)
    assert_balanced(run, "nvtx")


def test_itt(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watched(mpi, compiler, tmp_path, "told_itt.c")
    found = sends(run)
    assert (found["solver"], found["solver/exchange"]) == ((0, 3), (6, 3))
    assert (found["first"], found["first/second"], found["event"]) == ((2, 1), (2, 1), (2, 1))
    assert found["<program>"] == (2, 1)
    assert_balanced(run, "itt")


@pytest.mark.parametrize("chosen", ["none", "nvtx,petsc"])
def test_one_setting_switches_them_off(mpi: Mpi, compiler: Compiler, tmp_path: Path, chosen: str) -> None:
    # Even a tool that is named by hand gets no events.
    environment = {"HALOSCOPE_ANNOTATIONS": chosen}
    script = 'export KOKKOS_TOOLS_LIBS=${LD_PRELOAD%%:*}; exec "$@"'
    command = ["sh", "-c", script, "sh", str(program(compiler, mpi, "told_kokkos.c", FLAGS))]
    run = watch(mpi, 2, command, tmp_path, env=environment)
    assert set(sends(run)) == {"<program>"}
    assert "annotations" not in run.info


def test_an_unknown_interface_is_named(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    environment = {"HALOSCOPE_ANNOTATIONS": "kokkos,cuda"}
    run = watch(mpi, 2, [program(compiler, mpi, "regions.c")], tmp_path, env=environment)
    (line,) = [line for line in run.done.stderr.splitlines() if "HALOSCOPE_ANNOTATIONS" in line]
    assert "'cuda'" in line


def test_petsc_with_handlers(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    source = PROGRAMS / "petsc_handlers.c"
    library = compiler(mpi, source, ["-DLIBRARY", "-shared", "-fPIC"])
    flags = [*STRICT, str(library), f"-Wl,-rpath,{library.parent}"]
    run = watch(mpi, 2, [compiler(mpi, source, flags)], tmp_path)
    found = sends(run)
    assert (found["my stage"], found["my stage/my event"]) == ((0, 2), (2, 4))
    assert found["my stage/another event"] == (2, 4)
    assert found["my stage/my event/SFReduceBegin"] == (6, 3)
    assert (found["Main Stage"], found["<program>"]) == ((4, 2), (4, 1))
    info = run.info
    # The event that the program did not end.
    assert (info["unmatched_begins"], info["unmatched_ends"]) == ("4", "0")
    assert json.loads(info["annotations"]) == "petsc"
