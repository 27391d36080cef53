"""`haloscope inject` on programs in Fortran, by each of MPI's interfaces."""

from __future__ import annotations

import pytest

from support.injected import Inject
from support.missing import missing
from support.mpi import Mpi

FLAGS = ["-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch", "-w"]


@pytest.mark.parametrize(
    ("mpi", "interface"),
    [
        ("openmpi-system", "-DMPIF_H"),
        pytest.param("openmpi-system", "-DUSE_MPI", marks=pytest.mark.long),
        ("openmpi-system", "-DF08"),
        pytest.param("mpich-system", "-DF08", marks=pytest.mark.long),
    ],
    indirect=["mpi"],
)
def test_messages_in_fortran_are_held_back(mpi: Mpi, inject: Inject, interface: str) -> None:
    """Also by a communicator of MPI_Comm_idup, in a collective, and what is put into a window."""
    if mpi.mpifort is None:
        missing(f"{mpi.name} has no Fortran compiler: apt-get install gfortran")
    options = ["--latency", "constant:40ms"]
    done = inject(mpi, 2, "forms.f90", options=options, flags=[*FLAGS, interface])
    assert len(done.lines) == 16
    for name, elapsed, _ in done.lines:
        assert float(elapsed) > 0.03999, name
    # 14 messages, both ranks' part in the collective, one operation on a window. Tag 9 is what the
    # program sends by PMPI functions: those of MPICH's mpi_f08 call MPI functions in C.
    counts = done.latencies.filter(done.latencies["tag"].fill_null(5) == 5)["what"].value_counts()
    assert dict(counts.rows()) == {"message": 14, "collective": 2, "one-sided": 1}
