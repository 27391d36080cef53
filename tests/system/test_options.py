"""Options of all verbs: few, and a name means one thing."""

from __future__ import annotations

from collections import defaultdict

import click

from reference import options_of, verbs

MOST = 178
# The names that stand for several things, each with the reason.
SEVERAL = {
    "-o": "the result: of another kind for each verb",
    "--output": "as -o",
    "--once": "inject: a message that is late once; top: one table",
    "--by": "history: what costs are summed by; report: any column of the runs",
    "--from": "top: tables of other nodes; bench collective: the profile of a program",
    "--format": "the forms of a result: of another kind for each verb",
    "-n": "how many processes: bench collective and model take several numbers",
    "--algorithm": "names of algorithms; bench collective knows all, too",
    "--map-by": "mappings in the launcher's words; bench collective takes several",
    "-m": "sizes of messages, or one size, as OSU",
    "--message-size": "as -m",
}


def kind_of(option: click.Option) -> str:
    """What a value of an option is, as help says it."""
    context = click.Context(click.Command("any"))
    return "flag" if option.is_flag else option.make_metavar(context).strip("[]")


def test_options_are_few() -> None:
    counts = {words: len(options_of(command)) for words, command in verbs()}
    assert sum(counts.values()) <= MOST, counts


def test_a_name_means_one_thing() -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for _, command in verbs():
        for option in options_of(command):
            for name in option.opts:
                kinds[name].add(kind_of(option))
    several = {name: found for name, found in kinds.items() if len(found) > 1 and name not in SEVERAL}
    assert several == {}
    assert {name for name in SEVERAL if len(kinds[name]) < 2} == set(), "the reason is not needed any more"


def test_help_is_sentences() -> None:
    unlike = [
        f"{words} {option.opts[0]}: {option.help}"
        for words, command in verbs()
        for option in options_of(command)
        if not option.help
        or not option.help[0].isupper()
        or not option.help.split(" [default")[0].endswith(".")
    ]
    assert unlike == []
