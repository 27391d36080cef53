"""`haloscope campaign`."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from haloscope.base.errors import printable
from haloscope.cli.console import progress, say
from haloscope.cli.groups import CommandGroup
from haloscope.cli.options import format_option

if TYPE_CHECKING:
    from haloscope.profile.shown import ShownTable
    from haloscope.reproduce.campaign import Campaign, Happened

__all__ = ["campaign"]

_EXAMPLES = """\b
Examples:
  haloscope campaign plan scaling.yaml
  haloscope campaign run scaling.yaml
  haloscope campaign status scaling.yaml
  haloscope campaign report scaling.yaml -o scaling.html
  haloscope campaign bundle scaling.yaml -o scaling.zip
"""


@click.group(cls=CommandGroup, epilog=_EXAMPLES)
def campaign() -> None:
    """Run a campaign: systems, programs and sizes from one file, to the end whatever happens on the way."""


_specification = click.argument("specification", type=click.Path(path_type=Path), metavar="SPEC.yaml")


@campaign.command()
@_specification
@format_option("Print for people, or for programs.")
def plan(specification: Path, form: str) -> None:
    """Say what would run, what that costs, and what can't run and why; nothing is started."""
    from haloscope.reproduce.campaign import PLAN_TABLE, list_experiments

    campaign = _opened(specification)
    table = campaign.table()
    _print(table if form != "table" else list_experiments(table), form, PLAN_TABLE)
    if form == "table":
        _print_summary(campaign, table)
        for note in campaign.notes():
            click.echo(f"note: {printable(note)}")


@campaign.command()
@_specification
@click.option("--failed", is_flag=True, help="Try once more what has failed.")
def run(specification: Path, failed: bool) -> int:
    """Run all that is not done yet; the exit status is 1 if a run failed.

    Killed or interrupted, it goes on where it was when it is called again: what is done never runs twice.
    """
    from haloscope.reproduce.campaign import run_campaign

    campaign = _opened(specification)
    for note in campaign.notes():
        say(f"note: {note}")
    with _shown(campaign) as told:
        run_campaign(campaign, again=failed, told=told)
    table = campaign.table()
    _print_summary(campaign, table)
    return 1 if "failed" in set(table["state"]) else 0


@campaign.command()
@_specification
@format_option("Print for people, or for programs.")
def status(specification: Path, form: str) -> None:
    """Say how far a campaign is, while it runs or after."""
    from haloscope.reproduce.campaign import STANDING_TABLE, standing

    campaign = _opened(specification)
    table = campaign.table()
    _print(table if form != "table" else standing(table), form, STANDING_TABLE)
    if form == "table":
        _print_summary(campaign, table)


@campaign.command()
@_specification
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PAGE.html",
    help="The page to write. [default: none]",
)
@click.option(
    "--against", default="run_ranks", show_default=True, metavar="COLUMN", help="What runs are drawn against."
)
@click.option(
    "--by",
    metavar="COLUMN",
    help="What is drawn side by side. [default: experiment, system or variant; curve, if several]",
)
@format_option("Print for people, or for programs.")
def report(specification: Path, output: Path | None, against: str, by: str | None, form: str) -> None:
    """Print what the runs gave, and write the page about their profiles."""
    from haloscope.reproduce.campaign import RESULTS_TABLE, results, write_report

    campaign = _opened(specification)
    _print(results(campaign), form, RESULTS_TABLE)
    if output is not None:
        write_report(campaign, output, against=against, by=by)


@campaign.command()
@_specification
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="F.zip",
    required=True,
    help="The file to write.",
)
def bundle(specification: Path, output: Path) -> None:
    """Write the campaign to one file: specification, environment, profiles and report, as an RO-Crate."""
    from haloscope.reproduce.campaign import bundle as write_bundle

    write_bundle(_opened(specification), output)


def _opened(specification: Path) -> Campaign:
    from haloscope.reproduce.campaign import Campaign

    return Campaign.opened(specification)


def _print(table: Any, form: str, declared: ShownTable) -> None:
    from haloscope import explain

    explain.render(table, form, declared, sys.stdout)


def _print_summary(campaign: Campaign, table: Any) -> None:
    from haloscope.reproduce.campaign import summary

    click.echo(printable(summary(table, campaign)))
    if campaign.directory.exists():
        click.echo(f"runs are in {printable(shlex.quote(str(campaign.directory)))}")


@contextmanager
def _shown(campaign: Campaign) -> Iterator[Callable[[Happened], None]]:
    """Yield what shows how a campaign goes: a bar on a terminal, and a line for each run that fails."""
    counts = Counter[str]()
    with progress(campaign.left()) as step:

        def told(happened: Happened) -> None:
            if happened.what == "started":
                counts["started"] += 1
                ended = counts["done"] + counts["other"]
                step(f"{counts['done']} done, {counts['started'] - ended} running, last {happened.run}")
            elif happened.what == "waiting":
                say(f"{happened.run}: waits: {happened.reason}")
            else:
                counts["done" if happened.outcome == "done" else "other"] += 1
                if happened.outcome != "done":
                    say(f"{happened.run}: {happened.outcome}: {happened.reason}")

        yield told
