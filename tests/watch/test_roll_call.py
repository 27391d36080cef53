"""Waits between ranks in synthetic states: the verdict, and invariants of any state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haloscope.watch.ending import end_text
from haloscope.watch.live import ANY, Call, Communicator, Process, Sums, Thread
from haloscope.watch.roll_call import RollCall, roll_call
from haloscope.watch.standing import Ranks, standings
from haloscope.watch.wait_cycles import Waits

WORLD = "MPI_COMM_WORLD"


def world(size: int) -> Communicator:
    return Communicator(WORLD, size, "w", ranks=range(size))


def rank(number: int, size: int, call: Call | None = None, **changes: object) -> Process:
    thread = Thread(call=call, idle=41.0, mark=7, region=("solve",))
    made = Process(
        f"/live/{number}", "1", number, size, 100 + number, "node", state="asleep", threads=(thread,)
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def recv(source: int, tag: int = 3, size: int = 4) -> Call:
    return Call("MPI_Recv", "receive", source, tag=tag, communicator=world(size), since=41.0, mark=5)


def send(to: int, tag: int = 3, size: int = 4) -> Call:
    return Call("MPI_Ssend", "send", to, tag=tag, communicator=world(size), since=41.0, mark=5)


def coll(name: str, size: int = 4, root: int | None = None) -> Call:
    return Call(f"MPI_{name}", "collective", root, communicator=world(size), since=41.0, mark=5)


def called(*calls: Call | None, **changes: dict[int, object]) -> RollCall:
    """The roll-call of ranks in these calls; `changes` are attributes of some ranks."""
    processes = [
        rank(
            number,
            len(calls),
            call,
            **{name: values[number] for name, values in changes.items() if number in values},
        )
        for number, call in enumerate(calls)
    ]
    return roll_call(processes, processes)


CASES = [
    ("deadlock of sends", {0, 1, 2, 3}, [send(1), send(2), send(3), send(0)], {}),
    ("deadlock of receives", {0, 1, 2, 3}, [recv(3), recv(0), recv(1), recv(2)], {}),
    ("self", {2}, [coll("Barrier"), coll("Barrier"), recv(2), coll("Barrier")], {}),
    ("wrong tag", {0, 1}, [send(1, 4), recv(0, 3), None, None], {}),
    (
        "different collectives",
        {0, 1, 2, 3},
        [coll("Bcast", root=0), coll("Bcast", root=0), coll("Barrier"), coll("Barrier")],
        {},
    ),
    (
        "missing collective",
        {1},
        [coll("Allreduce"), None, coll("Allreduce"), coll("Allreduce")],
        {"finalized": {1: True}},
    ),
    ("never received", {1}, [send(1), None, None, None], {"finalized": {1: True}}),
    ("never sent", {1}, [recv(1), None, None, None], {"finalized": {1: True}}),
    ("wrong tag", {1}, [recv(1), None, None, None], {"finalized": {1: True}, "partners": {1: {0: (1, 0)}}}),
    ("dead", {1}, [recv(1), None, coll("Barrier"), coll("Barrier")], {"state": {1: "dead"}}),
    ("late", {1}, [coll("Bcast", root=0), None, coll("Bcast", root=0), coll("Barrier")], {}),
    ("late", {1}, [coll("Allreduce"), None, coll("Allreduce"), coll("Allreduce")], {}),
    # A rank that is stopped in a send may be about to leave it.
    ("late", {0}, [send(1), send(0), None, None], {"state": {0: "stopped"}}),
    ("late", {0, 1}, [send(1), send(0), None, None], {"state": {0: "stopped", 1: "stopped"}}),
    ("deadlock of sends", {1, 2}, [send(1), send(2), send(1), None], {"state": {0: "stopped"}}),
    ("deadlock", {0, 1}, [coll("Barrier"), recv(0), coll("Barrier"), coll("Barrier")], {}),
    ("none", set(), [None, None, None, None], {}),
    ("unknown", {0, 1}, [send(1), recv(ANY, ANY), None, None], {}),
    ("deadlock of receives", {0, 1}, [recv(ANY), recv(ANY), recv(ANY), recv(ANY)], {}),
]


@pytest.mark.parametrize(("kind", "ranks", "calls", "changes"), CASES)
def test_the_verdict(
    kind: str, ranks: set[int], calls: Sequence[Call | None], changes: dict[str, dict[int, object]]
) -> None:
    verdict = called(*calls, **changes).verdict
    assert (verdict.kind, set(verdict.ranks)) == (kind, ranks), verdict.text
    assert "\n" not in verdict.text


def test_the_words() -> None:
    """As a person reads them; the issue's example."""
    calls = [coll("Allreduce"), recv(7, size=8), coll("Allreduce"), coll("Allreduce"), *[None] * 4]
    text = called(*calls).text
    assert "ranks 0, 2-3 in MPI_Allreduce on MPI_COMM_WORLD in region solve since 41.0 s" in text
    assert "rank 1 in MPI_Recv from 7, tag 3, on MPI_COMM_WORLD in region solve since 41.0 s" in text
    late = called(coll("Barrier"), None, coll("Barrier"), coll("Barrier"), state={1: "running"}).verdict.text
    assert late.endswith("MPI_Barrier for rank 1, computing, outside MPI in region solve for 41.0 s")


