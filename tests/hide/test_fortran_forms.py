"""Each Fortran function, called once by each of its names, with the injector and with the shm library."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.fortran_calls import compile_fortran_calls
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler
from support.shm import Shm

BOTH = pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)


def _is_right(output: str) -> bool:
    return "fails" not in output and output.count("called") == 2


@BOTH
def test_with_the_injector(mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path) -> None:
    program, _ = compile_fortran_calls(mpi, compiler)
    command = [haloscope, "inject", "--latency", "constant:1us", "--", *mpi.launch(2), program]
    done = run_program([str(word) for word in command], env=mpi.environment(), cwd=tmp_path)
    assert _is_right(done.stdout), done.stdout


@BOTH
def test_with_the_shm_library(mpi: Mpi, compiler: Compiler, shm: Shm, tmp_path: Path) -> None:
    program, _ = compile_fortran_calls(mpi, compiler)
    done = mpi.run(2, shm.command(program), cwd=tmp_path)
    assert _is_right(done.stdout), done.stdout
