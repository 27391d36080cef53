"""The summary of a run: what it states, and when it must not."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import haloscope
from haloscope import explain
from haloscope.explain import Profile
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


def test_further_findings_are_counted(read: Read) -> None:
    """Ranks create communicators in three regions."""
    rows = [
        {"path": path, "rank": rank, "instances": 10, "time": 3.0, "other_time": 2.0}
        for path in (1, 2, 3)
        for rank in (0, 1)
    ]
    calls = [
        {"path": path, "call": "MPI_Comm_split", "calls": 200, "time_total": 4.0 - path / 10}
        for path in (1, 2, 3)
    ]
    whole = [{"path": 0, "rank": rank, "instances": 1, "time": 10.0} for rank in (0, 1)]
    hosts = process_rows("alpha", "alpha")
    paths = path_rows("a", "b", "c")
    profile = read(draft(paths=paths, processes=hosts, ranks=whole + rows, calls=calls))
    assert len(haloscope.findings(profile)) == 3
    assert len(lines_with("finding: ", profile)) == 2
    assert lines_with("1 more: ", profile) == [f"1 more: haloscope findings {profile.path}"]


def test_a_terminal_of_80_columns_gets_whole_words(haloscope: Path, read: Read, nested: Draft) -> None:
    """Lines are folded there, and nowhere else."""
    profile = read(nested)
    lines = explain.summary(profile)
    command = f"import haloscope.cli.console as c, sys; c.say_lines({lines!r})"
    master, terminal = pty.openpty()
    os.set_blocking(master, True)
    python = haloscope.with_name("python")
    piped = subprocess.run([python, "-c", command], capture_output=True, text=True, check=True).stderr
    assert piped.splitlines() == lines
    subprocess.run(["stty", "cols", "80"], stdin=terminal, check=True)
    subprocess.run([python, "-c", command], stderr=terminal, check=True)
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(master)
    folded = shown.decode().splitlines()
    assert max(len(line) for line in folded if " " in line.strip()) <= 80
    assert shown.decode().split() == piped.split()


@pytest.mark.parametrize("words", [[], ["--table", "regions"], ["--region", "solve"], ["--json"]])
def test_show_begins_with_the_summary_unless_a_table_is_asked_for(
    haloscope: Path, read: Read, nested: Draft, words: list[str]
) -> None:
    profile = read(nested)
    done = subprocess.run(
        [haloscope, "show", profile.path, *words], capture_output=True, text=True, check=True
    )
    verdict = "\n".join(explain.summary(profile, next_steps=False)) + "\n\n"
    assert done.stdout.startswith(verdict) == (not words)
    assert "look further" not in done.stdout


def test_the_summary_starts_with_the_share_of_communication(read: Read, nested: Draft) -> None:
    lines = explain.summary(read(nested))
    assert lines[0] == "cg: 2 ranks on 2 hosts, 10.0 s"
    # 5.25 of the 22 seconds of both ranks.
    assert lines[2].startswith("communication: 23.9 % of the time")
    assert "6 messages, 4107 B" in lines[2]
    assert lines[3] == "  by region: solve/halo 57.1 %, solve 33.3 %, halo 9.5 %"
    assert lines[4] == "  by function: MPI_Recv 57.1 %, MPI_Send 47.6 %"
    assert [line.split(":")[0] for line in lines[5:7]] == ["finding", "finding"]
    assert lines[-1].startswith("look further: haloscope show ")
    assert len(lines) == 9


def test_the_summary_of_an_unmarked_program_names_calls(read: Read) -> None:
    written = draft(
        {"program": "lmp"},
        paths=path_rows(),
        processes=process_rows("alpha"),
        ranks=[{"path": 0, "rank": 0, "time": 4.0, "p2p_time": 1.0, "coll_time": 1.0}],
        calls=[{"path": 0, "call": f"MPI_{i}", "time_total": i / 4} for i in range(5)],
    )
    lines = explain.summary(read(written))
    assert lines[2].startswith("  by function: MPI_4 50.0 %, ")
    assert "MPI_1" not in "".join(lines)


def test_the_summary_states_the_share_of_other_functions(read: Read) -> None:
    """Functions have 9 of 10 s in MPI, the first three of them 6 s."""
    written = draft(
        {"program": "lmp"},
        paths=path_rows(),
        processes=process_rows("alpha"),
        ranks=[{"path": 0, "rank": 0, "time": 20.0, "p2p_time": 10.0}],
        calls=[
            {"path": 0, "call": f"MPI_{i}", "time_total": time}
            for i, time in enumerate([3.0, 2.0, 1.0, 0.75, 0.75, 0.75, 0.75])
        ],
    )
    lines = explain.summary(read(written))
    assert lines[2].endswith("MPI_2 10.0 %, 4 other functions 30.0 %, unattributed 10.0 %")


def phase_rows(*ranks: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Rows of `phases`: per rank the iterations of its phases, and their calls out of 1000."""
    return [
        {"rank": rank, "phase": number, "iterations": times, "calls": calls, "all_calls": 1000, "length": 20}
        for rank, phases in enumerate(ranks)
        for number, (times, calls) in enumerate(phases, 1)
    ]


def lines_about_phases(read: Read, recorded: int, rows: list[dict[str, Any]]) -> list[str]:
    processes = process_rows(*["alpha"] * recorded)
    written = draft({"ranks": 8}, paths=path_rows(), processes=processes, phases=rows)
    return [line for line in explain.summary(read(written)) if line.startswith("phase ")]


