"""Schedules: messages by theory and by Open MPI, and their times."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haloscope import UsageError
from haloscope.predict import schedule as schedules
from haloscope.predict.schedule import CollectivePlan, Durations, Schedule
from support.missing import missing
from support.monitored import Counts, count_messages, count_scheduled
from support.mpi import REMEDY, Mpi, find
from support.processes import run_program

# Those of Open MPI; the forms with v and MPICH's other names share their schedules.
EVERY = [
    (collective, algorithm)
    for collective in schedules.collectives()
    for algorithm in schedules.algorithms(collective)
    if collective[-1] != "v" and algorithm not in ("two_proc", "brucks", "scattered", "linear_sync")
]
PROGRAM = Path(__file__).with_name("programs") / "once.c"


def made(collective: str, algorithm: str, *plan: int) -> Schedule:
    found = schedules.schedule(collective, algorithm, CollectivePlan(*plan))
    assert found is not None
    return found


def durations(made: Schedule, seed: int) -> Durations:
    random = np.random.default_rng(seed)
    messages = made.messages
    return Durations(
        random.uniform(0.1, 3, len(messages)) * (messages["source"] != messages["target"]),
        random.uniform(0, 2, len(messages)),
        random.uniform(0, 2, len(messages)) * (messages["added"] > 0),
    )


@dataclass(frozen=True)
class Step:
    """One message, or work where source and target are one."""

    source: int
    target: int
    source_step: int
    target_step: int
    meets: bool
    occupied: float
    latency: float
    work: float


def ends(messages: Sequence[Step], ranks: int) -> list[float]:
    """When each rank is done. A message waits for whatever must come before it, by definition."""
    sent: dict[int, float] = {}
    there: dict[int, float] = {}

    def begun(rank: int, step: int) -> float:
        """When all that the rank does in earlier steps is done."""
        times = [0.0]
        for i, one in enumerate(messages):
            if one.source != one.target and one.source == rank and one.source_step < step:
                times.append(sent[i])
            if one.target == rank and one.target_step < step:
                times.append(there[i])
        return max(times)

    def before(i: int, side: str) -> list[int]:
        """Messages that stand before this one at the same port."""
        rank = getattr(messages[i], side)
        return [
            j
            for j in range(i)
            if getattr(messages[j], side) == rank and messages[j].source != messages[j].target
        ]

    for i, one in enumerate(messages):
        had = begun(one.source, one.source_step)
        if one.source != one.target:
            start = max(
                [had, *(sent[j] for j in before(i, "source")), *(sent[j] for j in before(i, "target"))]
            )
            if one.meets:
                start = max(start, begun(one.target, one.target_step))
            sent[i] = start + one.occupied
            had = sent[i] + one.latency
        if one.work:
            busy = [there[j] for j in range(i) if messages[j].target == one.target and messages[j].work]
            had = max([had, begun(one.target, one.target_step), *busy])
        there[i] = had + one.work
    last = 1 + max((max(one.source_step, one.target_step) for one in messages), default=0)
    return [begun(rank, last) for rank in range(ranks)]


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@settings(max_examples=3)
@given(
    ranks=st.integers(2, 7),
    size=st.integers(0, 3000),
    segment=st.sampled_from([0, 300]),
    eager=st.sampled_from([0, 400, 10**9]),
    seed=st.integers(0, 99),
)
def test_ranks_are_done_when_all_that_they_wait_for_is(
    collective: str, algorithm: str, ranks: int, size: int, segment: int, eager: int, seed: int
) -> None:
    schedule = made(collective, algorithm, ranks, size, segment)
    taken = durations(schedule, seed)
    meets = (schedule.messages["meets"] > 0) & (schedule.messages["bytes"] >= eager)
    steps = [
        Step(
            int(m["source"]),
            int(m["target"]),
            int(m["source_step"]),
            int(m["target_step"]),
            bool(meets[i]),
            taken.occupied[i],
            taken.latency[i],
            taken.work[i],
        )
        for i, m in enumerate(schedule.messages)
    ]
    done = schedules.execute(schedule, taken, eager=eager, weights=True)
    assert done.ends == pytest.approx(ends(steps, ranks))
    # How often each duration counts in the mean adds up to the mean: its derivative.
    assert done.weights is not None
    parts = [
        float(weight @ value)
        for weight, value in zip(
            (done.weights.occupied, done.weights.latency, done.weights.work),
            (taken.occupied, taken.latency, taken.work),
            strict=True,
        )
    ]
    assert sum(parts) == pytest.approx(done.ends.mean())


def test_messages_share_a_link_one_after_the_other() -> None:
    schedule = Schedule(4)
    schedule.send([0, 1], [2, 3], 10)
    two, ways = np.ones(2), np.zeros(2, np.int32)
    shared = Durations(two, 0 * two, 0 * two, 3 * two, ways, ways + 1)
    assert schedules.execute(schedule, shared).ends.tolist() == [3, 6, 3, 6]
    weights = schedules.execute(schedule, shared, weights=True).weights
    assert weights is not None
    assert weights.shared is not None
    assert weights.shared @ shared.shared == pytest.approx(4.5)  # type: ignore[operator]


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 13, 16])
def test_messages_and_bytes_are_those_of_the_textbook(ranks: int) -> None:
    """Chan et al. 2007, Thakur et al. 2005: messages and bytes on the busiest rank."""
    size, rounds = 960 * ranks, ceil(log2(ranks))

    def most(collective: str, algorithm: str) -> tuple[int, int]:
        sent = made(collective, algorithm, ranks, size).messages
        sent = sent[sent["source"] != sent["target"]]
        number = np.bincount(sent["source"], minlength=ranks)
        volume = np.bincount(sent["source"], sent["bytes"], ranks)
        return int(number.max()), int(volume.max())

    assert most("bcast", "binomial") == (rounds, rounds * size)
    assert most("bcast", "pipeline") == (1, size)
    assert most("bcast", "basic_linear") == (ranks - 1, (ranks - 1) * size)
    assert most("allgather", "ring") == (ranks - 1, (ranks - 1) * size)
    assert most("allgather", "bruck") == (rounds, (ranks - 1) * size)
    assert most("alltoall", "pairwise") == (ranks - 1, (ranks - 1) * size)
    assert most("allreduce", "ring") == (2 * (ranks - 1), 2 * (ranks - 1) * size // ranks)
    assert most("barrier", "bruck") == (rounds, 0)
    if ranks & (ranks - 1) == 0:
        doubled = 2 * rounds, 2 * (ranks - 1) * size // ranks
        assert most("allreduce", "rabenseifner") == doubled
        assert most("reduce_scatter", "recursive_halving") == (doubled[0] // 2, doubled[1] // 2)


# What these do inside is the library's own choice.
_BY_DEFAULT = {
    ("allreduce", "nonoverlapping"),
    ("allgather", "linear"),
    ("reduce_scatter", "non-overlapping"),
    ("reduce_scatter_block", "basic_linear"),
}


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mpi, Path]:
    """Debian's Open MPI, which has its monitoring, and a program that calls a collective once."""
    mpi = find("openmpi-system")
    if mpi is None:
        missing(f"openmpi-system is not installed: {REMEDY['openmpi-system']}")
    program = tmp_path_factory.mktemp("once") / "once"
    subprocess.run([mpi.mpicc, PROGRAM, "-o", program], check=True)
    return mpi, program


