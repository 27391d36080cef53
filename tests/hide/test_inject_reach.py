"""`haloscope inject` on the rarer ways of MPI."""

from __future__ import annotations

import pytest

from support.injected import Inject
from support.mpi import Mpi

OPTIONS = ["--latency", "constant:40ms", "--once", "0:0:3s"]
# What brings no data to who measures it.
AT_ONCE = {"local", "nobody"}
# MPICH 5's UCX loses a first message between two worlds now and then, in bare programs too.
NETWORK = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}


def late(inject: Inject, mpi: Mpi, ranks: int, *arguments: str) -> dict[str, float]:
    done = inject(mpi, ranks, "reach.c", *arguments, options=OPTIONS, env=NETWORK)
    times = {name: float(time) for name, time, _ in done.lines}
    for name, time in times.items():
        assert time > 0.0399 or name in AT_ONCE, name
    return times


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-wheel"], indirect=True)
def test_nothing_goes_past(mpi: Mpi, inject: Inject) -> None:
    """MPI_Comm_idup, freed communicators, one-sided, neighbourhoods; with MPI 4 partitions, too."""
    times = late(inject, mpi, 2)
    assert len(times) == (18 if mpi.abi == "mpich" else 15)
    assert times["first"] > 3.0399


@pytest.mark.parametrize("mpi", ["standard-wheel"], indirect=True)
def test_sessions_alone(mpi: Mpi, inject: Inject) -> None:
    done = inject(mpi, 2, "reach.c", "session", options=OPTIONS, env=NETWORK)
    times = {name: float(time) for name, time, _ in done.lines}
    assert times["session"] > 0.0399
    assert times["first"] > 3.0399
    # Every rank has left its own rows; there is one record in the end.
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
