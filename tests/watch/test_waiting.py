"""Waiting for a receiver that is late shows where the sender waits, however it sends."""

from __future__ import annotations

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, program, watch

BLOCKED = ("Send", "Ssend", "Sendrecv", "Isend", "Issend", "Start")


@pytest.fixture(scope="module")
def late(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watch(mpi, 2, [program(compiler, mpi, "late.c")], tmp_path_factory.mktemp("late"))


def sender(late: Watched, region: str) -> tuple[float, float]:
    """How long rank 0 waited, and how long rank 1 took, who sleeps before each receive."""
    rows = {row["rank"]: row for row in late.select("ranks", region=region)}
    return rows[0]["wait_time"], rows[1]["time"]


@pytest.mark.parametrize("region", BLOCKED)
def test_a_sender_waits_for_a_late_receiver(late: Watched, region: str) -> None:
    waited, time = sender(late, region)
    assert waited > time / 2


def test_a_buffered_send_waits_for_nobody(late: Watched) -> None:
    assert sender(late, "Bsend")[0] == 0
    # What empties the buffer does.
    assert sender(late, "detached")[0] > 0
    (row,) = late.select("calls", region="Bsend", call="MPI_Bsend")
    assert (row["calls"], row["time_total"] > 0) == (3, True)


@pytest.mark.parametrize("call", ["Send", "Ssend", "Sendrecv"])
def test_the_function_that_waits_has_the_time(late: Watched, call: str) -> None:
    (row,) = late.select("calls", region=call, call=f"MPI_{call}")
    waited, _ = sender(late, call)
    assert row["calls"] == 3
    assert row["time_total"] == pytest.approx(waited)
