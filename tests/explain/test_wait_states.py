"""Wait states of traces that were written by hand, with results calculated by hand (ns)."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from haloscope.profile.waiting import WaitAnalysis
from support.traces import Script

Found = tuple[str, int, int | None, int]
_CASES: dict[str, tuple[int, Callable[[Script], None], set[Found]]] = {}


def case(ranks: int, *expected: Found) -> Callable[[Callable[[Script], None]], Callable[[Script], None]]:
    """Register a function that writes a trace, with the waiting in it: kind, rank, partner, ns."""

    def keep(write: Callable[[Script], None]) -> Callable[[Script], None]:
        _CASES[write.__name__] = (ranks, write, set(expected))
        return write

    return keep


def together(
    script: Script,
    name: str,
    begins: list[int],
    ends: list[int],
    root: int = -1,
    number: int = 0,
    group: int = 0,
) -> None:
    """Write a collective of all ranks."""
    for rank, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        call = script.call(rank, name, begin, end)
        script.collective(call, name, number, 8, 8, root, group)


@case(2, ("late_sender", 1, 0, 70))
def late_sender(script: Script) -> None:
    script.send(script.call(0, "MPI_Send", 80, 90), 1, 8)
    script.receive(script.call(1, "MPI_Recv", 10, 95), 0, 8)


@case(2)
def early_sender(script: Script) -> None:
    script.send(script.call(0, "MPI_Send", 0, 10), 1, 8)
    script.receive(script.call(1, "MPI_Recv", 50, 60), 0, 8)


@case(2, ("late_sender", 1, 0, 30))
def late_sender_of_a_posted_receive(script: Script) -> None:
    """The receive is posted early, so only MPI_Wait waits."""
    script.send(script.call(0, "MPI_Isend", 80, 82), 1, 8, completed=script.call(0, "MPI_Wait", 90, 91))
    script.receive(script.call(1, "MPI_Irecv", 10, 12), 0, 8, completed=script.call(1, "MPI_Wait", 50, 95))


@case(3, ("late_sender", 2, 1, 60))
def late_senders_of_a_waitall(script: Script) -> None:
    """MPI_Waitall waits for the last of its messages."""
    for rank, begin in ((0, 40), (1, 70)):
        script.send(script.call(rank, "MPI_Send", begin, begin + 4), 2, 8)
    posts = [script.call(2, "MPI_Irecv", 2 * i, 2 * i + 1) for i in range(2)]
    wait = script.call(2, "MPI_Waitall", 10, 80)
    for rank, post in enumerate(posts):
        script.receive(post, rank, 8, completed=wait)


@case(3, ("wrong_order", 2, 1, 60))
def messages_in_wrong_order(script: Script) -> None:
    """Rank 2 waits for rank 1's message, though rank 0's older message has arrived and is received later."""
    script.send(script.call(0, "MPI_Send", 5, 9), 2, 8)
    script.send(script.call(1, "MPI_Send", 70, 74), 2, 8)
    script.receive(script.call(2, "MPI_Recv", 10, 80), 1, 8)
    script.receive(script.call(2, "MPI_Recv", 81, 83), 0, 8)


@case(3, ("late_sender", 2, 0, 10), ("late_sender", 2, 1, 37))
def messages_in_right_order(script: Script) -> None:
    script.send(script.call(0, "MPI_Send", 20, 24), 2, 8)
    script.send(script.call(1, "MPI_Send", 70, 74), 2, 8)
    script.receive(script.call(2, "MPI_Recv", 10, 30), 0, 8)
    script.receive(script.call(2, "MPI_Recv", 33, 80), 1, 8)


@case(2, ("wrong_order", 1, 0, 30))
def tags_in_wrong_order(script: Script) -> None:
    """The second message of a sender is received first."""
    script.send(script.call(0, "MPI_Send", 5, 9), 1, 8, tag=1)
    script.send(script.call(0, "MPI_Send", 40, 44), 1, 8, tag=2)
    script.receive(script.call(1, "MPI_Recv", 10, 50), 0, 8, tag=2)
    script.receive(script.call(1, "MPI_Recv", 60, 62), 0, 8, tag=1)


@case(2, ("late_receiver", 0, 1, 75))
def late_receiver(script: Script) -> None:
    script.send(script.call(0, "MPI_Ssend", 5, 90), 1, 8)
    script.receive(script.call(1, "MPI_Recv", 80, 92), 0, 8)


@case(2, ("late_receiver", 0, 1, 50))
def late_receiver_of_a_posted_send(script: Script) -> None:
    """A long message: the wait for the send lasts until the receive is posted."""
    script.send(script.call(0, "MPI_Isend", 5, 7), 1, 1 << 20, completed=script.call(0, "MPI_Wait", 30, 95))
    script.receive(
        script.call(1, "MPI_Irecv", 80, 81), 0, 1 << 20, completed=script.call(1, "MPI_Wait", 85, 99)
    )


@case(2)
def short_messages_wait_for_no_receiver(script: Script) -> None:
    """The first send ended before its receive was posted, so a send of the same size does not wait."""
    script.send(script.call(0, "MPI_Send", 0, 10), 1, 64)
    script.send(script.call(0, "MPI_Send", 20, 60), 1, 64)
    script.receive(script.call(1, "MPI_Recv", 30, 40), 0, 64)
    script.receive(script.call(1, "MPI_Recv", 50, 61), 0, 64)


@case(2)
def a_buffered_send_waits_for_nobody(script: Script) -> None:
    script.send(script.call(0, "MPI_Bsend", 0, 60), 1, 64)
    script.receive(script.call(1, "MPI_Recv", 30, 70), 0, 64)


@case(2, ("polling", 1, None, 25))
def looking_is_no_waiting(script: Script) -> None:
    script.send(script.call(0, "MPI_Send", 80, 82), 1, 8)
    script.receive(script.call(1, "MPI_Irecv", 10, 12), 0, 8, completed=script.call(1, "MPI_Test", 70, 95))


@case(
    3,
    ("wait_at_barrier", 0, 2, 90),
    ("wait_at_barrier", 1, 2, 40),
    ("barrier_completion", 0, None, 2),
    ("barrier_completion", 1, None, 5),
)
def barrier(script: Script) -> None:
    together(script, "MPI_Barrier", [10, 60, 100], [112, 115, 110])


@case(3, ("wait_at_nxn", 1, 0, 80), ("wait_at_nxn", 2, 0, 50), ("nxn_completion", 0, None, 10))
def all_to_all(script: Script) -> None:
    together(script, "MPI_Allreduce", [100, 20, 50], [130, 120, 120])


@case(3, ("early_reduce", 1, 0, 30))
def early_reduce(script: Script) -> None:
    """The root waits for the first of the others, which sends data from then on."""
    together(script, "MPI_Reduce", [40, 10, 90], [45, 99, 95], root=1)


@case(3)
def late_reduce(script: Script) -> None:
    together(script, "MPI_Gatherv", [40, 60, 90], [45, 99, 95], root=1)


@case(3, ("late_broadcast", 0, 1, 20), ("late_broadcast", 2, 1, 55))
def late_broadcast(script: Script) -> None:
    together(script, "MPI_Bcast", [40, 60, 5], [70, 65, 72], root=1)


@case(4, ("early_scan", 1, 0, 40), ("early_scan", 3, 2, 20))
def early_scan(script: Script) -> None:
    """Rank 2 is later than lower ranks; rank 3 waits for it."""
    together(script, "MPI_Scan", [50, 10, 80, 60], [55, 60, 90, 95])


@case(3, ("wait_at_nxn", 0, 2, 25))
def a_posted_collective(script: Script) -> None:
    """Rank 0's wait begins before the last rank has started; rank 1's does not."""
    for rank, (begin, wait) in enumerate(((5, 65), (10, 92), (90, 94))):
        call = script.call(rank, "MPI_Iallreduce", begin, begin + 2)
        done = script.call(rank, "MPI_Wait", wait, 95)
        script.collective(call, "MPI_Iallreduce", 0, 8, 8, completed=done)


@case(4, ("wait_at_barrier", 0, 2, 30), ("wait_at_barrier", 3, 1, 20))
def parts_of_the_world(script: Script) -> None:
    """Communicators are distinguished, and partners are world ranks."""
    groups = [script.communicator([2, 0]), script.communicator([1, 3])]
    for rank, begin in enumerate((10, 30, 40, 10)):
        call = script.call(rank, "MPI_Barrier", begin, 50)
        script.collective(call, "MPI_Barrier", 0, communicator=groups[rank % 2])


@case(2, ("late_sender", 0, 1, 40), ("late_receiver", 1, 0, 10))
def an_exchange(script: Script) -> None:
    """MPI_Sendrecv both sends and receives: rank 0 waits for the sender, rank 2's send for the receiver."""
    one, other = script.call(0, "MPI_Sendrecv", 10, 60), script.call(1, "MPI_Sendrecv", 50, 62)
    script.send(one, 1, 8)
    script.receive(one, 1, 8)
    script.send(other, 0, 8)
    script.receive(other, 0, 8)
    late = script.call(1, "MPI_Ssend", 70, 85)
    script.send(late, 0, 8, tag=1)
    script.receive(script.call(0, "MPI_Recv", 80, 86), 1, 8, tag=1)


