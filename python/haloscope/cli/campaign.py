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
from haloscope.cli.options import FILE, format_option, output_option

if TYPE_CHECKING:
    from haloscope.profile.shown import ShownTable
    from haloscope.reproduce.campaign import Campaign, CampaignEvent

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
    """Run a campaign of systems, programs and sizes from one file, and continue it after interruptions."""


_specification = click.argument("specification", type=FILE, metavar="SPEC.yaml")


@campaign.command()
@_specification
@format_option()
def plan(specification: Path, form: str) -> None:
    """List the runs of a campaign, their cost, and runs that are impossible. Nothing is started."""
    from haloscope.reproduce.campaign import PLAN_TABLE, list_experiments

    campaign = _open_campaign(specification)
    table = campaign.table()
    _print(table if form != "table" else list_experiments(table), form, PLAN_TABLE)
    if form == "table":
        _print_summary(campaign, table)
        for note in campaign.notes():
            click.echo(f"note: {printable(note)}")


@campaign.command()
@_specification
@click.option("--failed", is_flag=True, help="Run failed runs again.")
@format_option(choices=("table", "json"))
def run(specification: Path, failed: bool, form: str) -> int:
    """Start all runs that are not done. The exit status is 1 if a run failed.

    After an interruption, call it again to continue. Finished runs are not repeated.
    """
    from haloscope.reproduce.campaign import STANDING_TABLE, run_campaign

    campaign = _open_campaign(specification)
    for note in campaign.notes():
        say(f"note: {note}")
    with _show_progress(campaign) as report_event:
        run_campaign(campaign, again=failed, report=report_event)
    table = campaign.table()
    if form == "json":
        _print(table, form, STANDING_TABLE)
    else:
        _print_summary(campaign, table)
    return 1 if "failed" in set(table["state"]) else 0


@campaign.command()
@_specification
@format_option()
def status(specification: Path, form: str) -> None:
    """Show the progress of a campaign, also while it runs."""
    from haloscope.reproduce.campaign import STANDING_TABLE, list_states

    campaign = _open_campaign(specification)
    table = campaign.table()
    _print(table if form != "table" else list_states(table), form, STANDING_TABLE)
    if form == "table":
        _print_summary(campaign, table)


@campaign.command()
@_specification
@output_option("PAGE.html", "The page to write. [default: none]")
@click.option(
    "--against",
    default="run_ranks",
    metavar="COLUMN",
    help="Column for the x-axis of several runs, such as a metadata key of the program.",
)
@click.option(
    "--by",
    metavar="COLUMN",
    help="Group runs by this column. [default: experiment, system or variant; curve, if several]",
)
@format_option()
def report(specification: Path, output: Path | None, against: str, by: str | None, form: str) -> None:
    """Print the results of the runs, and write a page about their profiles."""
    from haloscope.reproduce.campaign import RESULTS_TABLE, list_results, write_report

    campaign = _open_campaign(specification)
    _print(list_results(campaign), form, RESULTS_TABLE)
    if output is not None:
        write_report(campaign, output, against=against, by=by)


@campaign.command()
@_specification
@output_option("F.zip", "The archive to write.", required=True)
def bundle(specification: Path, output: Path) -> None:
    """Write specification, environment, profiles and report of a campaign to one archive, an RO-Crate."""
    from haloscope.reproduce.campaign import bundle as write_bundle

    write_bundle(_open_campaign(specification), output)


def _open_campaign(specification: Path) -> Campaign:
    from haloscope.reproduce.campaign import Campaign

    return Campaign.opened(specification)


def _print(table: Any, form: str, declared: ShownTable) -> None:
    from haloscope import explain

    explain.render(table, form, declared, sys.stdout)


def _print_summary(campaign: Campaign, table: Any) -> None:
    from haloscope.reproduce.campaign import summarise

    click.echo(printable(summarise(table, campaign)))
    if campaign.directory.exists():
        click.echo(f"runs are in {printable(shlex.quote(str(campaign.directory)))}")


@contextmanager
def _show_progress(campaign: Campaign) -> Iterator[Callable[[CampaignEvent], None]]:
    """Yield what shows how a campaign goes: a bar on a terminal, and a line for each run that fails."""
    counts = Counter[str]()
    with progress(campaign.left()) as step:

        def report_event(happened: CampaignEvent) -> None:
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

        yield report_event
