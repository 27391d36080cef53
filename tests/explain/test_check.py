"""Rules: counts are exact, times fail only if measured again, and verdicts are JUnit and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import haloscope
from haloscope import LaunchError, ProfileError, UsageError
from haloscope.explain.checking import (
    CHECKED,
    Again,
    Checked,
    Detectable,
    as_junit,
    as_markdown,
    find_detectable,
    read_rules,
)
from support.command import Command
from support.profiles import draft, path_rows, process_rows
from support.repeated_runs import repeated_run

Write = Callable[..., Path]
HEAD = "version = 1\nprogram = 'app'\nranks = 2\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write("name", slower=1.1)` writes a run."""

    def one(name: str, seed: int = 0, spread: float = 0.01, **how: Any) -> Path:
        random = np.random.default_rng([seed, *map(ord, name)])
        return repeated_run(random, spread, **how).write(tmp_path / f"{name}.halo")

    return one


@pytest.fixture
def rules(tmp_path: Path, write: Write) -> Path:
    path = tmp_path / "rules.toml"
    haloscope.learn_rules([write(f"good-{index}") for index in range(5)], path)
    return path


def again(seed: int, **how: Any) -> Again:
    """Return a function that measures again, by runs that are `slower` by this factor."""
    random = np.random.default_rng(seed)
    return lambda path: void(repeated_run(random, 0.01, **how).write(path))


def void(_: object) -> None:
    """Discard a value."""


def test_a_run_like_the_learned_ones_passes(rules: Path, write: Write) -> None:
    checked = haloscope.check(write("new"), rules)
    assert (checked.failures, checked.exit_status, checked.again) == ([], 0, 0)
    assert set(checked.frame["status"]) <= {"passed", "suspect"}
    assert dict(checked.frame.schema) == CHECKED


def test_learned_rules_cover_the_whole_run(rules: Path) -> None:
    known = read_rules(rules)
    assert (known.program, known.ranks, known.learned.runs) == ("app", 2, 5)
    halo = known.regions["solve/halo"]
    assert halo.calls == {"MPI_Isend": 400, "MPI_Waitall": 400}  # the number of MPI_Test varies
    assert halo.sizes == {"p2p 4608 B": 400}
    assert halo.regions["sends_total"] == 400
    assert known.regions["output"].collectives == {"Allreduce of 8 B on 2 ranks": 6}
    timed = [region for region, rule in known.regions.items() if rule.own_time]
    assert timed == ["solve", "solve/halo"]  # other regions take less than 10 % of the time
    assert isinstance(known.regions["<program>"].time, list)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": 401}, "sends_total is 401, expected 400"),
        ({"size": 4600}, "bytes_sent_total is 1840000, expected 1843200"),
    ],
)
def test_one_message_more_fails(rules: Path, write: Write, change: dict[str, int], words: str) -> None:
    checked = haloscope.check(write("new", **change), rules)
    assert checked.exit_status == 3
    assert any(words in verdict.text for verdict in checked.failures)
    assert {verdict.region for verdict in checked.failures} == {"solve/halo"}
    with pytest.raises(AssertionError, match="solve/halo"):
        checked.raise_for_failures()


def test_calls_that_are_alike_but_for_their_memory_are_rules_of_their_own(
    tmp_path: Path, write: Write
) -> None:
    rules = tmp_path / "gpu.toml"
    learned = haloscope.learn_rules([write("a", on_device=300), write("b", on_device=300)], rules)
    halo = learned.regions["solve/halo"]
    assert halo.calls["MPI_Isend"] == halo.sizes["p2p 4608 B"] == 400  # of any memory
    assert halo.memory == {"MPI_Isend of device memory": 300, "p2p of 4608 B of device memory": 300}
    assert read_rules(rules).regions["solve/halo"] == halo
    assert haloscope.check(write("alike", on_device=300), rules).failures == []
    failed = haloscope.check(write("moved", on_device=0), rules)
    assert {verdict.text.split(": ")[1] for verdict in failed.failures} == {
        "memory MPI_Isend of device memory is 0, expected 300",
        "memory p2p of 4608 B of device memory is 0, expected 300",
    }
    # Older recorders do not record the kind of memory: such rules are neither broken nor met.
    unknown = haloscope.check(write("older"), rules)
    assert all("is unknown for this run" in verdict.text for verdict in unknown.failures)


def test_varying_counts_have_no_rule(tmp_path: Path, write: Write) -> None:
    learned = haloscope.learn_rules([write("a"), write("b", messages=500)])
    assert "calls MPI_Isend" in learned.regions["solve/halo"].varies
    assert not haloscope.check(write("c", messages=7), learned).failures or "sizes" in str(learned.regions)
    assert haloscope.check(write("d", messages=7), learned).failures == []


