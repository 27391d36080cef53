"""`haloscope improve`: remedies are tried, proved, and kept or rejected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from haloscope import open as open_profile
from haloscope.base.launch import parse
from haloscope.hide.improve import (
    Improvement,
    Remedy,
    Runner,
    TrialPlan,
    TrialRun,
    list_remedies,
    write_improve_page,
)
from haloscope.hide.improve.improvement import AS_IT_IS, Proof, _find_promising, _prove, _select_proven
from haloscope.hide.improve.remedy import _shorten_fragments, _use_placement
from support.injected import PROGRAMS
from support.mpi import Mpi
from support.pages import Look
from support.placed import messages_between
from support.processes import run_program
from support.profiles import draft, path_rows, process_rows
from support.programs import Compiler


class _Times:
    """Synthetic runs: seconds by remedies, times log-normal noise."""

    def __init__(self, seconds: dict[tuple[str, ...], float], noise: float, seed: int) -> None:
        self.runs: list[TrialRun] = []
        self._seconds, self._noise = seconds, noise
        self._random = np.random.default_rng(seed)
        self()

    def __call__(self, *given: Remedy) -> TrialRun:
        names = tuple(one.name for one in given)
        seconds = self._seconds.get(names)
        drawn = None if seconds is None else float(seconds * np.exp(self._random.normal(0, self._noise)))
        run = TrialRun(names, drawn, "" if drawn else "status 1: no such thing")
        self.runs.append(run)
        return run


def _improved(seconds: dict[tuple[str, ...], float], noise: float, seed: int = 0) -> Improvement:
    names = sorted({name for way in seconds for name in way})
    found = [Remedy(name, "because") for name in [*names, "crashes"]]
    runner = _Times({(): 1.0} | seconds, noise, seed)
    plan = TrialPlan(20, seed)
    promising = _find_promising(runner, found, lambda what: None)  # type: ignore[arg-type]
    proofs = _prove(runner, promising, plan, lambda what: None)  # type: ignore[arg-type]
    return Improvement((), tuple(found), tuple(runner.runs), tuple(proofs), _select_proven(promising, proofs))


def test_remedies_that_help_are_kept_alone_and_together() -> None:
    seconds = {("a",): 0.5, ("b",): 0.7, ("c",): 1.1, ("a", "b"): 0.3}
    found = _improved(seconds, 0.01)
    assert [one.name for one in found.kept] == ["a", "b"]
    assert found.proof is not None
    assert found.proof.low < 1 / 0.3 < found.proof.high
    assert any(one.over == ("a",) and one.holds for one in found.proofs)
    assert len(found.runs) <= 20
    assert any("crashes: status 1" in line for line in found.describe())


def test_remedies_without_additional_gain_are_not_kept() -> None:
    found = _improved({("a",): 0.5, ("b",): 0.52, ("a", "b"): 0.5}, 0.01)
    assert [one.name for one in found.kept] == ["a"]
    assert any(one.remedies == ("a", "b") and not one.holds for one in found.proofs)


def failure(tried: int, runs: Sequence[TrialRun], *proofs: Proof) -> str:
    """Return why nothing is proved."""
    remedies = tuple(Remedy(name, "because") for name in "abc"[:tried])
    found = Improvement((), remedies, tuple(runs), tuple(proofs), (), ("rank 0 computes longer",))
    assert found.describe()[1] == "cause: rank 0 computes longer"
    assert found.describe()[-1] == f"nothing is proposed: {found.explain_failure()}"
    return found.explain_failure()


OWN = [TrialRun((), 1.0), TrialRun((), 1.1)]
SLOW, FAST = TrialRun(("a",), 0.97), TrialRun(("a",), 0.5)


def proof(gain: float, low: float, high: float, rounds: int) -> Proof:
    return Proof(("a",), (), (1.0,) * rounds, (0.6,) * rounds, gain, low, high)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (failure(0, OWN), "no remedy applies to this launch command and this profile"),
        (failure(1, [OWN[0], SLOW, OWN[1]]), "no remedy was at least 5 % faster when tried once"),
        (failure(1, [OWN[0], FAST, OWN[1]]), "too few runs were left for a proof (--runs 20)"),
        (
            failure(1, [OWN[0], FAST, OWN[1], TrialRun(("a",), None, "status 1")]),
            "later runs of the best remedy, or of the unchanged command, failed",
        ),
        (
            failure(1, [OWN[0], FAST, OWN[1]], proof(1.67, 0.9, 3.12, 2)),
            "a was 1.67 times as fast, but 2 rounds do not exclude chance (0.90 to 3.12); more rounds may"
            " prove it (--runs 20)",
        ),
        (
            failure(1, [OWN[0], FAST, OWN[1]], proof(1.02, 0.99, 1.05, 5)),
            "a was 1.02 times as fast, but 5 rounds do not exclude chance (0.99 to 1.05)",
        ),
        (
            failure(1, [OWN[0], FAST, OWN[1]], proof(1.02, 1.01, 1.03, 5)),
            "a is only 1.02 times as fast; a remedy needs 1.03",
        ),
    ],
)
def test_the_reason_why_nothing_is_proved(told: str, reason: str) -> None:
    assert told == reason


def test_a_proof_needs_no_reason() -> None:
    found = _improved({("a",): 0.5}, 0.01)
    assert found.explain_failure() == ""
    assert not any(line.startswith("cause: ") for line in found.describe())


def test_each_run_is_announced() -> None:
    """A progress bar has one step per run."""
    runner, steps = _Times({(): 1.0, ("a",): 0.5}, 0.01, 0), list[str]()
    promising = _find_promising(runner, [Remedy("a", "because"), Remedy("b", "because")], steps.append)  # type: ignore[arg-type]
    _prove(runner, promising, TrialPlan(), steps.append)  # type: ignore[arg-type]
    assert steps == [" and ".join(run.remedies) or AS_IT_IS for run in runner.runs[1:]]


@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_noise_is_no_remedy(noise: float) -> None:
    """If no remedy helps, at most 5 % of 200 programs get a proposal."""
    seconds: dict[tuple[str, ...], float] = {(name,): 1.0 for name in "abcdef"}
    seconds |= {(one, other): 1.0 for one in "abcdef" for other in "abcdef"}
    proposals = [_improved(seconds, noise, seed) for seed in range(200)]
    assert sum(bool(one.kept) for one in proposals) <= 10
    assert max(len(one.runs) for one in proposals) <= 20


class _Failing(_Times):
    """Runs with `which` fail except the first; runs without remedies fail after the first `last`."""

    def __init__(self, which: str, last: int) -> None:
        self._which, self._last = which, last
        super().__init__({(): 1.0, ("a",): 0.5, ("b",): 0.8, ("a", "b"): 0.4}, 0.01, 0)

    def __call__(self, *given: Remedy) -> TrialRun:
        run = super().__call__(*given)
        alike = [one for one in self.runs if one.remedies == run.remedies]
        fails = self._which in run.remedies and len(alike) > 1
        fails |= not run.remedies and len(alike) > self._last
        if fails:
            self.runs[-1] = TrialRun(run.remedies, None, "status 1: killed")
        return self.runs[-1]


@pytest.mark.parametrize(("which", "last", "proved"), [("a", 100, 0), ("-", 2, 1), ("-", 3, 1), ("-", 4, 3)])
def test_failed_runs_have_no_gain(which: str, last: int, proved: int) -> None:
    """A remedy is dropped if one of its runs fails. Failed runs have no gain."""
    runner = _Failing(which, last)
    found = [Remedy("a", "because"), Remedy("b", "because")]
    promising = _find_promising(runner, found, lambda what: None)  # type: ignore[arg-type]
    proofs = _prove(runner, promising, TrialPlan(), lambda what: None)  # type: ignore[arg-type]
    told = Improvement((), tuple(found), tuple(runner.runs), tuple(proofs), _select_proven(promising, proofs))
    assert len(proofs) == proved
    assert not (told.kept and proved < 3)
    json.dumps(told.figures(), allow_nan=False)
    assert not any("nan" in line or " inf" in line for line in told.describe())
    assert any("killed" in line for line in told.describe())


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
    found = _improved({(evil,): 0.5, ("b",): 1.1}, 0.01)
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


def _remedies(
    tmp_path: Path, words: Sequence[str], environment: dict[str, str], size: int
) -> dict[str, Remedy]:
    path = messages_between([(0, 1, size), (1, 0, size)], ["here"] * 2).write(tmp_path / "two.halo")
    with open_profile(path) as profile:
        return {one.name: one for one in list_remedies(profile, parse(words), "openmpi", environment)}


def test_runs_without_settings_of_the_launch_are_tried(tmp_path: Path, any_mpi: Mpi) -> None:
    """Each setting is removed alone. Settings that select hosts or networks stay."""
    options = "--mca btl_sm_eager_limit 512 --mca btl self,sm -n 2"
    words = [str(any_mpi.mpiexec), *options.split(), "true"]
    environment = {
        "OMPI_MCA_mpi_yield_when_idle": "0",
        "OMPI_MCA_btl_tcp_if_include": "eth0",
        "UCX_NET_DEVICES": "x",
    }
    found = _remedies(tmp_path, words, environment, 8)
    assert set(found) == {"without OMPI_MCA_mpi_yield_when_idle=0", "without --mca btl_sm_eager_limit 512"}
    assert found["without --mca btl_sm_eager_limit 512"].apply(words) == [words[0], *words[4:]]
    assert found["without OMPI_MCA_mpi_yield_when_idle=0"].script() == ["unset OMPI_MCA_mpi_yield_when_idle"]


@pytest.mark.parametrize(
    ("hosts", "size", "is_tried"),
    [("ab", 2 << 20, True), ("aa", 2 << 20, False), ("ab", 1 << 19, False)],
    ids=["tried", "one-node", "short"],
)
def test_long_messages_between_nodes_are_tried_in_fragments(
    tmp_path: Path, hosts: str, size: int, is_tried: bool
) -> None:
    row = {"path": 0, "kind": "p2p", "bytes": size, "bytes_upper": size, "messages": 100}
    path = draft(paths=path_rows(), processes=process_rows(*hosts), sizes=[row]).write(tmp_path / "two.halo")
    with open_profile(path) as profile:
        found = list(_shorten_fragments(profile, "openmpi", {}))
        assert not list(_shorten_fragments(profile, "mpich", {}))
    scripts = [remedy.script() for remedy in found]
    assert scripts == ([["export OMPI_MCA_btl_tcp_rdma_pipeline_frag_size=131072"]] if is_tried else [])


@pytest.mark.usefixtures("scotch")
def test_a_placement_uses_the_profile_of_its_own_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later trial uses its own profile. The job script shows how to get one."""
    path = messages_between([(0, 1, 65536), (2, 3, 65536)], ["a", "b"] * 2).write(tmp_path / "four.halo")
    with open_profile(path) as profile:
        (found,) = _use_placement(profile)
    words: list[list[str]] = []

    def ended(command: list[str], *rest: object) -> int:
        words.append(command)
        return 1

    monkeypatch.setattr("haloscope.hide.improve.trial_runs._run_command", ended)
    for name in ("first", "later"):
        (tmp_path / name).mkdir()
        runner = Runner(["mpiexec", "true"], tmp_path / name)
        (tmp_path / name / "run-1.log").touch()
        runner(found)
    assert [one[1:4] for one in words] == [
        ["place", str(tmp_path / name / "run-1.halo"), "--"] for name in ("first", "later")
    ]
    assert "place F.halo --" in found.script()[0]


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_a_planted_setting_is_tried(mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path) -> None:
    """Real runs. Without the other setting the program fails, which is only reported."""
    program = compiler(mpi, PROGRAMS / "planted.c", ["-Wall", "-Wextra"])
    planted = {"OMPI_MCA_coll_planted_delay": "1", "OMPI_MCA_pml_planted_need": "1"}
    page = tmp_path / "evidence.html"
    words = [haloscope, "improve", "--runs", "12", "-o", page, "--format", "json", "--"]
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
    assert 3 <= len(told["runs"]) <= 12
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
