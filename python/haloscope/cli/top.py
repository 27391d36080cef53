"""`haloscope top`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.cli.console import say
from haloscope.cli.options import format_option

if TYPE_CHECKING:
    from haloscope.watch import Looking

__all__ = ["from_option", "run_argument", "say_unread", "top"]

_EXAMPLES = """\b
Examples:
  haloscope top
  haloscope top lmp
  srun --jobid 4711 --overlap -N 4 -n 4 sh -c 'haloscope top --once --format json > $(hostname).json'
  haloscope top --from node0.json --from node1.json
  haloscope top --prometheus /var/lib/node_exporter/haloscope.prom --interval 15
"""

run_argument = click.argument("run", metavar="[RUN]", required=False)
from_option = click.option(
    "--from",
    "files",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Read this file instead, which top --once --format json has printed on a node. Can be repeated.",
)


@click.command(epilog=_EXAMPLES)
@run_argument
@click.option("--once", is_flag=True, help="Print one table and end, as it does where output is no terminal.")
@click.option(
    "--interval",
    metavar="S",
    type=float,
    default=1.0,
    show_default=True,
    help="Seconds over which rates are taken, and between two tables.",
)
@from_option
@click.option(
    "--prometheus",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write metrics for the node exporter's textfile collector to this file instead, each interval.",
)
@format_option("Print for people, or for programs and --from.", ("table", "json"))
def top(
    run: str | None, once: bool, interval: float, files: tuple[Path, ...], prometheus: Path | None, form: str
) -> int:
    """Show what running programs are doing: those of yours that run under the recorder on this node.

    RUN is a run's identity, a program's name, a process, or a directory of live records. Without it all
    programs are listed, and if there is one, its ranks. Over nodes, print on each and join with --from.
    """
    from haloscope.watch import Looking

    if not 0.1 <= interval <= 3600:
        raise click.BadParameter(f"--interval {interval:g}: seconds from 0.1 to 3600")
    looking = Looking(run, files)
    if prometheus is not None:
        return _write_metrics(looking, prometheus, interval, once)
    looking.look()
    if not files:
        time.sleep(interval)
        looking.look()
    if once or form == "json" or not sys.stdout.isatty():
        _print_once(looking, form)
        return 0
    from haloscope.cli.top_screen import refresh

    refresh(looking, interval)
    return 0


def _print_once(looking: Looking, form: str) -> None:
    from haloscope.cli.top_screen import print_tables
    from haloscope.watch import dump

    programs = looking.programs()
    if form == "json":
        click.echo(json.dumps(dump(programs, time.time())))
    else:
        print_tables(programs)
    say_unread(looking)


def say_unread(looking: Looking) -> None:
    """Report live records that could not be read."""
    from haloscope.watch import unread_text

    if looking.unread:
        say(unread_text(looking.unread))


def _write_metrics(looking: Looking, output: Path, interval: float, once: bool) -> int:
    from haloscope.watch import write_exposition

    while True:
        looking.look()
        write_exposition(looking.programs(needed=False), output)
        if once:
            return 0
        time.sleep(interval)
