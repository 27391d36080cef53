"""`haloscope improve`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Literal

import click

from haloscope.base.errors import printable
from haloscope.cli.console import progress
from haloscope.cli.measuring import Launching, check_place, interruptible
from haloscope.cli.options import format_option

__all__ = ["improve"]

_EXAMPLES = """\b
Examples:
  haloscope improve -- mpiexec -n 8 ./app
  haloscope improve --runs 14 -o evidence.html -- mpiexec -n 64 ./app input.txt
"""


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.option(
    "--runs",
    type=click.IntRange(8),
    metavar="N",
    default=20,
    show_default=True,
    help="Runs of the program, at most.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PAGE.html",
    help="The page to write, with every run and every proof. [default: none]",
)
@format_option("Print for people, or for programs.", ("table", "json"))
def improve(
    runs: int, output: Path | None, form: Literal["table", "json"], launcher: tuple[str, ...]
) -> None:
    """Try what may make a program faster without changing it, and say what does for certain.

    LAUNCHER is a whole launch command, of a run that is short and does as a long one does. It is run some
    times with the settings that it was given left out, idle ranks that yield, other limits for messages, the
    shm library, and another placement, as its profile suggests; all of them leave its results as they are.
    """
    from haloscope.hide.improve import TrialPlan, write_improve_page
    from haloscope.hide.improve import improve as improved

    if not launcher:
        raise click.UsageError("the command to run is missing: -- mpiexec -n 8 ./app")
    check_place(output)
    with interruptible(), progress(runs) as step:
        found = improved(launcher, plan=TrialPlan(runs), progress=step)
    if output is not None:
        write_improve_page(found, output)
    if form == "json":
        click.echo(json.dumps(found.figures()))
        return
    click.echo("\n".join(found.describe()))
    for line in found.script():
        click.echo(f"  {line}")
    if output is not None:
        click.echo(f"page: {printable(shlex.quote(str(output)))}")
