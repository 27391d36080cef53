"""Help: one screen of commands, a page for each, and a suggestion for a mistyped name."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result

from haloscope.cli import haloscope as front
from reference import verbs

COMMANDS = [*dict(verbs()), "bench", "campaign"]
SCREEN = """
Profile      run  env  hang  top
Explain      findings  report  show
Compare      compare (diff)  check
Speed up     improve  tune
Set up       demo  doctor
More         recover  export  history  regimes (variability)
             bench  simulate  inject  place  shm
             campaign  study      (haloscope help --all)
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(front, words, prog_name="haloscope")


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("help",)])
def test_the_first_help_fits_one_screen(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.exit_code == 0
    assert SCREEN in done.output
    assert len(done.output.splitlines()) <= 24
    assert max(map(len, done.output.splitlines())) <= 80


def test_help_all_lists_every_command_with_a_sentence() -> None:
    done = run("help", "--all")
    listed = re.findall(r"^([a-z][a-z0-9 ]*?)(?:  +\S|$)", done.output, re.MULTILINE)
    assert listed == list(dict(verbs()))
    assert "..." not in done.output


@pytest.mark.parametrize("words", COMMANDS)
def test_each_command_has_a_page_of_help(words: str) -> None:
    asked = words.split()
    page = run(*asked, "--help")
    assert page.exit_code == 0
    assert page.output.startswith(f"Usage: haloscope {words} ")
    if asked[0] != "campaign" or asked[1:] == []:
        assert f"haloscope {words}" in page.output.partition("Example")[2]
    assert run(*asked, "-h").output == page.output
    assert run("help", *asked).output == page.output


@pytest.mark.parametrize(("alias", "verb"), [("diff", "compare"), ("variability", "regimes")])
def test_an_alias_is_its_command(alias: str, verb: str) -> None:
    assert run(alias, "-h").output == run(verb, "-h").output


def test_subcommands_are_listed_in_the_order_of_their_use() -> None:
    page = run("campaign", "-h").output
    listed = re.findall(r"^  (\w+)  +[A-Z]", page, re.MULTILINE)
    assert listed == ["plan", "run", "status", "report", "bundle"]
    assert "..." not in run("bench", "-h").output.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("words", "close"),
    [
        (("shwo", "x.halo"), "show"),
        (("hagn",), "hang"),
        (("campain", "run"), "campaign"),
        (("hlep",), "help"),
        (("bench", "ptp"), "p2p"),
        (("campaign", "staus", "x.yaml"), "status"),
        (("help", "raport"), "report"),
        (("help", "bench", "colective"), "collective"),
    ],
)
def test_a_mistyped_command_gets_a_suggestion(words: tuple[str, ...], close: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert f"Did you mean '{close}'?" in done.stderr


@pytest.mark.parametrize("words", [("frobnicate",), ("bench", "frobnicate"), ("help", "show", "more")])
def test_what_is_like_nothing_gets_none(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert words[-1] in done.stderr
    assert "Did you mean" not in done.stderr


@pytest.mark.parametrize("words", [(), ("bench",), ("campaign",)])
def test_a_missing_command_is_one_line(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert "name a command: " in done.stderr
