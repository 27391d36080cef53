"""The summary of a run: what it states, and when it must not."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import haloscope
from haloscope import explain
from haloscope.explain import Profile
from support.profiles import Draft, draft, path_rows, process_rows
from support.terminals import print_on_terminal

Read = Callable[[Draft], Profile]


def lines_with(words: str, profile: Profile) -> list[str]:
    """Lines of the summary that have these words before the name of the profile."""
    return [line for line in explain.summary(profile) if words in line.partition("/")[0]]


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
    python = haloscope.with_name("python")
    piped = subprocess.run([python, "-c", command], capture_output=True, text=True, check=True).stderr
    assert piped.splitlines() == lines
    shown = print_on_terminal(python, "-c", command)
    folded = shown.decode().splitlines()
    assert max(len(line) for line in folded if " " in line.strip()) <= 80
    assert shown.decode().split() == piped.split()


def test_a_terminal_of_80_columns_gets_findings_and_whole_commands(
    haloscope: Path, read: Read, nested: Draft
) -> None:
    shown = print_on_terminal(haloscope, "findings", read(nested).path).decode().splitlines()
    commands = [line for line in shown if line.startswith("   look: ")]
    assert commands
    assert max(len(line) for line in shown if line not in commands) <= 80
    piped = subprocess.check_output([haloscope, "findings", read(nested).path], text=True)
    assert [word for line in shown for word in line.split()] == piped.split()
    assert set(commands) <= set(piped.splitlines())


@pytest.mark.parametrize("words", [[], ["--table", "pop"]])
def test_a_terminal_of_ascii_gets_no_other_characters(
    haloscope: Path, read: Read, nested: Draft, words: list[str]
) -> None:
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    shown = print_on_terminal(haloscope, "show", read(nested).path, *words, **plain)
    assert b" x communication " in shown or b"balance x comm." in shown
    assert shown.isascii()


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
    assert lines[0] == "cg: 2 ranks on 2 nodes, 10.0 s"
    # 5.25 of the 22 seconds of both ranks.
    assert lines[2].startswith("communication: 23.9 % of the time")
    assert "6 messages, 4107 B" in lines[2]
    assert lines[3] == "  by region: solve/halo 57.1 %, solve 33.3 %, halo 9.5 %"
    assert lines[4] == "  by function: MPI_Recv 57.1 %, MPI_Send 47.6 %"
    assert [line.split(":")[0] for line in lines[5:7]] == ["finding", "finding"]
    assert lines[-1].startswith("look further: haloscope show ")
    assert len(lines) == 9


@pytest.mark.parametrize(
    ("other", "kinds"),
    [
        (3.0, "point-to-point 10.0 %, collective 20.0 %, other calls 30.0 %"),
        (0.05, "point-to-point 10.0 %, collective 20.0 %"),
    ],
)
def test_the_kinds_of_calls_add_up(read: Read, other: float, kinds: str) -> None:
    """Other calls, such as those that create communicators, are named if they take 1 %."""
    times = {"time": 10.0, "p2p_time": 1.0, "coll_time": 2.0, "other_time": other}
    rows = [{"path": 0, "rank": rank, "instances": 1, **times} for rank in range(2)]
    profile = read(draft(paths=path_rows(), processes=process_rows("alpha", "alpha"), ranks=rows))
    (line,) = lines_with("communication: ", profile)
    assert line.partition("(")[2].partition(")")[0] == kinds


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


@pytest.mark.parametrize(("polled", "name"), [(0.0, "unattributed"), (1.0, "polling")])
def test_the_summary_states_the_share_of_other_functions(read: Read, polled: float, name: str) -> None:
    """Functions have 9 of 10 s in MPI, the first three of them 6 s. Polls may have the rest."""
    written = draft(
        {"program": "lmp"},
        paths=path_rows(),
        processes=process_rows("alpha"),
        ranks=[{"path": 0, "rank": 0, "time": 20.0, "p2p_time": 10.0 - polled}],
        calls=[
            {"path": 0, "call": f"MPI_{i}", "time_total": time}
            for i, time in enumerate([3.0, 2.0, 1.0, 0.75, 0.75, 0.75, 0.75])
        ],
    )
    written.tables["ranks"] = {**written.tables["ranks"], "poll_time": [polled]}
    (line,) = lines_with("  by function: ", read(written))
    assert line.endswith(f"MPI_2 10.0 %, 4 other functions 30.0 %, {name} 10.0 %")


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


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({}, "phase 1"),
        ({"iterations": 36}, "phase 1 (candidate)"),  # ranks differ
        ({"calls": 1000}, "phase 1 (candidate)"),  # 30 per iteration, 20 of them typical
    ],
)
def test_a_phase_of_parts_or_on_which_ranks_differ_is_a_candidate(
    read: Read, changed: dict[str, int], name: str
) -> None:
    first, other = phase_rows([(33, 900)], [(33, 900)])
    written = draft(
        {"ranks": 2},
        paths=path_rows("phase 1", "phase 1/iteration"),
        processes=process_rows("alpha", "alpha"),
        phases=[first, {**other, **changed}],
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
