"""Memory of a program's own that is registered, so that its messages are carried.

tests/hide/programs/shm/registered.c looks at what the program sees of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.missing import missing
from support.mpi import Mpi
from support.programs import Compiler
from support.shm import Shm, offered

PROGRAMS = Path(__file__).resolve().parent / "programs" / "shm"
SYSTEM = pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)


@SYSTEM
@pytest.mark.parametrize("source", ["registered.c", "registered.f90"])
def test_registered_memory(mpi: Mpi, compiler: Compiler, shm: Shm, source: str, tmp_path: Path) -> None:
    """Exactly the messages from there are for the shm library, and it keeps what it holds."""
    flags = ["-Wall", "-Wextra", str(shm.library)]
    if source.endswith(".f90"):
        if mpi.mpifort is None:
            missing(f"{mpi.name} has no Fortran compiler: apt-get install gfortran")
        flags += ["-cpp", "-w", "-fallow-argument-mismatch"]
    record = tmp_path / "record"
    program = compiler(mpi, PROGRAMS / source, flags)
    done = shm.run(2, program, settings={"output": str(record)})
    first, second = done.stdout.splitlines()
    assert first == second
    assert offered(record) == 2 * int(first.removeprefix("right "))


@SYSTEM
def test_without_the_shm_library_it_does_nothing(mpi: Mpi, compiler: Compiler, shm: Shm) -> None:
    program = compiler(mpi, PROGRAMS / "registered.c", ["-Wall", "-Wextra", str(shm.library)])
    done = shm.run(2, program, "off", settings={"protocol": "off"})
    assert done.stdout == "right 0\n" * 2
