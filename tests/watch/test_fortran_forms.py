"""Each Fortran function of a library, called once by each of its names, is counted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.fortran_calls import compile_fortran_calls
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import watch

# MPICH's old forms call these of C.
CONVERSIONS = {"MPI_File_c2f", "MPI_File_f2c"}


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_every_name_is_counted_once(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    program, called = compile_fortran_calls(mpi, compiler)
    watched = watch(mpi, 2, [program], tmp_path)
    assert "fails" not in watched.done.stdout
    assert watched.done.stdout.count("called\n") == 2
    forms = {form for form, _ in called}
    assert len(forms) >= 5
    for form in forms:
        counted = {row["call"]: row["calls"] for row in watched.select("calls", region=form)}
        wanted = {name: 2 * number for (of, name), number in called.items() if of == form}
        assert {name: number for name, number in counted.items() if name not in CONVERSIONS} == wanted
