"""The verdict of a summary: efficiencies, and what the times do not show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from haloscope import explain
from haloscope.explain import Profile
from support.command import Command
from support.profiles import Draft, draft, path_rows, process_rows

Read = Callable[[Draft], Profile]


def lines_with(words: str, profile: Profile) -> list[str]:
    """Lines of the summary that have these words before the name of the profile."""
    return [line for line in explain.summary(profile) if words in line.partition("/")[0]]


def computing(times: list[float], **columns: Any) -> Draft:
    """Ranks that compute for these times of 10 s, and then wait in a collective."""
    rows = [
        {"path": 0, "rank": rank, "instances": 1, "time": 10.0, "coll_time": 10.0 - time}
        for rank, time in enumerate(times)
    ]
    hosts = process_rows(*["alpha"] * len(times))
    made = draft({"ranks": len(times)}, paths=path_rows(), processes=hosts, ranks=rows)
    made.tables["processes"] = {
        **made.tables["processes"],
        **{name: [value] * len(times) for name, value in columns.items()},
    }
    return made


@pytest.mark.parametrize(
    ("times", "line"),
    [
        ([8.0, 8.0], "efficiency: 80 % (good) = load balance 100 % (good) × communication 80 % (good)"),
        ([7.9, 7.9], "efficiency: 79 % (fair) = load balance 100 % (good) × communication 79 % (fair)"),
        ([2.0, 10.0], "efficiency: 60 % (fair) = load balance 60 % (fair) × communication 100 % (good)"),
        ([1.0, 9.0], "efficiency: 50 % (poor) = load balance 56 % (poor) × communication 90 % (good)"),
    ],
)
def test_the_efficiency_is_the_product_of_its_factors(read: Read, times: list[float], line: str) -> None:
    assert lines_with("efficiency", read(computing(times))) == [line]


@pytest.mark.parametrize("times", [[5.0], [0.0, 0.0]])
def test_one_rank_and_ranks_that_compute_nothing_have_no_efficiency(read: Read, times: list[float]) -> None:
    assert lines_with("efficiency", read(computing(times))) == []


@pytest.mark.parametrize(
    ("ranks", "cpus", "line"),
    [
        (4, "0-1", ["4 ranks on 2 CPUs: counts are exact, times are not"]),
        (2, "3", ["2 ranks on 1 CPU: counts are exact, times are not"]),
        (2, "0-1", []),
        (4, "", []),
    ],
)
def test_more_ranks_than_cpus_are_named(read: Read, ranks: int, cpus: str, line: list[str]) -> None:
    assert lines_with("counts are exact", read(computing([5.0] * ranks, cpus=cpus))) == line


@pytest.mark.parametrize(
    ("threads", "cpus", "line"),
    [
        (2, "0-1", ["2 ranks with 4 threads on 2 CPUs: counts are exact, times are not"]),
        (2, "0-3", []),
        (1, "0-1", []),
    ],
)
def test_more_threads_than_cpus_are_named(read: Read, threads: int, cpus: str, line: list[str]) -> None:
    written = with_openmp(computing([5.0, 5.0], cpus=cpus), threads=[threads] * 2)
    assert lines_with("counts are exact", read(written)) == line


@pytest.mark.parametrize(
    ("waited", "threads", "cpus", "line"),
    [
        (6.0, 1, "0-1", ["other threads had the ranks' cores for 60.0 % of the time"]),
        (6.0, 1, "0", ["2 ranks on 1 CPU"]),  # these have each other's
        (6.0, 2, "0-1", []),  # only one of its threads is known
        (0.9, 1, "0-1", []),
    ],
)
def test_cores_that_other_threads_had_are_named(
    command: Command, tmp_path: Path, waited: float, threads: int, cpus: str, line: list[str]
) -> None:
    written = computing([5.0, 5.0], cpus=cpus, threads=threads)
    written.info["duration"] = 10.0
    written.tables["processes"] = {**written.tables["processes"], "duration": [10.0] * 2}
    # Their durations overlap: the end of a long call is in the next one, too.
    slices = [{"rank": rank, "duration": 12.0, "coll_time": 5.0} for rank in range(2)]
    table = draft({}, slices=slices).tables["slices"]
    written.tables["slices"] = {**table, "core_wait_time": [waited] * 2}
    profile = written.write(tmp_path / "a.halo")
    shown, found = command("show", profile).stdout, command("findings", profile).stdout
    end = ": counts are exact, times are not"
    assert [row for row in shown.splitlines() if row.endswith(end)] == [row + end for row in line]
    assert ("(other threads had" in found) == any(row.startswith("other") for row in line)


@pytest.mark.parametrize(("used", "is_named"), [(39.0, True), (15.0, True), (14.0, False), (10.0, False)])
def test_threads_that_call_no_mpi_are_named(read: Read, used: float, is_named: bool) -> None:
    """A rank that uses 1.5 CPUs or more has them; MPI's own threads take less."""
    written = computing([5.0, 5.0], cpu_time=used, memory_max=1000)
    assert len(lines_with("threads without MPI calls", read(written))) == is_named