@pytest.mark.parametrize(
    ("other", "times"), [((33, 900), "33 iterations"), ((31, 900), "31 to 33 iterations")]
)
def test_the_summary_has_iterations_on_which_ranks_agree(
    read: Read, other: tuple[int, int], times: str
) -> None:
    (line,) = lines_about_phases(read, 4, phase_rows(*[[(33, 900)]] * 3, [other]))
    assert line == f"phase 1: {times} of 20 calls, 90.0 % of the calls; found from the sequence of calls"


@pytest.mark.parametrize("other", [[(30, 900)], [(9, 100), (63, 800)], [], [(33, 100)]])
def test_the_summary_has_no_iterations_on_which_ranks_differ(
    read: Read, other: list[tuple[int, int]]
) -> None:
    """One rank has other iterations, none, or most of its calls elsewhere."""
    assert lines_about_phases(read, 4, phase_rows([(33, 900)], other, [(33, 900)], [(33, 900)])) == []


@pytest.mark.parametrize(("other", "name"), [(33, "phase 1"), (9, "phase 1 (candidate)")])
def test_a_phase_on_which_ranks_differ_is_a_candidate(read: Read, other: int, name: str) -> None:
    written = draft(
        {"ranks": 2},
        paths=path_rows("phase 1", "phase 1/iteration"),
        processes=process_rows("alpha", "alpha"),
        phases=phase_rows([(33, 900)], [(other, 900)]),
        ranks=[{"path": path, "rank": 0, "instances": 1, "time": 1.0} for path in range(3)],
    )
    assert read(written).table("regions")["region"].to_list() == ["<program>", name, "iteration"]


def test_the_summary_has_no_iterations_of_a_part_of_the_run(read: Read) -> None:
    """A marker or an abort ended the search: how many calls the run had is unknown."""
    rows = phase_rows(*[[(33, 900)]] * 4)
    assert lines_about_phases(read, 4, [{**row, "all_calls": 0} for row in rows]) == []


@pytest.mark.parametrize(("length", "lines"), [(2, 0), (3, 1)])
def test_the_summary_has_no_iterations_of_one_or_two_calls(read: Read, length: int, lines: int) -> None:
    """They may be a part of an iteration, as a relaxation is of a time step."""
    rows = [{**row, "length": length} for row in phase_rows(*[[(8614, 1000)]] * 4)]
    assert len(lines_about_phases(read, 4, rows)) == lines


@pytest.mark.parametrize(("length", "lines"), [(5, 0), (8, 1)])
def test_the_summary_has_no_iterations_with_many_other_calls(read: Read, length: int, lines: int) -> None:
    """100 iterations of 5 calls, but 10 calls each: these may be the iterations of solvers in a time step."""
    rows = [{**row, "length": length} for row in phase_rows(*[[(100, 1000)]] * 4)]
    assert len(lines_about_phases(read, 4, rows)) == lines


def test_the_summary_has_no_regions_that_the_program_did_not_mark(read: Read) -> None:
    """The recorder's own are candidates: ranks may disagree about them."""
    written = draft(
        paths=path_rows("phase 1"),
        phases=phase_rows([(33, 900)], [(9, 900)]),
        ranks=[{"path": path, "rank": 0, "time": 20.0, "p2p_time": 10.0} for path in (0, 1)],
        calls=[{"path": 1, "call": "MPI_Recv", "time_total": 10.0}],
    )
    text = "\n".join(explain.summary(read(written)))
    assert "by function: MPI_Recv" in text
    assert "by region" not in text


def test_the_summary_names_the_phase_with_the_most_calls(read: Read) -> None:
    """The first phase of all ranks is their initialisation."""
    (line,) = lines_about_phases(read, 4, phase_rows(*[[(9, 100), (63, 800)]] * 4))
    assert line.startswith("phase 2: 63 iterations of 20 calls, 80.0 % of the calls")


def test_the_summary_warns_in_few_lines(read: Read, nested: Draft) -> None:
    nested.info |= {"partial": True, "missing_ranks": [1], "program": "a\nb"}
    nested.tables["processes"] = {
        **nested.tables["processes"],
        "dropped": [1, 2],
        "unmatched_begins": [1, 0],
        "unmatched_ends": [0, 5],
        "finalized": [0, 1],
    }
    nested.tables |= {"unaccounted": {"call": ["MPI_New"], "calls": [2]}}
    lines = explain.summary(read(nested))
    told = "\n".join(lines)
    assert len(lines) == told.count("\n") + 1 <= 12
    for words in (
        "rank 1 left no record; rank 0 did not reach",
        "3 records dropped",
        "1 region begin without",
        "5 region ends without",
        "MPI_New",
    ):
        assert words in told


def test_the_summary_of_nothing_has_no_division_by_zero(read: Read) -> None:
    lines = explain.summary(read(draft(paths=path_rows())))
    assert lines[0].startswith("cg: 2 ranks")


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"series": "halo\nsolve/halo"}, None),
        ({"series": "hallo"}, "no such region: --series hallo; there is halo …"),
        ({"only": "a\nsolve", "series": "b"}, "no such region: --series b, --only a; there is halo, solve"),
    ],
)
def test_the_summary_lists_regions_if_one_is_unknown(
    read: Read, asked: dict[str, str], line: str | None
) -> None:
    lines = explain.summary(read(draft(asked, paths=path_rows("solve", "solve/halo"))))
    assert [text for text in lines if text.startswith("no such region")] == [line] * (line is not None)
