"""Specifications: what they mean, and mistakes that are told with file, line and remedy."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haloscope.base.errors import UsageError
from haloscope.reproduce.lab import Campaign
from haloscope.reproduce.lab._expressions import evaluated, substituted
from haloscope.reproduce.lab._grids import grids_between
from support.campaigns import BASE, Written

WEAK = BASE + "experiments:\n  weak: {program: told, grids: {from: 2x2x2, to: 4x4x4}}\n"


def test_grids_are_those_of_the_paper() -> None:
    dane = grids_between((4, 4, 4), (8, 8, 8))
    assert dane == [(4, 4, 4), (8, 4, 4), (8, 8, 4), (8, 8, 8)]
    tioga = grids_between((2, 2, 2), (4, 4, 4))
    assert tioga == [(2, 2, 2), (4, 2, 2), (4, 4, 2), (4, 4, 4)]
    with pytest.raises(ValueError, match="doubling"):
        grids_between((2, 2, 2), (3, 2, 2))


def test_points_have_their_words(written: Written) -> None:
    campaign = Campaign.opened(written(WEAK + "order: written\n"))
    assert [point.ranks for point in campaign.points] == [8, 16, 32, 64]
    assert [point.words[-2:] for point in campaign.points] == [
        ("8", "1"),
        ("16", "2"),
        ("32", "4"),
        ("64", "8"),
    ]


def test_a_value_is_one_word_and_never_a_shells(written: Written) -> None:
    text = BASE.replace("{ranks/8}", "{file}") + (
        "experiments:\n  all: {program: told, ranks: 1, vary: {file: ['a b; touch made', '$(id)']}}\n"
    )
    points = Campaign.opened(written(text)).points
    assert {point.words[-1] for point in points} == {"a b; touch made", "$(id)"}


def test_lists_are_zipped_and_vary_is_crossed(written: Written) -> None:
    text = BASE.replace("{ranks/8}", "{n}-{m}") + (
        "experiments:\n  all: {program: told, ranks: [2, 4], parameters: {n: [10, 20]}, vary: {m: [1, 2]}}\n"
    )
    found = {(point.ranks, point.words[-1]) for point in Campaign.opened(written(text)).points}
    assert found == {(2, "10-1"), (2, "10-2"), (4, "20-1"), (4, "20-2")}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("sytems: {}\n", ":11: sytems: is no key here; systems is"),
        (
            "experiments:\n  a: {program: told, rank: 2}\n",
            ":12: experiments.a.rank: is no key here; ranks is",
        ),
        ("experiments:\n  a: {program: tolt, ranks: 2}\n", "there is no tolt; there are told"),
        ("experiments:\n  a: {program: told}\n", "needs either ranks or grids"),
        ("experiments:\n  a: {program: told, ranks: []}\n", "is empty"),
        ("experiments:\n  a: {program: told, ranks: {from: 8, to: 2}}\n", "leads nowhere"),
        (
            "experiments:\n  a: {program: told, ranks: [2, 4], parameters: {n: [1]}}\n",
            "1 values for 2 numbers",
        ),
        (
            "experiments:\n  a: {program: told, ranks: 2, parameters: {n: '{m}', m: '{n}'}}\n",
            "m and n need each other",
        ),
        ("experiments:\n  a: {program: told, ranks: 2, parameters: {n: '{q}'}}\n", "there is no q"),
        (
            "experiments:\n  a: {program: told, ranks: 2, systems: [dane]}\n",
            "there is no dane; there are here",
        ),
        ("experiments: [\n", "is not YAML"),
        (
            "experiments:\n  a: {program: told, ranks: 2}\nretries: 1\n".replace("retries", "retris"),
            "is no key here; retries is",
        ),
        ("experiments: {}\n", "experiments"),
        ("campaign: again\nexperiments:\n  a: {program: told, ranks: 2}\n", "is there twice"),
        ("experiments: &a\n  a: {program: told, ranks: 2}\nx: *a\n", "alias"),
        ("retries: -1\nexperiments:\n  a: {program: told, ranks: 2}\n", ":11: retries"),
    ],
)
def test_mistakes_are_told_in_one_line(written: Written, wrong: str, said: str) -> None:
    file = written(BASE + wrong)
    with pytest.raises(UsageError) as caught:
        _ = Campaign.opened(file).points
    assert said in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_application_that_is_not_bundled_is_told_before_anything_runs(written: Written) -> None:
    head, _, _ = BASE.partition("programs:")
    file = written(
        head
        + "programs:\n  solver:\n    application: poison\nexperiments:\n  a: {program: solver, ranks: 2}\n"
    )
    with pytest.raises(UsageError) as caught:
        _ = Campaign.opened(file).points
    assert str(caught.value) == (
        f"{file}:7: programs.solver.application: poison: is none of the bundled applications; poisson is, "
        "there are amg, amr, cg, hydro, poisson, sweep"
    )


def test_what_cannot_run_says_why(written: Written) -> None:
    text = (
        BASE.replace("cores: 64", "cores: 8, memory: 1 GiB")
        + "experiments:\n  a: {program: told, ranks: [8, 16]}\n"
    )
    text = text.replace("    figures", "    memory: 2**30 if 0 else 100\n    figures").replace(
        "2**30 if 0 else 100", "'200000000'"
    )
    reasons = {point.ranks: point.impossible for point in Campaign.opened(written(text)).points}
    assert reasons[16] == "16 ranks need 2 nodes of 8 cores; there are 1"
    assert reasons[8] is not None
    assert "1.6 GB" in reasons[8]


def test_a_weak_campaign_that_is_none_is_told(written: Written) -> None:
    text = BASE.replace("    figures", "    problem: nx*ranks\n    figures")
    text += "experiments:\n  a: {program: told, scaling: weak, ranks: [8, 64], parameters: {nx: [32, 256]}}\n"
    assert Campaign.opened(written(text)).notes() == [
        "a: is no weak scaling: the problem a rank grows from 32 on 8 ranks to 256 on 64, 8 times"
    ]
    assert Campaign.opened(written(text.replace("[32, 256]", "32"))).notes() == []


def test_changing_one_line_changes_what_runs(written: Written) -> None:
    before = {point.identity for point in Campaign.opened(written(WEAK)).points}
    again = {point.identity for point in Campaign.opened(written(WEAK + "description: the same\n")).points}
    other = {
        point.identity
        for point in Campaign.opened(written(WEAK.replace('launch: ""', "launch: time"))).points
    }
    assert before == again
    assert not before & other


def test_repetitions_take_turns(written: Written) -> None:
    points = Campaign.opened(written(WEAK + "repetitions: 3\n")).points
    assert [point.repetition for point in points] == [0] * 4 + [1] * 4 + [2] * 4
    rounds = [tuple(point.ranks for point in points[first : first + 4]) for first in (0, 4, 8)]
    assert len(set(rounds)) > 1


@pytest.mark.parametrize(
    "text", ["__import__('os')", "ranks.real", "(1).__class__", "[1][0]", "9**9**9", "x" * 600]
)
def test_expressions_are_arithmetic_alone(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        evaluated(text, {"ranks": 2})


@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_expressions_count(a: int, b: int) -> None:
    assert evaluated("a*b + 2*a - b", {"a": a, "b": b}) == a * b + 2 * a - b
    assert substituted("{a},{b}", {"a": a, "b": b}) == f"{a},{b}"
    assert substituted("{{{a}}}", {"a": a}) == f"{{{a}}}"


def test_ten_thousand_points_are_planned_at_once(written: Written, tmp_path: Path) -> None:
    text = WEAK + "repetitions: 2500\n"
    begun = time.process_time()
    campaign = Campaign.opened(written(text), tmp_path / "kept")
    table = campaign.table()
    taken = time.process_time() - begun
    assert len(table) == 10_000
    # The aim is 2 s; what is asserted is that nothing grows with the square.
    begun = time.process_time()
    small = Campaign.opened(written(WEAK + "repetitions: 250\n"), tmp_path / "kept").table()
    assert len(small) == 1_000
    assert taken < 30 * (time.process_time() - begun) + 0.1


def test_a_figure_takes_no_columns_name(written: Written) -> None:
    file = written(WEAK.replace("figures: {time:", "figures: {seconds:"))
    with pytest.raises(UsageError, match="seconds: is a column of every campaign's table"):
        Campaign.opened(file)