def test_limits_and_missing_regions(tmp_path: Path, write: Write) -> None:
    rules = tmp_path / "own.toml"
    text = f'{HEAD}complete = false\n[regions."solve/halo".regions]\nsends_total = '
    run = write("run")
    for limit, status in (
        ("{ at_most = 400 }", 0),
        ("{ at_most = 399 }", 3),
        ("{ at_least = 401 }", 3),
        ("400", 0),
    ):
        rules.write_text(text + limit)
        assert haloscope.check(run, rules).exit_status == status, limit
    rules.write_text(text.replace("solve/halo", "gone") + "1")
    (failure,) = haloscope.check(run, rules).failures
    assert failure.text.startswith("gone: is missing; there is ")
    assert "solve/halo" in failure.text
    rules.write_text(f'{HEAD}[regions."<program>".regions]\nranks = 2\n')
    assert "solve: is a new region" in {verdict.text for verdict in haloscope.check(run, rules).failures}


def test_a_slow_time_without_measuring_again_is_suspect(rules: Path, write: Write) -> None:
    checked = haloscope.check(write("slow", slower=1.3), rules)
    assert checked.exit_status == 0
    assert {verdict.rule for verdict in checked.suspects} == {"time", "own_time"}
    assert "not measured again, so it does not fail" in checked.describe()[0]


def test_a_slow_time_fails_only_if_it_is_slow_again(rules: Path, write: Write) -> None:
    slow = write("slow", slower=1.3)
    once = haloscope.check(slow, rules, again=again(1))
    assert (once.exit_status, once.again) == (0, 5)
    for_good = haloscope.check(slow, rules, again=again(2, slower=1.3))
    assert for_good.exit_status == 3
    assert "in 5 repeated runs" in for_good.failures[0].text


def test_a_time_limit(tmp_path: Path, write: Write) -> None:
    rules = tmp_path / "own.toml"
    rules.write_text(f'{HEAD}complete = false\n[regions."<program>"]\ntime = {{ at_most = 1.2 }}\n')
    slow = write("slow", slower=2.0)
    assert haloscope.check(write("quick"), rules).exit_status == 0
    assert haloscope.check(slow, rules).exit_status == 0
    assert haloscope.check(slow, rules, again=again(1)).exit_status == 0
    assert haloscope.check(slow, rules, again=again(1, slower=2.0)).exit_status == 3


def test_a_limit_of_a_region_that_is_missing_in_repeated_runs(tmp_path: Path, write: Write) -> None:
    rules = tmp_path / "own.toml"
    rules.write_text(f'{HEAD}complete = false\n[regions."solve/halo"]\ntime = {{ at_most = 1e-6 }}\n')

    def without_region(path: Path) -> None:
        rows = [{"path": 0, "rank": rank, "instances": 1, "time": 1.0} for rank in (0, 1)]
        hosts = process_rows("alpha", "alpha")
        draft({"program": "app"}, paths=path_rows(), processes=hosts, ranks=rows).write(path)

    (failure,) = haloscope.check(write("run"), rules, again=without_region).failures
    assert failure.text.endswith("; the repeated runs have no such time")


@pytest.mark.parametrize(
    ("slower", "trials", "least", "most"), [(1.0, 2, 0, 0), (1.1, 1, 1, 1)], ids=["alike", "slower"]
)
def test_alike_runs_pass_and_slow_ones_fail(
    tmp_path: Path, slower: float, trials: int, least: int, most: int
) -> None:
    """benchmarks/explain/alike.py does this with many more runs."""
    random = np.random.default_rng(11)
    found = 0
    for _ in range(trials):
        learned = [repeated_run(random, 0.02).write(tmp_path / f"{index}.halo") for index in range(10)]
        rules = haloscope.learn_rules(learned)
        run = repeated_run(random, 0.02, slower).write(tmp_path / "new.halo")
        checked = haloscope.check(
            run, rules, again=lambda path: void(repeated_run(random, 0.02, slower).write(path))
        )
        found += bool(checked.failures)
    assert least <= found <= most


def timed(path: Path, time: float) -> Path:
    """Write a run of this duration, without any events."""
    rows = [{"path": 0, "rank": rank, "instances": 1, "time": time} for rank in (0, 1)]
    info = {"program": "app"}
    return draft(info, paths=path_rows(), processes=process_rows("a", "a"), ranks=rows).write(path)


def these(times: list[float]) -> Again:
    """Return a function that measures these times, one per call."""
    rest = iter(times)
    return lambda path: void(timed(path, next(rest)))