def test_who_goes_on_is_no_hang() -> None:
    """The same call, entered again between two looks."""
    before = [rank(0, 2, recv(1, size=2)), rank(1, 2, recv(0, size=2))]
    assert roll_call(before, before).verdict.kind == "deadlock of receives"
    thread = replace(before[1].main, mark=8)
    after = [before[0], replace(before[1], threads=(thread,))]
    verdict = roll_call(before, after).verdict
    assert (verdict.kind, verdict.is_hang) == ("none", False)


RING = [recv(3), recv(0), recv(1), recv(2)]
OTHERS = [coll("Bcast", root=0), coll("Bcast", root=0), coll("Barrier"), coll("Barrier")]


def ended(calls: Sequence[Call | None], ages: Sequence[float], sums: Sums | None = None) -> list[Process]:
    """Processes that are gone, each of which had been in its call, or outside MPI, for its age."""
    found = []
    for number, (call, age) in enumerate(zip(calls, ages, strict=True)):
        thread = Thread(
            region=("solve",), call=call and replace(call, since=age), idle=age, mark=7, sums=sums or Sums()
        )
        found.append(rank(number, len(calls), state="dead", threads=(thread,)))
    return found


@pytest.mark.parametrize("calls", [RING, OTHERS])
def test_the_end_of_a_hang_is_named(calls: Sequence[Call]) -> None:
    """Also of one that had worked for an hour, and if its launcher took ten seconds to end it."""
    sums = Sums(p2p_time=1800.0 + 60, sends=10**6)
    for passed in (0.1, 10.0):
        text = end_text(ended(calls, [60.0 + passed] * 4, sums), passed)
        assert text.startswith(called(*calls).verdict.text + ": rank")
        assert "since" not in text


@given(
    ages=st.lists(st.floats(0, 50), min_size=4, max_size=4),
    young=st.integers(0, 3),
    passed=st.floats(0, 20),
    calls=st.sampled_from([RING, OTHERS]),
)
@settings(max_examples=100)
def test_an_interrupted_run_is_not_called_a_hang(
    ages: list[float], young: int, passed: float, calls: Sequence[Call]
) -> None:
    """One rank that went on until the end is enough, whatever became of it while its launcher ended it."""
    ages[young] = passed + min(ages[young], 2.9)
    text = end_text(ended(calls, ages), passed)
    assert text.startswith("rank")
    assert f" {calls[0].function} " in text


def test_calls_that_are_long_as_usual_are_no_hang() -> None:
    """Messages of 20 s each; nor is there a verdict where nobody knows when the program ended."""
    sums = Sums(p2p_time=100.0, sends=2, recvs=2)
    assert end_text(ended(RING, [30.0] * 4, sums), 0.0).startswith("rank")
    assert end_text(ended(RING, [60.0] * 4), None).startswith("rank")


def test_ranks_without_a_record() -> None:
    here = [rank(0, 4, coll("Barrier")), rank(1, 4, coll("Barrier"))]
    verdict = roll_call(here, here).verdict
    assert (verdict.kind, verdict.ranks) == ("unseen", (2, 3))


