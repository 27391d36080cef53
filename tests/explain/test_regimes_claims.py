"""Sentences about two methods state only differences that another run would confirm."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from scipy.signal import lfilter

from haloscope.cli import haloscope
from haloscope.markov import ClaimMethod, claims
from haloscope.markov.statistics import Sample

Floats = NDArray[np.float64]
REPETITIONS = 40


def run(times: Floats, slow: float = 0.3, verdicts: tuple[str, ...] = ()) -> Any:
    """A run of one series for the comparison; the longest times are its slow regime."""
    sample = Sample("run", times, (times > np.quantile(times, 1 - slow)).astype(np.uint8))
    part = SimpleNamespace(sample=sample)
    view = SimpleNamespace(whole=part, slowest=part)
    return SimpleNamespace(view=view, has_several=False, goodness=SimpleNamespace(verdicts=verdicts))


def drawn(random: np.random.Generator, effect: float = 0.0, factor: float = 1.0) -> Floats:
    """Draw a run that differs as a whole from others by `effect`."""
    times: Floats = factor * np.exp(effect * random.normal() + 0.1 * random.normal(size=(2, 300)))
    return times


def said(first: list[Any], second: list[Any]) -> list[Any]:
    return claims([ClaimMethod("A", first), ClaimMethod("B", second)])


@pytest.mark.parametrize("effect", [0, 0.03])
def test_alike_methods_are_not_called_different(effect: float) -> None:
    """Each has three runs. At most 7 % of the comparisons report a difference; the level is 5 %."""
    random, false = np.random.default_rng(0), 0
    for _ in range(REPETITIONS):
        runs = [run(drawn(random, effect)) for _ in range(6)]
        false += any(claim.sure for claim in said(runs[:3], runs[3:]))
    assert false <= 0.07 * REPETITIONS + 3


def test_alike_runs_are_not_called_different() -> None:
    random = np.random.default_rng(1)
    false = sum(
        any(claim.sure for claim in said([run(drawn(random))], [run(drawn(random))]))
        for _ in range(REPETITIONS)
    )
    assert false <= 0.07 * REPETITIONS + 3


def test_a_strongly_correlated_series_is_too_small_a_sample() -> None:
    """300 instances with a correlation time of 100 have an effective sample size of about 3."""
    random, false = np.random.default_rng(8), 0
    for _ in range(REPETITIONS):
        noise = random.normal(size=(2, 1, 1300))
        slow = [run(np.exp(0.01 * lfilter([1], [1, -0.98], part)[:, 1000:])) for part in noise]
        false += any(claim.sure for claim in said([slow[0]], [slow[1]]))
    assert false <= 0.07 * REPETITIONS


def test_methods_that_differ_by_more_than_their_runs_are_called_different() -> None:
    random, found = np.random.default_rng(2), 0
    for _ in range(20):
        first = [run(drawn(random, 0.01)) for _ in range(4)]
        second = [run(drawn(random, 0.01, 0.9)) for _ in range(4)]
        fast, everything = said(first, second)
        assert not fast.sure or "by 4 and 4 runs B is" in fast.text
        assert not everything.sure or everything.text.endswith("faster than A")
        found += fast.sure and everything.sure
    assert found >= 18


def test_one_run_per_method_is_no_statement_about_methods() -> None:
    random = np.random.default_rng(3)
    fast, _ = said([run(drawn(random))], [run(drawn(random, 0, 0.8))])
    assert fast.sure
    assert fast.text.startswith("in these two runs B was ")
    assert fast.text.endswith(" faster than A in the fast regime")


def test_disagreeing_checks_report_no_difference() -> None:
    """The shares, the test of all times and the fit can each prevent the sentence."""
    random = np.random.default_rng(4)
    base, other = drawn(random), drawn(random, 0, 0.8)
    share, _ = said([run(base, 0.2)], [run(other, 0.8)])
    assert "the fast regimes hold 80 % and 20 % of the instances" in share.text
    bad = "gaussian is a bad model of regime 1: 30 % of the times do not fit it"
    fit, _ = said([run(base)], [run(other, verdicts=(bad,))])
    assert fit.text.endswith(f"as B: {bad}")
    # The same times with another boundary: the fast regime is shorter, but the test finds no difference.
    test, _ = said([run(base, 0.3)], [run(base, 0.5)])
    assert "the KS test of all times has p 1" in test.text
    for claim in (share, fit, test):
        assert not claim.sure
        assert "not significantly faster or slower" in claim.text


@pytest.mark.parametrize(("slow", "is_doubt"), [(0.26, False), (0.25, True)])
def test_a_share_of_one_and_a_half_times_the_other_is_a_doubt(slow: float, is_doubt: bool) -> None:
    """One fast regime has 50 % of the times, the other 74 % or 75 %."""
    random = np.random.default_rng(9)
    fast, _ = said([run(drawn(random), 0.5)], [run(drawn(random, 0, 0.8), slow)])
    assert any("the fast regimes hold 50 % and 75 %" in doubt for doubt in fast.doubts) == is_doubt
    assert is_doubt or not any("fast regimes hold" in doubt for doubt in fast.doubts)


def test_runs_that_differ_as_much_as_methods_report_no_difference() -> None:
    random = np.random.default_rng(5)
    first = [run(drawn(random, 0, factor)) for factor in (0.5, 1.0, 1.5)]
    fast, _ = said(first, first)
    assert any("within a method" in doubt for doubt in fast.doubts)


def test_a_method_without_times_is_not_compared() -> None:
    random = np.random.default_rng(6)
    nobody = run(drawn(random))
    nobody.view.whole.sample.states[:] = 1
    both = [nobody, nobody]
    fast, _ = said(both, [run(drawn(random)), run(drawn(random))])
    assert "cannot be compared" in fast.text
    assert fast.faster == (None, None, None)
    assert not fast.sure


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random = np.random.default_rng(7)
    for name, factor in (("old", 1.0), ("new", 0.9)):
        for number in range(2):
            np.save(tmp_path / f"{name}-{number}.npy", drawn(random, 0.005, factor))
    monkeypatch.chdir(tmp_path)
    return tmp_path


OLD, NEW = ["old-0.npy", "old-1.npy"], ["new-0.npy", "new-1.npy"]
QUICK = ["--states", "1", "--format"]


def test_methods_are_separated_by_dashes(files: Path) -> None:
    printed = CliRunner().invoke(haloscope, ["regimes", *OLD, "--", *NEW, *QUICK, "table"])
    assert printed.exit_code == 0, printed.output
    assert (files / "regimes.html").is_file()
    assert "by 2 and 2 runs new is " in printed.output
    assert "these two runs" not in printed.output
    assert "KS test" not in printed.output
    rows = CliRunner().invoke(haloscope, ["regimes", *OLD, "--", *NEW, *QUICK, "csv"]).output.splitlines()
    assert rows[0].endswith("faster,faster_low,faster_high")
    assert all(row.endswith(",,,") for row in rows[1:])  # single runs are not compared


def test_single_runs_are_marked(files: Path) -> None:
    printed = CliRunner().invoke(haloscope, ["regimes", OLD[0], NEW[0], *QUICK, "table"])
    assert "in these two runs new-0 was" in printed.output
    assert "note: this is about these runs" in printed.output
    assert "KS test of all times" in printed.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*OLD, "--"], "one side"),
        ([*OLD, "--", NEW[0]], "methods of 2, 1 runs cannot be compared"),
        ([*OLD, "--", OLD[0], NEW[0]], "named twice"),
    ],
)
def test_invalid_methods_are_one_line(files: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(haloscope, ["regimes", *arguments])
    assert done.exit_code
    assert message in str(done.exception)