@pytest.mark.parametrize(
    ("openmp", "team", "used", "line"),
    [
        ("", 0, 39.0, ["threads without MPI calls, as of OpenMP, are not recorded: a rank used 3.9 CPUs"]),
        (
            "no interface",
            0,
            39.0,
            [
                "OpenMP threads are not recorded, as GCC's runtime has no interface for tools: "
                "a rank used 3.9 CPUs"
            ],
        ),
        (
            "another tool",
            0,
            39.0,
            [
                "OpenMP threads are not recorded, as another tool has the runtime's interface: "
                "a rank used 3.9 CPUs"
            ],
        ),
        ("no interface", 0, 10.0, []),
        ("another tool", 0, 10.0, []),
        ("recorded", 4, 39.0, []),
        (
            "recorded",
            2,
            39.0,
            ["threads without MPI calls, as of OpenMP, are not recorded: a rank used 3.9 CPUs"],
        ),
    ],
)
def test_the_reason_why_threads_are_not_recorded(
    read: Read, openmp: str, team: int, used: float, line: list[str]
) -> None:
    """It is the one of a rank that used more CPUs than its recorded threads can, and is given once."""
    written = computing([5.0, 5.0], cpu_time=used, openmp=openmp)
    written.tables["ranks"] = {**written.tables["ranks"], "omp_threads": [team] * 2}
    assert lines_with("not recorded", read(written)) == line


def with_openmp(written: Draft, **columns: list[float]) -> Draft:
    """Values of the columns `omp_X` of the table `ranks`; what is left out is 0."""
    rows = written.tables["ranks"]
    names = ("regions", "threads", *(f"{name}_time" for name in TIMES))
    values: dict[str, Any] = {f"omp_{name}": columns.get(name, [0] * len(rows["rank"])) for name in names}
    written.tables["ranks"] = {**rows, **values}
    return written


TIMES = ("parallel", "team", "thread", "mpi", "barrier", "imbalance")
# 8 s outside of MPI: 2 s of serial code and 6 s of two threads.
HYBRID: dict[str, list[float]] = {
    "regions": [1, 1],
    "threads": [2, 2],
    "parallel_time": [6.0, 6.0],
    "team_time": [12.0, 12.0],
    "thread_time": [9.0, 9.0],
    "barrier_time": [2.5, 2.5],
    "imbalance_time": [2.0, 2.0],
}


def test_hybrid_efficiency_is_the_product_of_mpi_and_openmp(read: Read) -> None:
    profile = read(with_openmp(computing([8.0, 8.0]), **HYBRID))
    assert explain.summary(profile)[1:4] == [
        "efficiency: 55 % (poor) = MPI 80 % (good) × OpenMP 69 % (fair)",
        "  MPI: 80 % (good) = load balance 100 % (good) × communication 80 % (good)",
        "  OpenMP: 69 % (fair) = load balance 87 % (good) × scheduling 94 % (good) × serial code 85 % (good)",
    ]
    pop = profile.table("pop").row(0, named=True)
    assert pop["openmp"] == pytest.approx(11 / 16)  # of two threads in 8 s
    assert pop["openmp_load_balance"] == pytest.approx(13 / 15)  # 2 of 4 s
    assert pop["openmp_scheduling"] == pytest.approx(15 / 16)
    assert pop["openmp_serial"] == pytest.approx(11 / 13)  # the second thread has nothing to do for 2 s
    assert pop["hybrid"] == pytest.approx(22 / 40)  # of all threads of both ranks in 10 s


def test_mpi_in_a_parallel_region_keeps_one_thread_from_computing(read: Read) -> None:
    """Two threads are in a region all the time. One calls MPI for 4 s, the other computes."""
    inside = {**HYBRID, "parallel_time": [10.0] * 2, "team_time": [20.0] * 2, "imbalance_time": [0.0] * 2}
    inside |= {"thread_time": [16.0] * 2, "mpi_time": [4.0] * 2}
    pop = read(with_openmp(computing([6.0, 6.0]), **inside)).table("pop").row(0, named=True)
    assert (pop["parallel"], pop["openmp"]) == (pytest.approx(0.8), pytest.approx(1.0))


def test_the_efficiency_of_openmp_of_a_single_rank(read: Read) -> None:
    single = {name: values[:1] for name, values in HYBRID.items()}
    (line,) = lines_with("efficiency", read(with_openmp(computing([8.0]), **single)))
    assert line.startswith("efficiency of OpenMP: 69 % (fair) = load balance 87 % (good)")


def test_threads_that_call_mpi_have_an_efficiency_of_the_whole_run_only(read: Read) -> None:
    """Then the time of a region is a sum over threads."""
    written = with_openmp(computing([8.0, 8.0], threads=2), **HYBRID)
    assert read(written).table("pop")["openmp"].to_list() == [pytest.approx(11 / 16)]


@pytest.mark.parametrize("threads", [0, 1])
def test_runs_without_teams_of_threads_have_no_efficiency_of_openmp(read: Read, threads: int) -> None:
    profile = read(with_openmp(computing([8.0, 8.0]), threads=[threads] * 2))
    assert lines_with("OpenMP", profile) == []
    assert profile.table("pop")["hybrid"].to_list() == [None]


@pytest.mark.parametrize(("duration", "is_short"), [(0.5, True), (10.0, False)])
def test_a_run_that_is_too_short_says_so(read: Read, duration: float, is_short: bool) -> None:
    written = computing([5.0, 5.0])
    written.info["duration"] = duration
    assert len(lines_with("too short to judge", read(written))) == is_short
