"""Specifications: their runs, and errors with file, line and remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haloscope import UsageError
from haloscope.reproduce.campaign import Campaign
from support.campaigns import BASE, Written

WEAK = BASE + "experiments:\n  weak: {program: told, grids: {from: 2x2x2, to: 4x4x4}}\n"


@pytest.mark.parametrize(
    ("first", "last", "between"),
    [("4x4x4", "8x8x8", ["8x4x4", "8x8x4"]), ("2x2x2", "4x4x4", ["4x2x2", "4x4x2"])],
    ids=["dane", "tioga"],
)
def test_grids_are_those_of_the_paper(written: Written, first: str, last: str, between: list[str]) -> None:
    text = BASE.replace("{ranks/8}", "{px}x{py}x{pz}")
    text += f"order: written\nexperiments:\n  all: {{program: told, grids: {{from: {first}, to: {last}}}}}\n"
    points = Campaign.opened(written(text)).points
    assert [point.words[-1] for point in points] == [first, *between, last]


def test_grids_that_do_not_lead_to_each_other(written: Written) -> None:
    text = BASE + "experiments:\n  all: {program: told, grids: {from: 2x2x2, to: 3x2x2}}\n"
    with pytest.raises(UsageError, match="doubling"):
        _ = Campaign.opened(written(text)).points


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


def test_variables_are_as_they_are_written(written: Written) -> None:
    values = "plain 16 1.10 3.0 010 0x1F 12:30 1_000 1e3 +7 on yes no true 2026-11-27".split()
    names = {f"V{number}": value for number, value in enumerate(values)}
    lines = "".join(f"\n      {name}: {value}" for name, value in names.items())
    text = BASE + f"experiments:\n  all:\n    program: told\n    ranks: 8\n    environment:{lines}\n"
    (point,) = Campaign.opened(written(text)).points
    assert {name: point.environment[name] for name in names} == names


def test_lists_are_zipped_and_vary_is_crossed(written: Written) -> None:
    text = BASE.replace("{ranks/8}", "{n}-{m}") + (
        "experiments:\n  all: {program: told, ranks: [2, 4], parameters: {n: [10, 20]}, vary: {m: [1, 2]}}\n"
    )
    found = {(point.ranks, point.words[-1]) for point in Campaign.opened(written(text)).points}
    assert found == {(2, "10-1"), (2, "10-2"), (4, "20-1"), (4, "20-2")}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("sytems: {}\n", ":11: sytems: not a key here; did you mean systems?"),
        ("name: x\n", ":11: name: not a key here; choose from campaign, "),
        (
            "experiments:\n  a: {program: told, rank: 2}\n",
            ":12: experiments.a.rank: not a key here; did you mean ranks?",
        ),
        ("experiments:\n  a: {program: tolt, ranks: 2}\n", "tolt does not exist; choose from told"),
        ("experiments:\n  a: {program: told}\n", "needs either ranks or grids"),
        ("experiments:\n  a: {program: told, ranks: []}\n", "is empty"),
        ("experiments:\n  a: {program: told, ranks: {from: 8, to: 2}}\n", "from must be at most to"),
        (
            "experiments:\n  a: {program: told, ranks: [2, 4], parameters: {n: [1]}}\n",
            "1 values for 2 numbers",
        ),
        (
            "experiments:\n  a: {program: told, ranks: 2, parameters: {n: '{m}', m: '{n}'}}\n",
            "m and n depend on each other",
        ),
        ("experiments:\n  a: {program: told, ranks: 2, parameters: {n: '{q}'}}\n", "q does not exist"),
        (
            "experiments:\n  a: {program: told, ranks: 2, systems: [dane]}\n",
            "dane does not exist; choose from here",
        ),
        ("experiments: [\n", "not YAML"),
        (
            "experiments:\n  a: {program: told, ranks: 2}\nretries: 1\n".replace("retries", "retris"),
            "not a key here; did you mean retries?",
        ),
        ("experiments: {}\n", "experiments"),
        ("campaign: again\nexperiments:\n  a: {program: told, ranks: 2}\n", "exists twice"),
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
        f"{file}:7: programs.solver.application: poison: not a bundled application; did you mean poisson? "
        "Choose from amg, amr, cg, hydro, poisson, sweep"
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
    assert reasons[16] == "16 ranks need 2 nodes of 8 cores; the system has 1"
    assert reasons[8] is not None
    assert "1.6 GB" in reasons[8]


def test_a_weak_campaign_that_is_none_is_told(written: Written) -> None:
    text = BASE.replace("    figures", "    problem: nx*ranks\n    figures")
    text += "experiments:\n  a: {program: told, scaling: weak, ranks: [8, 64], parameters: {nx: [32, 256]}}\n"
    assert Campaign.opened(written(text)).notes() == [
        "a: not weak scaling: the problem per rank grows from 32 on 8 ranks to 256 on 64, 8 times"
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


def words_of(file: Path, argument: str, parameters: dict[str, object]) -> tuple[str, ...]:
    """Return the words of a program that is called with one argument of these parameters."""
    specification = {
        "campaign": "words",
        "systems": {"here": {"cores": 64, "launch": ""}},
        "programs": {"told": {"command": f"/bin/echo {argument}"}},
        "variants": {"plain": {"watch": False}},
        "experiments": {"all": {"program": "told", "ranks": 2, "parameters": parameters}},
    }
    file.write_text(json.dumps(specification), "utf-8")
    (point,) = Campaign.opened(file).points
    return tuple(point.words[1:])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("__import__('os')", "__import__ does not exist"),
        ("ranks.real", "not arithmetic of names and numbers"),
        ("(1).__class__", "not arithmetic of names and numbers"),
        ("[1][0]", "not arithmetic of names and numbers"),
        ("9**9**9", "not arithmetic of names and numbers"),
        ("1e300 * 1e300", "too large"),
        ("x" * 600, "at most 500 characters"),
    ],
)
def test_expressions_are_arithmetic_alone(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        words_of(tmp_path / "campaign.yaml", "{n}", {"n": f"{{{text}}}"})


@settings(max_examples=30)
@given(a=st.integers(-1000, 1000), b=st.integers(-1000, 1000))
def test_expressions_count(tmp_path_factory: pytest.TempPathFactory, a: int, b: int) -> None:
    file = tmp_path_factory.getbasetemp() / "counting.yaml"
    (word,) = words_of(file, "{a*b+2*a-b},{a},{{{b}}},{a<b}", {"a": a, "b": b})
    assert word == f"{a * b + 2 * a - b},{a},{{{b}}},{a < b}"


def test_a_figure_takes_no_columns_name(written: Written) -> None:
    file = written(WEAK.replace("figures: {time:", "figures: {seconds:"))
    with pytest.raises(UsageError, match="seconds: is a column of every campaign's table"):
        Campaign.opened(file)