def sent_by_open_mpi(
    once: tuple[Mpi, Path], directory: Path, number: int, plan: CollectivePlan, collectives: list[str]
) -> Counts:
    """Messages and bytes from rank to rank. All collectives use their algorithm of this number."""
    settings: dict[str, object] = {"coll_tuned_use_dynamic_rules": 1}
    for collective in collectives:
        settings[f"coll_tuned_{collective}_algorithm"] = number
        settings[f"coll_tuned_{collective}_algorithm_segmentsize"] = plan.segment
    words: list[str | Path] = [once[1], str(plan.bytes), *collectives]
    return count_messages(once[0], directory, plan.ranks, words, settings)


def scheduled(collective: str, name: str, plan: CollectivePlan) -> Counts:
    block = collective == "reduce_scatter_block"  # all blocks are of one size
    size = plan.bytes // plan.ranks * plan.ranks if block else plan.bytes
    return count_scheduled(made(collective, name, plan.ranks, size, plan.segment))


def test_open_mpi_sends_these_messages(once: tuple[Mpi, Path], tmp_path: Path) -> None:
    asked = run_program(
        ["ompi_info", "--param", "coll", "tuned", "--level", "9", "--parsable"], env=once[0].environment()
    ).stdout
    listed = re.findall(r"coll_tuned_(\w+?)_algorithm:enumerator:value:([1-9]\d*):(\S+)", asked)
    known = [
        (collective, int(number), name)
        for collective, number, name in listed
        if collective in schedules.collectives()
        and collective[-1] != "v"
        and name != "two_proc"
        and (collective, name) not in _BY_DEFAULT
    ]
    assert len(known) > 35
    plan = CollectivePlan(6, 1003, 128)  # odd, and blocks of two sizes
    for number in sorted({number for _, number, _ in known}):
        chosen = [(collective, name) for collective, its, name in known if its == number]
        expected = sum((scheduled(*one, plan) for one in chosen), Counter())
        names = [collective for collective, _ in chosen]
        assert sent_by_open_mpi(once, tmp_path / str(number), number, plan, names) == expected, chosen


def test_too_many_messages_are_refused() -> None:
    schedule = Schedule(2)
    with pytest.raises(UsageError, match="larger segments"):
        schedule.send(0, np.ones(1 << 24, np.int8), 1)


def test_what_nobody_knows_has_no_schedule() -> None:
    assert schedules.schedule("bcast", "of_tomorrow", CollectivePlan(4, 8)) is None
    assert schedules.schedule("scan", "linear", CollectivePlan(4, 8)) is None