def checked(folder: Path, learned: list[float], again: list[float], slower: float = 0.05) -> Checked:
    """Check a slow run against the rules of `learned` runs, and measure the times of `again`."""
    rules = folder / "rules.toml"
    rules.write_text(
        f"{HEAD}complete = false\nagain = {len(again)}\nslower = {slower}\n"
        f'[regions."<program>"]\ntime = {learned}\n'
    )
    run = timed(folder / "run.halo", 2 * max(learned))
    found = haloscope.check(run, rules, again=these(again))
    assert found.again == len(again)
    return found


@pytest.mark.slow
def test_a_slowdown_is_found_though_some_runs_are_disturbed(tmp_path: Path) -> None:
    """Times of real runs have a floor and a tail: the faster half detects what the mean cannot."""
    random = np.random.default_rng(3)

    def times(slower: float) -> list[float]:
        return [float(time) for time in 0.36 * slower * np.exp(random.exponential(0.1, 12))]

    found, by_means = 0, 0
    for _ in range(4):
        learned = times(1.0)
        failures = checked(tmp_path, learned, times(1.1)).failures
        found += bool(failures)
        by_means += bool(failures) and "faster half" not in failures[0].text
    assert found >= 3 > by_means
    assert not any(checked(tmp_path, times(1.0), times(1.0), 1e-9).failures for _ in range(2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs", "spread"),
    [(5, 0.01), *(pytest.param(*case, marks=pytest.mark.long) for case in ((10, 0.03), (20, 0.08)))],
)
def test_the_documented_slowdown_is_detected(tmp_path: Path, runs: int, spread: float) -> None:
    random = np.random.default_rng([runs, 7])
    found = 0
    for _ in range(4):
        times = np.exp(random.normal(0, spread, runs)).tolist()
        learned = haloscope.learn_rules([timed(tmp_path / f"{i}.halo", time) for i, time in enumerate(times)])
        slower = find_detectable(learned).share
        assert slower is not None
        first, *again = ((1 + slower) * np.exp(random.normal(0, spread, learned.again + 1))).tolist()
        run = timed(tmp_path / "run.halo", first)
        verdicts = haloscope.check(run, learned, again=these(again))
        found += bool(verdicts.failures)
    assert found >= 3  # of 4; the documented rate is 90 %


@pytest.mark.slow
@pytest.mark.parametrize("times", [(1.0, 1.15, 0.9), (1.0, 1.1, 1.3, 0.9, 1.2)])
def test_the_documented_number_of_runs_detects(tmp_path: Path, times: tuple[float, ...]) -> None:
    """Rules from too few runs state how many are needed; with so many of the same scatter, they detect."""
    random = np.random.default_rng(len(times))

    def detectable(times: Sequence[float]) -> Detectable:
        paths = [timed(tmp_path / f"{number}.halo", time) for number, time in enumerate(times)]
        return find_detectable(haloscope.learn_rules(paths))

    few = detectable(times)
    assert few.share is None
    assert few.runs is not None
    assert len(times) < few.runs <= 50
    drawn = [detectable(random.choice(times, few.runs).tolist()).share for _ in range(2)]
    assert any(share is not None for share in drawn)
    assert all(share is None or 0.05 <= share <= 0.5 for share in drawn)


def test_what_is_detected_counts_slow_changes_of_the_machine(tmp_path: Path) -> None:
    """Equal scatter within each half, but the machine was slower in the second one."""
    noise = np.exp(np.random.default_rng(0).normal(0, 0.005, 12))
    shares = []
    for change in (1.0, 1.1):
        times = (noise * np.repeat([1.0, change], 6)).tolist()
        paths = [timed(tmp_path / f"{number}.halo", time) for number, time in enumerate(times)]
        shares.append(find_detectable(haloscope.learn_rules(paths)).share)
    assert shares[0] is not None
    assert shares[1] is not None
    assert shares[0] < 0.1 < shares[1]


def test_junit_and_markdown(rules: Path, write: Write) -> None:
    checked = haloscope.check(write("new", messages=1, slower=1.3), rules)
    suite = ElementTree.fromstring(as_junit(checked))
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(cases)
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure")) == 1
    assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped")) == len(checked.suspects)
    assert suite.find("testcase/failure").get("message", "").startswith("solve/halo: ")  # type: ignore[union-attr]
    rows = [line for line in as_markdown(checked).splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(checked.failures) + len(checked.suspects)
    assert {line.count(" | ") for line in rows} == {4}


def test_names_of_regions_are_text_everywhere(tmp_path: Path, write: Write) -> None:
    evil = 'a|b`<script>@all\x1b[31m"]]>\n# x'
    run = repeated_run(np.random.default_rng(0))
    run.tables["paths"]["name"][1] = evil
    first = run.write(tmp_path / "evil.halo")
    rules = tmp_path / "evil.toml"
    haloscope.learn_rules(first, rules)
    assert haloscope.check(first, rules).exit_status == 0
    checked = haloscope.check(write("plain"), rules)
    ElementTree.fromstring(as_junit(checked))
    text = as_markdown(checked) + "\n".join(checked.describe())
    assert "\x1b" not in text
    assert "<script>" not in as_markdown(checked)
    assert "@all" not in as_markdown(checked)


def test_bad_input(tmp_path: Path, rules: Path, write: Write) -> None:
    with pytest.raises(ProfileError, match="is of sweep, but the rules are for app"):
        haloscope.check(write("sweep", program="sweep"), rules)
    with pytest.raises(ProfileError, match="has 4 ranks, but the rules are for 2"):
        haloscope.check(write("four", ranks=4), rules)
    with pytest.raises(ProfileError, match="the run is incomplete"):
        haloscope.check(write("part", partial=True, missing_ranks=[1]), rules)
    with pytest.raises(UsageError, match="repetitions of one run"):
        haloscope.learn_rules([write("a"), write("b", program="b")])
    with pytest.raises(LaunchError, match="ended with status 7"):
        haloscope.check(write("slow", slower=1.3), rules, again=["sh", "-c", "exit 7"])
    with pytest.raises(LaunchError, match="wrote no profile"):
        haloscope.check(write("slow", slower=1.3), rules, again=["true"])
    with pytest.raises(UsageError, match="give the same command"):
        haloscope.check(write("slow", slower=1.3), rules, again=again(0, program="other"))
    other = haloscope.check(write("mpich", mpi_library="MPICH 4"), rules)
    assert any("learned with Open MPI" in line for line in other.remarks)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = 1", "program"),
        (HEAD.replace("1", "2"), "version"),
        ("no toml at all", "is not TOML"),
        (f"{HEAD}[regions.x.regions]\nsents = 1", "unknown count 'sents'"),
        (f"{HEAD}[regions.x.regions]\nranks = -1", "ranks"),
        (f"{HEAD}[regions.x.regions]\nranks = {{}}", "at_least"),
        (f"{HEAD}[regions.x]\ntime = [1.0]", "time"),
        (f"{HEAD}[regions.x]\ntime = [nan, 1.0]", "time"),
        (f"{HEAD}speed = 1", "speed"),
    ],
)
def test_bad_rules_are_one_line(tmp_path: Path, write: Write, text: str, words: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        haloscope.check(write("run"), path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    with pytest.raises(UsageError, match="is not text"):
        haloscope.check(write("run"), write("rules"))
    with pytest.raises(UsageError, match="No such file"):
        haloscope.check(write("run"), tmp_path / "nothing.toml")


def test_the_command(tmp_path: Path, write: Write, command: Command) -> None:
    rules = tmp_path / "rules.toml"
    done = command("check", "--write-rules", *(write(f"good-{index}") for index in range(3)), rules)
    assert done.stderr == ""
    assert "3 rules about time" in done.stdout
    assert "% slower fails in about nine checks of ten" in done.stdout
    wild = [write(f"wild-{index}", slower=time) for index, time in enumerate((1.0, 3.0, 9.0))]
    stated = command("check", "--write-rules", *wild, tmp_path / "wild.toml").stdout
    assert "% slower" not in stated
    assert "can't detect a slowdown of time here: " in stated
    one = command("check", "--write-rules", write("one"), tmp_path / "one.toml").stdout
    assert "can't detect a slowdown of time here: repeat at least 3 runs" in one
    command("check", write("new"), rules)
    notices = ["-o", tmp_path / "c.xml", "-o", tmp_path / "c.md"]
    done = command("check", write("more", messages=9), rules, *notices, status=3)
    assert done.stdout.startswith("failed: solve/halo: ")
    assert "rules failed" in (tmp_path / "c.md").read_text()
    done = command("check", write("slow", slower=2.0), rules, "--again", "sh -c 'echo out; exit 5'", status=1)
    assert done.stdout == ""
    assert "out" in done.stderr.splitlines()
    assert "ended with status 5" in done.stderr.splitlines()[-1]
    wrong: list[list[str | Path]] = [
        [rules],
        ["--write-rules", "--again", "x", write("a"), rules],
        [write("a"), write("b"), rules],
        ["--write-rules", "-o", tmp_path / "w.md", write("a"), rules],
        [write("a"), rules, "-o", tmp_path / "check.txt"],
    ]
    for words in wrong:
        done = command("check", *words, status=2)
        assert done.stderr.count("\n") == 1, words
