"""`haloscope inject` in Fortran, and with rare features of MPI."""

from __future__ import annotations

import pytest

from support.injected import Inject
from support.mpi import Mpi

OPTIONS = ["--latency", "constant:40ms", "--once", "0:0:3s"]
# Operations that bring no data to the rank that measures them.
AT_ONCE = {"local", "nobody"}
# MPICH 5's UCX sometimes loses a first message between two worlds, also without Haloscope.
NETWORK = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
FORTRAN = ["-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch", "-w"]


def late(inject: Inject, mpi: Mpi, ranks: int, *arguments: str) -> dict[str, float]:
    done = inject(mpi, ranks, "reach.c", *arguments, options=OPTIONS, env=NETWORK)
    times = {name: float(time) for name, time, _ in done.lines}
    for name, time in times.items():
        assert time > 0.0399 or name in AT_ONCE, name
    return times


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-wheel"], indirect=True)
def test_all_operations_are_delayed(mpi: Mpi, inject: Inject) -> None:
    """MPI_Comm_idup, freed communicators, one-sided, neighbourhoods, and with MPI 4 partitions."""
    times = late(inject, mpi, 2)
    assert len(times) == (18 if mpi.abi == "mpich" else 15)
    assert times["first"] > 3.0399


@pytest.mark.parametrize("mpi", ["standard-wheel"], indirect=True)
def test_sessions_alone(mpi: Mpi, inject: Inject) -> None:
    done = inject(mpi, 2, "reach.c", "session", options=OPTIONS, env=NETWORK)
    times = {name: float(time) for name, time, _ in done.lines}
    assert times["session"] > 0.0399
    assert times["first"] > 3.0399
    # Every rank wrote its own rows; they are joined to one record at the end.
    assert sorted(done.latencies["rank"].to_list()) == [0, 0, 0]
    assert done.latencies["once"].to_list() == [1, 0, 0]
    assert [path.name for path in done.record.parent.glob("injected*")] == ["injected.csv"]


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_worlds_that_are_spawned(mpi: Mpi, inject: Inject) -> None:
    done = inject(mpi, 1, "reach.c", "spawn", options=OPTIONS)
    assert {name for name, *_ in done.lines} == {"merged", "spawned"}
    assert all(float(time) > 0.0399 for _, time, _ in done.lines)
    (record,) = done.record.parent.glob("injected-spawned-*.csv")
    assert [line.split(",")[2:6] for line in record.read_text().splitlines()[1:]] == [
        ["message", "-1", "4", "inter"]
    ] * 2


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
def test_messages_in_fortran_are_delayed(mpi: Mpi, inject: Inject, interface: str) -> None:
    """This includes a communicator of MPI_Comm_idup, a collective, and MPI_Put into a window."""
    options = ["--latency", "constant:40ms"]
    done = inject(mpi, 2, "forms.f90", options=options, flags=[*FORTRAN, interface])
    assert len(done.lines) == 16
    for name, elapsed, _ in done.lines:
        assert float(elapsed) > 0.03999, name
    # 14 messages, both ranks' part in the collective, one operation on a window. PMPI functions send tag 9;
    # those of MPICH's mpi_f08 call MPI functions in C.
    counts = done.latencies.filter(done.latencies["tag"].fill_null(5) == 5)["what"].value_counts()
    assert dict(counts.rows()) == {"message": 14, "collective": 2, "one-sided": 1}
