"""Ranks in which several threads call MPI, and ends of ranks: what findings and efficiencies state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import haloscope
from haloscope import explain
from haloscope.explain import Profile
from support.profiles import Draft, draft, path_rows, process_rows

Read = Callable[[Draft], Profile]
RUN = 10.0


def run(in_mpi: list[float], times: list[float] | None = None, **of_ranks: Any) -> Draft:
    """A run of 10 s. Each rank has a thread, which waits in MPI for some seconds."""
    rows = [
        {"path": 0, "rank": rank, "instances": 1, "time": time, "coll_time": wait, "wait_time": wait}
        | {"colls": 100}
        for rank, (time, wait) in enumerate(zip(times or [RUN] * len(in_mpi), in_mpi, strict=True))
    ]
    made = draft(
        {"ranks": len(in_mpi)},
        paths=path_rows(),
        processes=process_rows(*["alpha"] * len(in_mpi)),
        ranks=rows,
    )
    made.tables["processes"] = {**made.tables["processes"], **of_ranks}
    return made


def with_helpers(made: Draft, helpers: int, in_mpi: float, colls: int = 0) -> Draft:
    """Further threads of rank 0, which call MPI throughout, and wait there for some seconds in total."""
    ranks = made.tables["ranks"]
    made.tables["main_thread"] = {name: values[:1] for name, values in ranks.items()}
    more = {"time": helpers * RUN, "coll_time": in_mpi, "wait_time": in_mpi, "colls": colls}
    made.tables["ranks"] = {
        name: [values[0] + more.get(name, 0), *values[1:]] for name, values in ranks.items()
    }
    threads = [1 + helpers, *[1] * (len(ranks["rank"]) - 1)]
    made.tables["processes"] = {**made.tables["processes"], "threads": threads}
    return made


def summary_with(words: str, profile: Profile) -> list[str]:
    return [line for line in explain.summary(profile) if words in line.partition("/")[0]]


@pytest.mark.parametrize(("helpers", "in_mpi"), [(1, RUN), (1, 0.0), (3, 3 * RUN), (3, 10.0)], ids=str)
def test_times_of_a_rank_are_those_of_its_main_thread(read: Read, helpers: int, in_mpi: float) -> None:
    """Statements are the same as without helpers, whatever these do."""
    alone, helped = (run([5.0, 0.0]) for _ in range(2))
    found, again = (haloscope.findings(read(made)) for made in (alone, with_helpers(helped, helpers, in_mpi)))
    assert [one.rule for one in found] == ["imbalance"]
    assert [(one.ranks, one.sentence) for one in again] == [(one.ranks, one.sentence) for one in found]
    assert [(one.gain, one.share) for one in again] == [(one.gain, one.share) for one in found]
    columns = ["parallel", "load_balance", "communication", "run_time"]
    pops = (read(made).table("pop").select(columns).rows() for made in (alone, helped))
    assert next(pops) == next(pops) == [pytest.approx((0.75, 0.75, 1.0, RUN))]


def test_a_main_thread_that_does_not_communicate_says_nothing(read: Read) -> None:
    """It waits outside MPI for the threads that do."""
    made = with_helpers(run([0.0, 9.0]), 2, RUN, colls=1000)
    assert haloscope.findings(read(made)) == []
    assert summary_with("efficiency", read(made)) == []
    assert read(made).table("pop")["parallel"].to_list() == [None]
    (line,) = summary_with("no findings", read(made))
    assert line.endswith("times of ranks are not compared, as other threads than the main one communicate")


@pytest.mark.parametrize(
    ("finalized", "start", "rules"),
    [(1, 0.0, ["imbalance"]), (0, 0.0, []), (1, 5.0, [])],
    ids=["waits", "died", "began late"],
)
def test_only_ranks_that_end_early_wait_in_finalize(
    read: Read, finalized: int, start: float, rules: list[str]
) -> None:
    """Rank 1 has 5 s of the 10 s of rank 0."""
    made = run([0.0, 0.0], [RUN, RUN / 2], finalized=[1, finalized], start=[0.0, start])
    found = haloscope.findings(read(made))
    assert [one.rule for one in found] == rules
    assert all(one.sentence.endswith("mostly in MPI_Finalize") for one in found)


def test_ranks_that_compute_longer_do_so_by_at_most_the_longest(read: Read) -> None:
    (found,) = haloscope.findings(read(run([6.0, 6.0, 1.5, 0.0])))
    assert found.ranks == (2, 3)
    assert found.sentence.startswith("ranks 2-3 compute up to 50.9 % longer than the mean")
