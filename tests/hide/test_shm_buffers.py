"""Receive buffers of the shm library (MPI_Irecv without a buffer, MPIX_Get_recv_buf), registered memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cluster import Cluster
from support.mpi import Mpi
from support.programs import Compiler
from support.shm import Shm, carried, offered

PROGRAMS = Path(__file__).resolve().parent / "programs" / "shm"
SYSTEM = pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)


@SYSTEM
def test_lent_buffers(mpi: Mpi, compiler: Compiler, shm: Shm, tmp_path: Path) -> None:
    """Each buffer belongs to its status; a second release is refused."""
    program = compiler(mpi, PROGRAMS / "lent.c", [str(shm.library)])
    record = tmp_path / "record"
    done = shm.run(2, program, "30", "100000", "0", settings={"output": str(record)})
    assert done.stdout.count("right") == 2
    assert done.stderr.count("release each buffer once") == 2
    assert "never given back" not in done.stderr
    assert carried(record).total() >= 120  # two messages per rank and round, by any protocol


@SYSTEM
def test_ahead_of_the_receive(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, shm: Shm, tmp_path: Path
) -> None:
    """Messages from another node are received, probed and truncated in every way; some look like tokens."""
    program = compiler(mpi, PROGRAMS / "ahead.c", [str(shm.library)])
    record = tmp_path / "record"
    command = shm.command(program, "60", "262144", output=str(record))
    assert two_nodes.run(mpi, [*mpi.launch(4), *command], cwd=tmp_path).stdout.count("right") == 4
    # At most the 24 messages per rank that are neither synchronous nor persistent.
    assert 0 < carried(record)["AHEAD"] <= 4 * 24


@SYSTEM
@pytest.mark.parametrize(
    "settings", [{"pool": "0"}, {"pool": "1"}, pytest.param({"protocol": "get"}, marks=pytest.mark.long)]
)
def test_a_bounded_pool(mpi: Mpi, compiler: Compiler, shm: Shm, settings: dict[str, str]) -> None:
    """With an empty pool, messages come the usual way. Buffers in use are counted at the end."""
    program = compiler(mpi, PROGRAMS / "lent.c", [str(shm.library)])
    done = shm.run(2, program, "20", "300000", "5", settings=settings)
    assert done.stdout.count("right") == 2
    assert done.stderr.count("5 receive buffers of the library were never given back") == 2


@SYSTEM
@pytest.mark.parametrize("interface", [pytest.param("-DUSE_MPI", marks=pytest.mark.long), "-DF08"])
def test_fortran(mpi: Mpi, compiler: Compiler, shm: Shm, interface: str, tmp_path: Path) -> None:
    """The library handles Fortran's messages, and arrays with holes if the compiler passes them unchanged."""
    flags = ["-cpp", "-w", "-fallow-argument-mismatch", interface, str(shm.library)]
    program = compiler(mpi, PROGRAMS / "lent.f90", flags)
    record = tmp_path / "record"
    assert shm.run(2, program, settings={"cma": "always", "output": str(record)}).stdout.count("right") == 2
    assert offered(record) >= 40


@SYSTEM
@pytest.mark.parametrize("source", ["registered.c", "registered.f90"])
def test_registered_memory(mpi: Mpi, compiler: Compiler, shm: Shm, source: str, tmp_path: Path) -> None:
    """The shm library handles exactly the messages from there, and the contents do not change."""
    flags = ["-Wall", "-Wextra", str(shm.library)]
    if source.endswith(".f90"):
        flags += ["-cpp", "-w", "-fallow-argument-mismatch"]
    record = tmp_path / "record"
    program = compiler(mpi, PROGRAMS / source, flags)
    first, second = shm.run(2, program, settings={"output": str(record)}).stdout.splitlines()
    assert first == second
    assert offered(record) == 2 * int(first.removeprefix("right "))


@SYSTEM
def test_without_the_shm_library_it_does_nothing(mpi: Mpi, compiler: Compiler, shm: Shm) -> None:
    program = compiler(mpi, PROGRAMS / "registered.c", ["-Wall", "-Wextra", str(shm.library)])
    assert shm.run(2, program, "off", settings={"protocol": "off"}).stdout == "right 0\n" * 2
