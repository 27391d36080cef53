"""Waiting for a receiver that is late shows where the sender waits, however it sends."""

from __future__ import annotations

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, program, watch

# The functions in which rank 0 waits, by region.
WAITS = {
    **{name: {name} for name in ("Send", "Ssend", "Sendrecv")},
    "Isend": {"Wait"},
    "Issend": {"Waitall"},
    "Start": {"Wait"},
}


@pytest.fixture(scope="module")
def late(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watch(mpi, 2, [program(compiler, mpi, "late.c")], tmp_path_factory.mktemp("late"))


def waited(late: Watched, region: str) -> float:
    """Return the seconds that rank 0 waited. Rank 1 sleeps before each receive."""
    (row,) = late.select("ranks", region=region, rank=0)
    return float(row["wait_time"])


@pytest.mark.parametrize("region", WAITS)
def test_all_time_in_what_may_block_is_waiting(late: Watched, region: str) -> None:
    calls = {f"MPI_{name}" for name in WAITS[region]}
    rows = [row for row in late.select("calls", region=region) if row["call"] in calls]
    assert [row["calls"] for row in rows] == [3]
    assert 0 < rows[0]["time_total"] == pytest.approx(waited(late, region))


def test_a_buffered_send_waits_for_nobody(late: Watched) -> None:
    assert waited(late, "Bsend") == 0
    # What empties the buffer does.
    assert waited(late, "detached") > 0
    (row,) = late.select("calls", region="Bsend", call="MPI_Bsend")
    assert (row["calls"], row["time_total"] > 0) == (3, True)
