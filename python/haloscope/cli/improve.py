"""`haloscope improve`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from haloscope.base.errors import printable
from haloscope.cli.console import print_lines, progress
from haloscope.cli.measuring import Launching, check_place, interruptible
from haloscope.cli.options import format_option, output_option

if TYPE_CHECKING:
    from haloscope.hide.improve import Improvement

_EXAMPLES = """\b
Examples:
  haloscope improve -- mpiexec -n 8 ./app
  haloscope improve --runs 50 -o evidence.html -- mpiexec -n 64 ./app input.txt
  haloscope improve --metric 'Loop time of ([0-9.]+)' -- mpiexec -n 8 lmp -in in.melt
"""


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.option(
    "--runs", type=click.IntRange(14), metavar="N", default=25, help="Largest number of runs of the program."
)
@click.option(
    "--metric",
    metavar="REGEX",
    help="Compare the last number that the program prints so, in parentheses, instead of the time. "
    "Less is better; with (?P<rate>...) more is better.",
)
@output_option("PAGE.html", "The page to write, with all runs and their statistics. [default: none]")
@format_option(choices=("table", "json"))
def improve(
    runs: int,
    metric: str | None,
    output: Path | None,
    form: Literal["table", "json"],
    launcher: tuple[str, ...],
) -> None:
    """Try settings that may make a program faster in real runs, and print those that do.

    LAUNCHER is a complete launch command. Use a short run that behaves like your production run. The trials,
    chosen by the profile, are: without the given MPI settings, idle ranks that yield, binding, message
    limits, progress, the shm library, placement, rules of tune for collectives, large pages.
    """
    from haloscope.hide.improve import TrialPlan, write_improve_page
    from haloscope.hide.improve import improve as improved

    if not launcher:
        raise click.UsageError("the command to run is missing: -- mpiexec -n 8 ./app")
    check_place(output, b"<!DOCTYPE", "page")
    with interruptible(), progress(runs + 1) as step:
        found = improved(launcher, plan=TrialPlan(runs, metric=metric), progress=step)
    if output is not None:
        write_improve_page(found, output)
    if form == "json":
        click.echo(json.dumps(found.figures()))
    else:
        _print(found, output)
    if found.is_interrupted:
        raise KeyboardInterrupt


def _print(found: Improvement, output: Path | None) -> None:
    print_lines(found.describe())
    for line in found.script():
        click.echo(f"  {line}")
    if output is not None:
        click.echo(f"page: {printable(shlex.quote(str(output)))}")