@case(2, ("late_sender", 1, 0, 40))
def the_first_message_is_matched_first(script: Script) -> None:
    """MPI keeps the order of two messages with one tag, whichever completes first."""
    script.send(script.call(0, "MPI_Send", 50, 52), 1, 8)
    script.send(script.call(0, "MPI_Send", 60, 62), 1, 16)
    posts = [script.call(1, "MPI_Irecv", 2 * i, 2 * i + 1) for i in range(2)]
    second = script.call(1, "MPI_Wait", 65, 66)
    first = script.call(1, "MPI_Wait", 10, 55)
    script.receive(posts[0], 0, 8, completed=first)
    script.receive(posts[1], 0, 16, completed=second)


@pytest.mark.parametrize("name", _CASES)
def test_waiting_equals_the_calculated_one(name: str) -> None:
    ranks, write, expected = _CASES[name]
    script = Script(ranks)
    write(script)
    analysis = WaitAnalysis(script.trace())
    rows = analysis.waits.filter(pl.col("kind") != "other").iter_rows(named=True)
    found = {(row["kind"], row["rank"], row["partner"], round(1e9 * row["time"])) for row in rows}
    assert found == expected
    assert analysis.remarks == []


def test_there_are_twenty_of_them() -> None:
    assert len(_CASES) >= 20


def test_what_cannot_be_matched_is_counted() -> None:
    script = Script(3)
    script.send(script.call(0, "MPI_Send", 80, 90), 1, 8)
    script.receive(script.call(1, "MPI_Recv", 10, 95), 0, 16)
    script.send(script.call(0, "MPI_Send", 100, 110), -1, 8)
    script.receive(script.call(1, "MPI_Recv", 100, 105), 2, 8)
    script.send(script.call(2, "MPI_Send", 200, 201), 1, 8)
    for rank in range(2):  # rank 2's events were lost
        script.collective(script.call(rank, "MPI_Barrier", 120 + rank, 130), "MPI_Barrier", 0)
    script.drop(2, 7)
    analysis = WaitAnalysis(script.trace())
    assert analysis.remarks == [
        "7 events were dropped when the trace was recorded",
        "2 sends have no known receive",
        "1 receives have no known send",
        "1 messages were left out, as sender and receiver have different sizes",
        "2 parts of collectives were left out, as parts of other ranks are unknown",
        "1 messages arrive before they were sent, and were left out: clocks differ",
    ]
    assert set(analysis.waits["kind"]) == {"other"}
