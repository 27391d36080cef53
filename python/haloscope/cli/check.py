"""`haloscope check`."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import UsageError, printable
from haloscope.base.files import write_whole
from haloscope.base.units import noun_text
from haloscope.cli.console import print_lines
from haloscope.cli.options import FILE, format_option, output_option

if TYPE_CHECKING:
    from haloscope.explain.checking import Again, Checked, Detectable

_EXAMPLES = """\b
Examples:
  haloscope check --write-rules good-1.halo good-2.halo good-3.halo rules.toml
  haloscope check app.halo rules.toml
  haloscope check app.halo rules.toml --again "mpiexec -n 4 ./app"
  haloscope check app.halo rules.toml -o check.xml -o check.md
"""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="F.halo... RULES.toml")
@click.option(
    "--write-rules", is_flag=True, help="Learn the rules from these runs, and write them to RULES.toml."
)
@click.option(
    "--again",
    metavar="COMMAND",
    help="Launch command to run again if a time is slow. Without it, times never fail.",
)
@output_option(
    "F.xml|F.md",
    "Write JUnit XML for a CI server, or a comment for a merge request, to this file. Can be repeated.",
    multiple=True,
)
@format_option()
def check(
    files: tuple[Path, ...], write_rules: bool, again: str | None, output: tuple[Path, ...], form: str
) -> int:
    """Check a profile against rules; the exit status is 3 if one fails.

    Rules for counts are exact: messages, sizes, calls and collectives of each region. Rules for times fail
    only if the program is also slow when it is run again.
    """
    if len(files) < 2:
        raise UsageError("check takes a profile and rules: haloscope check F.halo RULES.toml")
    *profiles, rules = files
    for file in output:
        if file.suffix not in (".xml", ".md"):
            raise UsageError(f"{file}: its name must end with .xml (JUnit) or .md (comment)")
    if write_rules:
        _write(profiles, rules, (again, *output), form)
        return 0
    if len(profiles) > 1:
        raise UsageError(f"{profiles[1]}: one profile is checked at a time; several are for --write-rules")
    from haloscope import explain
    from haloscope.explain.checking import check as checked
    from haloscope.profile.shown import ShownTable

    found = checked(profiles[0], rules, again=None if again is None else _make_repeater(_words(again)))
    _notices(found, output)
    if form != "table":
        explain.render(found.frame, form, ShownTable("check"), sys.stdout)
    else:
        print_lines(found.describe())
    return found.exit_status


def _write(profiles: list[Path], rules: Path, others: tuple[object, ...], form: str) -> None:
    if any(other is not None for other in others):
        raise UsageError("--write-rules writes rules and nothing else; leave the other options out")
    from haloscope.explain.checking import find_detectable, learn_rules

    learned = learn_rules(profiles, rules)
    regions = learned.regions.values()
    times = sum((rule.time is not None) + (rule.own_time is not None) for rule in regions)
    varying = sum(len(rule.varies) for rule in regions)
    detectable = find_detectable(learned)
    if form == "json":
        counts = {"regions": len(regions), "times": times, "varying": varying}
        told = {"detectable": detectable.share, "runs_needed": detectable.runs}
        click.echo(json.dumps({"rules": str(rules), "ranks": learned.ranks, **counts, **told}))
        return
    print_lines(
        [
            f"{printable(shlex.quote(str(rules)))}: {noun_text(len(regions), 'region')} of "
            f"{printable(learned.program)} on "
            f"{noun_text(learned.ranks, 'rank')}, {noun_text(times, 'rule')} about time, "
            f"{noun_text(varying, 'count that varies', 'counts that vary')}",
            _describe_detectable(detectable),
        ]
    )


def _describe_detectable(detectable: Detectable) -> str:
    if detectable.share is not None:
        return (
            f"with --again, a program that is {100 * detectable.share:.0f} % slower fails in about nine"
            " checks of ten, on a machine as in these runs; rules from more runs detect smaller slowdowns"
        )
    if detectable.runs is None:
        return "can't detect a slowdown of time here: these times vary too much; counts are exact"
    return (
        f"can't detect a slowdown of time here: repeat at least {detectable.runs} runs, and write the rules"
        " from them; counts are exact"
    )


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--again {command}: {error}; quote it as for a shell") from None


def _make_repeater(words: list[str]) -> Again:
    """Return what runs a command once, with its output on our standard error: ours is the verdict's."""
    from haloscope.explain.checking import make_repeater

    once = make_repeater(words)

    def again(path: Path) -> None:
        with _output_on_error():
            once(path)

    return again


@contextmanager
def _output_on_error() -> Iterator[None]:
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _notices(found: Checked, output: Sequence[Path]) -> None:
    from haloscope.explain.checking import as_junit, as_markdown

    for file in output:
        if file.suffix == ".xml":
            write_whole(file, as_junit(found), "JUnit XML")
        else:
            write_whole(file, as_markdown(found), "comment")
