"""`haloscope top`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.cli.console import say
from haloscope.cli.options import FILE, format_option, output_option

if TYPE_CHECKING:
    from haloscope.watch import Looking

_RATES = 1.0  # seconds for the rates of a table that is printed once
_EXAMPLES = """\b
Examples:
  haloscope top
  haloscope top lmp
  srun --jobid 4711 --overlap -N 4 -n 4 sh -c 'haloscope top --format json > $(hostname).json'
  haloscope top --from node0.json --from node1.json
  haloscope top --prometheus /var/lib/node_exporter/haloscope.prom --interval 15
"""

run_argument = click.argument("run", metavar="[RUN]", required=False)
from_option = click.option(
    "--from",
    "files",
    metavar="FILE",
    multiple=True,
    type=FILE,
    help="Read this file, printed on a node by top --format json, instead of live records. Can be repeated.",
)


@click.command(epilog=_EXAMPLES)
@run_argument
@click.option(
    "--interval",
    metavar="S",
    type=float,
    default=1.0,
    help="Seconds between two tables, and for rates. 0: print once, as where the output is no terminal.",
)
@from_option
@output_option(
    "FILE",
    "Write metrics for the textfile collector of Prometheus' node exporter to this file, each interval.",
    ("--prometheus",),
)
@format_option("Print for people, or for programs and --from.", ("table", "json"))
def top(run: str | None, interval: float, files: tuple[Path, ...], prometheus: Path | None, form: str) -> int:
    """Show what your running, profiled programs on this node do: calls, rates and time in MPI.

    RUN is a run's identity, a program's name, a process, or a directory of live records. Without RUN, list
    all programs, and the ranks if there is one program. For several nodes, print on each node and join the
    files with --from.
    """
    from haloscope.watch import Looking

    if interval and not 0.1 <= interval <= 3600:
        raise click.BadParameter(f"--interval {interval:g}: seconds from 0.1 to 3600, or 0")
    looking = Looking(run, files)
    if prometheus is not None:
        return _write_metrics(looking, prometheus, interval)
    looking.look()
    if not files:
        time.sleep(interval or _RATES)
        looking.look()
    if not interval or form == "json" or not sys.stdout.isatty():
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


def _write_metrics(looking: Looking, output: Path, interval: float) -> int:
    from haloscope.watch import write_exposition

    while True:
        looking.look()
        write_exposition(looking.programs(needed=False), output)
        if not interval:
            return 0
        time.sleep(interval)
