"""`haloscope improve`: remedies are tried, proved, and kept or rejected."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from haloscope.base.errors import UsageError
from haloscope.hide.improve import (
    FigureOfMerit,
    Improvement,
    Proof,
    Remedy,
    RemedySearch,
    Runner,
    TrialPlan,
    TrialRun,
    improve,
    write_improve_page,
)
from support.injected import PROGRAMS
from support.mpi import Mpi
from support.pages import Look
from support.placed import messages_between
from support.processes import run_program
from support.programs import Compiler

Noise = Callable[[np.random.Generator, int], float]


def _log_normal(spread: float) -> Noise:
    return lambda random, run: float(random.normal(0, spread))


NOISES: dict[str, Noise] = {
    "normal": _log_normal(0.03),
    "outliers": lambda random, run: float(np.clip(0.03 * random.standard_t(1.2), -3, 3)),
    "two speeds": lambda random, run: float(0.7 * random.integers(2) + random.normal(0, 0.001)),
    "drift": lambda random, run: float(0.03 * run + random.normal(0, 0.01)),
    "jump": lambda random, run: float(0.3 * (run > 14) + random.normal(0, 0.01)),
}


class _Times:
    """Synthetic runs: seconds by remedies, 1 without any, times noise. Unknown remedies fail."""

    def __init__(self, seconds: Mapping[tuple[str, ...], float], noise: Noise, seed: int = 0) -> None:
        self.runs: list[TrialRun] = []
        self._seconds, self._noise = {(): 1.0, **seconds}, noise
        self._random = np.random.default_rng(seed)
        self()

    def __call__(self, *given: Remedy) -> TrialRun:
        names = tuple(one.name for one in given)
        seconds = self._seconds.get(names)
        drawn = None if seconds is None else seconds * np.exp(self._noise(self._random, len(self.runs)))
        run = TrialRun(names, drawn, "" if drawn else "status 1: no such thing")
        self.runs.append(run)
        return run


def _search(runner: _Times, names: Iterable[str], plan: TrialPlan) -> Improvement:
    found = [Remedy(name, "because") for name in names]
    steps: list[str] = []
    search = RemedySearch(runner, plan, steps.append)
    search.run(found)
    # A progress bar has one step per run.
    assert steps == [" and ".join(run.remedies) or "as it is" for run in runner.runs[1:]]
    assert len(runner.runs) <= plan.runs
    return Improvement((), tuple(found), tuple(runner.runs), tuple(search.proofs), search.kept)


def _improved(seconds: Mapping[tuple[str, ...], float], noise: float = 0.01, seed: int = 0) -> Improvement:
    names = sorted({name for way in seconds for name in way})
    return _search(_Times(seconds, _log_normal(noise), seed), [*names, "crashes"], TrialPlan(seed=seed))


def test_remedies_that_help_are_kept_one_after_the_other() -> None:
    """The second is compared with the first. Their gains are multiplied."""
    seconds = {("a",): 0.5, ("b",): 0.7, ("c",): 1.1, ("a", "b"): 0.3}
    names = [*"abc", "crashes"]
    found = _search(_Times(seconds, _log_normal(0.01)), names, TrialPlan(50))
    assert [one.name for one in found.kept] == ["a", "b"]
    assert found.proof is not None
    assert found.proof.low < 1 / 0.3 < found.proof.high
    assert [one.over for one in found.proofs] == [(), ("a",)]
    assert any("crashes: status 1" in line for line in found.describe())


def test_others_follow_if_none_of_the_first_helps() -> None:
    """Few runs allow one at a time here; the last one helps."""
    seconds: dict[tuple[str, ...], float] = {("a",): 1.2, ("b",): 1.3, ("c",): 0.5}
    found = _search(_Times(seconds, _log_normal(0.01)), "abc", TrialPlan(18))
    assert [one.name for one in found.kept] == ["c"]


def test_remedies_without_additional_gain_are_not_kept() -> None:
    seconds = {("a",): 0.5, ("b",): 0.52, ("a", "b"): 0.5}
    found = _search(_Times(seconds, _log_normal(0.01)), "ab", TrialPlan(50))
    assert [one.name for one in found.kept] == ["a"]
    assert any(one.remedies == ("a", "b") and not one.holds for one in found.proofs)


@pytest.mark.parametrize("noise", NOISES)
def test_noise_is_no_remedy(noise: str) -> None:
    """If no remedy helps, at most 1 % of programs get a proposal, whatever the noise is: 3 of 300 here."""
    seconds: dict[tuple[str, ...], float] = {(name,): 1.0 for name in "abcdefgh"}
    found = [
        _search(_Times(seconds, NOISES[noise], seed), "abcdefgh", TrialPlan(seed=seed)) for seed in range(300)
    ]
    assert sum(bool(one.kept) for one in found) <= 3


@pytest.mark.parametrize("noise", ["normal", "outliers"])
def test_gains_of_five_percent_are_found(noise: str) -> None:
    """With a spread of 1 % (normal) and of 0.5 % with outliers: 9 and 5 of 10 programs or more."""
    spread, least = {"normal": (0.01, 0.9), "outliers": (0.005, 0.5)}[noise]
    wide = NOISES[noise]
    seconds: dict[tuple[str, ...], float] = {(name,): 0.95 if name == "c" else 1.0 for name in "abcdefgh"}
    found = []
    for seed in range(60):
        runner = _Times(seconds, lambda random, run: wide(random, run) * spread / 0.03, seed)
        found.append(_search(runner, "abcdefgh", TrialPlan(seed=seed)))
    assert sum([one.name for one in each.kept] == ["c"] for each in found) >= least * len(found)


def _explain(tried: int, runs: Sequence[TrialRun], *proofs: Proof, interrupted: bool = False) -> str:
    """Return why nothing is proved."""
    remedies = tuple(Remedy(name, "because") for name in "abc"[:tried])
    causes = ("rank 0 computes longer",)
    found = Improvement((), remedies, tuple(runs), tuple(proofs), (), causes, is_interrupted=interrupted)
    assert found.describe()[1] == "cause: rank 0 computes longer"
    assert found.describe()[-1] == f"nothing is proposed: {found.explain_failure()}"
    return found.explain_failure()


OWN = [TrialRun((), 1.0), TrialRun((), 1.1)]
SLOW, FAST, KILLED = TrialRun(("a",), 0.99), TrialRun(("a",), 0.5), TrialRun(("a",), None, "status 1")


def _proof(gain: float, low: float, high: float) -> Proof:
    return Proof(("a",), (), (1.0,) * 6, (0.6,) * 6, gain, low, high, is_significant=False)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (_explain(0, OWN), "no remedy applies to this launch command and this profile"),
        (_explain(1, [OWN[0], SLOW, OWN[1]]), "no remedy seemed faster when tried"),
        (_explain(1, [OWN[0], KILLED, OWN[1]]), "the program failed with each remedy"),
        (
            _explain(1, [OWN[0], FAST, OWN[1], KILLED]),
            "later runs of the best remedy, or of the unchanged command, failed",
        ),
        (
            _explain(1, [OWN[0], FAST, OWN[1]], _proof(1.67, 0.9, 3.12)),
            "a was 1.67 times as fast in 12 runs, which may be chance: unchanged runs differ by 10 %; more"
            " runs may prove it (--runs 6)",
        ),
        (
            _explain(1, [OWN[0], FAST, OWN[1]], _proof(1.02, 1.01, 1.03)),
            "a was 1.02 times as fast in 12 runs; a remedy needs 1.03",
        ),
        (_explain(1, OWN, interrupted=True), "the search was interrupted after 2 runs"),
    ],
)
def test_the_reason_why_nothing_is_proved(told: str, reason: str) -> None:
    assert told == reason


def test_a_proof_needs_no_reason() -> None:
    found = _improved({("a",): 0.5})
    assert found.explain_failure() == ""
    assert not any(line.startswith("cause: ") for line in found.describe())


class _Failing(_Times):
    """Runs with `which` fail except the first; runs without remedies fail after the first `last`."""

    def __init__(self, which: str, last: int) -> None:
        self._which, self._last = which, last
        super().__init__({("a",): 0.5, ("b",): 0.8, ("a", "b"): 0.4}, _log_normal(0.01))

    def __call__(self, *given: Remedy) -> TrialRun:
        run = super().__call__(*given)
        alike = [one for one in self.runs if one.remedies == run.remedies]
        fails = self._which in run.remedies and len(alike) > 1
        fails |= not run.remedies and len(alike) > self._last
        if fails:
            self.runs[-1] = TrialRun(run.remedies, None, "status 1: killed")
        return self.runs[-1]


@pytest.mark.parametrize(("which", "last", "kept"), [("a", 100, ["b"]), ("-", 2, []), ("-", 4, [])])
def test_failed_runs_have_no_gain(which: str, last: int, kept: list[str]) -> None:
    """A remedy is dropped if one of its runs fails. Failed runs have no gain."""
    found = _search(_Failing(which, last), "ab", TrialPlan(50))
    assert [one.name for one in found.kept] == kept
    json.dumps(found.figures(), allow_nan=False)
    assert not any("nan" in line or " inf" in line for line in found.describe())
    assert any("killed" in line for line in found.describe())


@pytest.mark.parametrize(
    ("pattern", "output", "value", "cost"),
    [
        ("Loop time of ([0-9.]+)", "Loop time of 3\nLoop time of 2.5 on 4", 2.5, 2.5),
        ("(?P<rate>[0-9.]+) ns/day", "12.5 ns/day", 12.5, 0.08),
        ("t = (.*) s", "t = 0.4D+01 s", 4.0, 4.0),
        ("t = (.*) s", "t = 0.0 s", None, None),
        ("t = (.*) s", "t = fast s", None, None),
        ("t = ([0-9]+)", "no time", None, None),
    ],
)
def test_the_last_number_of_the_program_is_its_metric(
    pattern: str, output: str, value: float | None, cost: float | None
) -> None:
    metric = FigureOfMerit.of(pattern)
    found, problem = metric.read(output)
    assert found == value
    assert bool(problem) == (value is None)
    assert found is None or metric.cost(found) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (TrialPlan(metric="("), "is not a regular expression"),
        (TrialPlan(metric="[0-9]+"), "in one pair of parentheses"),
        (TrialPlan(runs=13), "13 runs cannot prove a gain; 14 or more can"),
    ],
)
def test_a_plan_that_cannot_work_starts_nothing(plan: TrialPlan, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        improve(["mpiexec", "true"], plan=plan)


@pytest.mark.parametrize("duration", [0, 0.0, None, "long", 2.5])
def test_a_run_whose_time_is_unknown_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duration: object
) -> None:
    written = messages_between([(0, 1, 8)], ["a"] * 2)
    written.info["duration"] = duration
    monkeypatch.setattr("haloscope.hide.improve.trial_runs._run_command", lambda *rest: 0)
    written.write(tmp_path / "run-1.halo")
    run = Runner(["mpiexec", "true"], tmp_path)()
    assert run.seconds == (duration if duration == 2.5 else None)
    assert ("no duration" in run.problem) == (run.seconds is None)


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (700, "dark")])
def test_the_page(look: Look, tmp_path: Path, width: int, scheme: Literal["light", "dark"]) -> None:
    """No setting's name becomes markup; the answer, the times and all tried remedies are shown."""
    evil = "without X=<img src=x onerror=alert(1)>"
    found = _improved({(evil,): 0.5, ("b",): 1.1})
    write_improve_page(replace(found, command=("mpiexec", evil)), tmp_path / "page.html")
    page = look(tmp_path / "page.html", width, scheme)
    page.wait_for_selector("#sections[data-waiting='0']")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sections = page.locator("section").evaluate_all("all => all.map(one => one.id)")
    assert sections == ["answer", "script", "proofs", "tried"]
    assert page.locator("img").count() == 0
    assert page.locator("#tried tbody tr").count() == 3
    assert "times as fast" in page.locator("#answer").inner_text()
    points = page.locator("#proofs .point").count()
    assert points == sum(run.seconds is not None for run in found.runs)


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_a_planted_setting_is_tried(mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path) -> None:
    """Real runs. Without the other setting the program fails, which is only reported."""
    program = compiler(mpi, PROGRAMS / "planted.c", ["-Wall", "-Wextra"])
    planted = {"OMPI_MCA_coll_planted_delay": "1", "OMPI_MCA_pml_planted_need": "1"}
    page = tmp_path / "evidence.html"
    words = [haloscope, "improve", "--runs", "22", "-o", page, "--format", "json", "--"]
    done = run_program([*map(str, words), *mpi.launch(2), str(program)], env=mpi.environment(planted))
    told = json.loads(done.stdout)
    # Which gains are proved depends on the load of the machine.
    planted_delay = "without OMPI_MCA_coll_planted_delay=1"
    planted_need = "without OMPI_MCA_pml_planted_need=1"
    tried = {one["remedy"] for one in told["tried"]}
    assert {planted_delay, planted_need} <= tried
    assert any(run["remedies"] == [planted_delay] and run["time"] for run in told["runs"])
    assert set(told["kept"]) <= tried - {planted_need}, done.stdout
    assert ("unset OMPI_MCA_coll_planted_delay" in told["script"]) == (planted_delay in told["kept"])
    assert bool(told["script"]) == bool(told["kept"])
    assert 3 <= len(told["runs"]) <= 22
    broken = [run for run in told["runs"] if run["time"] is None]
    assert {run["remedies"][0] for run in broken} == {planted_need}
    assert ("Remedies that make it faster" in page.read_text()) == bool(told["kept"])


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_a_program_that_fails_is_one_line(mpi: Mpi, compiler: Compiler, haloscope: Path) -> None:
    program = compiler(mpi, PROGRAMS / "planted.c", ["-Wall", "-Wextra"])
    words = mpi.launch(1)
    done = run_program([haloscope, "improve", "--", *words, program], env=mpi.environment(), status=1)
    assert "status" in done.stderr
    assert len(done.stderr.splitlines()) == 1
