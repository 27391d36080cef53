"""The reference has every verb, option, table and column, and a name of an option means one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import click
import pytest

from haloscope.base import schema
from haloscope.explain import TABLES
from haloscope.profile.shown import SHOWN, declare_stored_table
from manual import commands
from reference import options_of, verbs
from support.generated import write_headers
from support.mpi import CHECKOUT

PAGES = CHECKOUT / "docs" / "reference"
COMMANDS = dict(verbs())
MOST_NAMES = 75  # of options, over all commands
# The names that mean several things, each with the reason.
SEVERAL = {
    "-o": "the result: of another kind for each verb",
    "--output": "as -o",
    "--by": "history: what costs are summed by; report: any column of the runs",
    "--format": "the forms of a result: of another kind for each verb",
    "-n": "how many processes: bench collective and model take several numbers",
    "-m": "sizes of messages, or one size, as OSU",
    "--message-size": "as -m",
}


def test_every_verb_has_a_page_and_a_how_to() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES.glob("*.md"))
    assert len(COMMANDS) > 20
    assert [verb for verb in COMMANDS if f"<!-- options: {verb} -->" not in text] == []
    how_to = (CHECKOUT / "docs/how-to/README.md").read_text("utf-8").partition("| verb | how to |")[2]
    first = re.findall(r"^\|(.*?)\|", how_to.partition("\n\n")[0], re.MULTILINE)
    assert sorted(re.findall(r"`([a-z0-9 ]+)`", "".join(first))) == sorted(COMMANDS)


def test_every_table_that_is_declared_is_there_and_described() -> None:
    assert set(SHOWN) == set(TABLES)
    tables, file_format = (CHECKOUT / "docs" / page for page in ("reference/tables.md", "format.md"))
    assert [n for n in TABLES if f"<!-- shown: {n} -->" not in tables.read_text("utf-8")] == ["info"]
    described = file_format.read_text("utf-8")
    stored = set(schema.STORED) - {"neighbors", "main_thread"}  # with the columns of `partners` and `ranks`
    assert stored
    assert [name for name in stored if f"<!-- stored: {name} -->" not in described] == []


def test_a_column_of_messages_is_declared_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    *others, time = schema.STORED["partners"]
    column = schema.Column("empty_sends", "integer", "sum", "messages without data", since=99)
    for name in ("partners", "neighbors"):
        monkeypatch.setitem(schema.STORED, name, (*others, column, time))
    headers = write_headers(tmp_path) / "watch"
    assert re.search(r"struct Traffic {[^}]*\bempty_sends\b", (headers / "records/schema.hpp").read_text())
    assert ".empty_sends = from.empty_sends" in (headers / "collecting/rows.hpp").read_text()
    shown = declare_stored_table("partners", *SHOWN["partners"].groups)
    assert shown.columns == [*SHOWN["partners"].columns, "empty_sends"]
    assert shown.views(shown.columns)[-1].name == "empty_sends"


def kind_of(option: click.Option) -> str:
    """Return the kind of an option's value, as help prints it."""
    context = click.Context(click.Command("any"))
    return "flag" if option.is_flag else option.make_metavar(context).strip("[]")


def test_a_name_of_an_option_means_one_thing() -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for command in COMMANDS.values():
        for option in options_of(command):
            for name in option.opts:
                kinds[name].add(kind_of(option))
    names = {max(option.opts, key=len) for _, command in commands() for option in options_of(command)}
    assert 50 < len(names) <= MOST_NAMES
    assert {name: found for name, found in kinds.items() if len(found) > 1 and name not in SEVERAL} == {}


def test_every_decision_is_listed() -> None:
    folder = CHECKOUT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8"))
    assert listed
    assert listed == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_terms_of_the_glossary_are_unique_and_in_order() -> None:
    rows = re.findall(r"^\| ([^-|][^|]*) \|", (PAGES / "glossary.md").read_text("utf-8"), re.MULTILINE)
    terms = [term.casefold() for term in rows[1:]]
    assert len(terms) > 40
    assert terms == sorted(set(terms))


def test_help_is_sentences() -> None:
    unlike = [
        f"{words} {option.opts[0]}: {option.help}"
        for words, command in COMMANDS.items()
        for option in options_of(command)
        if not option.help
        or not option.help[0].isupper()
        or not option.help.split(" [default")[0].endswith(".")
    ]
    assert unlike == []