@pytest.mark.parametrize("half", ["Barrier", "Bcast"])
def test_ten_thousand_ranks_are_told_in_a_few_lines(half: str) -> None:
    """A cycle through all of them, a receive from any, collectives: quickly, and bounded."""
    size = 10_000
    whole = world(size)
    ring = [
        Call("MPI_Recv", "receive", (n + 1) % size, tag=3, communicator=whole, mark=1) for n in range(size)
    ]
    two = [
        Call(f"MPI_{half if n % 2 else 'Barrier'}", "collective", communicator=whole, mark=1)
        for n in range(size)
    ]
    any_of = [Call("MPI_Recv", "receive", ANY, communicator=whole, mark=1) for n in range(size)]
    for calls in (ring, two, any_of):
        # An hour, if it were quadratic: the limit of a test would end it.
        assert len(called(*calls).text) < 2000


CALLS = st.builds(
    Call,
    function=st.sampled_from(
        ["MPI_Recv", "MPI_Ssend", "MPI_Sendrecv", "MPI_Wait", "MPI_Barrier", "MPI_Win_fence"]
    ),
    partner=st.one_of(st.none(), st.integers(-1, 4)),
    source=st.one_of(st.none(), st.integers(-1, 4)),
    tag=st.sampled_from([None, ANY, 3, 4]),
    communicator=st.sampled_from(
        [None, world(5), Communicator("half", 3, "h", ranks=(0, 2, 4)), Communicator("other", 2, "o")]
    ),
    count=st.integers(0, 3),
    since=st.one_of(st.none(), st.floats(0, 100)),
    mark=st.integers(0, 1),
)
WHATS = {
    "MPI_Recv": "receive",
    "MPI_Ssend": "send",
    "MPI_Sendrecv": "exchange",
    "MPI_Wait": "requests",
    "MPI_Barrier": "collective",
    "MPI_Win_fence": "other",
}


@st.composite
def looks(draw: st.DrawFn) -> list[Process]:
    processes = []
    for number in range(5):
        if draw(st.integers(0, 9)) == 0:
            continue
        call = draw(st.one_of(st.none(), CALLS))
        if call:
            kind = draw(st.sampled_from(["", "send", "receive", "collective", "io"]))
            what = WHATS[call.function]
            call = replace(call, what=what, kind=kind if what == "requests" else "")
        state = draw(st.sampled_from(["running", "asleep", "dead", "stopped", ""]))
        thread = Thread(("solve",), call, 1.0, draw(st.integers(0, 1)))
        threads = (thread,) if draw(st.integers(0, 9)) else ()
        processes.append(rank(number, 5, state=state, threads=threads, finalized=draw(st.booleans())))
    return processes


def naive(waits: Waits) -> set[int]:
    """Who can go on, by looking at all again until nothing changes."""
    standings = waits.ranks.standings
    free = {
        r
        for r, standing in standings.items()
        if standing.place in ("outside", "polling", "moving", "stopped", "unseen")
    }
    while True:
        more = set(free)
        for number, need in waits.needs.items():
            if need.any_of is not None:
                members = waits.ranks.members(need.any_of)
                hit = bool(free if members is None else free & set(members))
            else:
                hit = set(need.ranks) <= free
            if hit:
                more.add(number)
        if more == free:
            return free
        free = more


@given(looks(), looks())
@settings(max_examples=100)
def test_whatever_the_ranks_are_in(before: list[Process], after: list[Process]) -> None:
    """One sentence; each rank is in one group; those that can go on are those that a slow search finds."""
    report = roll_call(before, after)
    assert report.verdict.text.count("\n") == 0
    assert report.text.count("\n") == len(report.groups)
    named: list[int] = []
    for group in report.groups:
        spans = re.match(r"ranks? ([0-9, -]+)", group)
        assert spans, group
        for part in spans[1].split(","):
            first, _, last = part.strip().partition("-")
            named += range(int(first), int(last or first) + 1)
    assert sorted(named) == list(range(max((process.size for process in after), default=0)))
    ranks = Ranks(standings(before, after))
    waits = Waits(ranks)
    assert waits.free == naive(waits)
    cycle = waits.cycle()
    for at, number in enumerate(cycle):
        assert cycle[(at + 1) % len(cycle)] in set(waits.blockers(number))
    if report.verdict.is_hang:
        assert waits.stuck
