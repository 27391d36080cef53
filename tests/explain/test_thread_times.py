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


def run(threads: list[int], in_mpi: list[float], times: list[float] | None = None, **of_ranks: Any) -> Draft:
    """A run of 10 s; each thread that calls MPI has all of it, and waits in MPI for some seconds of it."""
    rows = [
        {"path": 0, "rank": rank, "instances": 1, "time": time, "coll_time": wait, "wait_time": wait}
        for rank, (time, wait) in enumerate(
            zip(times or [RUN * number for number in threads], in_mpi, strict=True)
        )
    ]
    made = draft(
        {"ranks": len(threads)},
        paths=path_rows(),
        processes=process_rows(*["alpha"] * len(threads)),
        ranks=rows,
    )
    made.tables["processes"] = {**made.tables["processes"], "threads": threads, **of_ranks}
    return made


def summary_with(words: str, profile: Profile) -> list[str]:
    return [line for line in explain.summary(profile) if words in line.partition("/")[0]]


def test_times_of_several_threads_are_those_of_the_mean_thread(read: Read) -> None:
    """Four threads of rank 0 wait for 5 s each: no more can be saved, though their sum is 20 s."""
    profile = read(run([4, 4], [20.0, 0.0]))
    (found,) = haloscope.findings(profile)
    assert (found.rule, found.ranks) == ("imbalance", (1,))
    assert found.gain == pytest.approx(2.5)
    assert found.share == pytest.approx(0.25)
    assert "(10.0 s, mean 7.50 s)" in found.sentence
    pop = profile.table("pop").row(0, named=True)
    assert (pop["parallel"], pop["run_time"]) == (pytest.approx(0.75), pytest.approx(RUN))


@pytest.mark.parametrize("waiting", [RUN, 0.0])
def test_ranks_with_different_numbers_of_threads_are_not_compared(read: Read, waiting: float) -> None:
    """A helper thread of rank 0 waits in MPI, or computes. Neither rank is late."""
    profile = read(run([2, 1], [waiting, 0.0]))
    assert haloscope.findings(profile) == []
    assert summary_with("efficiency", profile) == []
    assert profile.table("pop")["parallel"].to_list() == [None]
    (line,) = summary_with("no findings", profile)
    assert line.endswith("times of ranks are not compared, as different numbers of their threads call MPI")


def test_short_threads_change_no_comparison(read: Read) -> None:
    """A second thread that called MPI for 5 % of the run is no reason."""
    profile = read(run([2, 1], [4.0, 0.0], [1.05 * RUN, RUN]))
    assert [found.rule for found in haloscope.findings(profile)] == ["imbalance"]
    assert len(summary_with("efficiency", profile)) == 1
