"""`haloscope top`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import printable
from haloscope.cli.console import say
from haloscope.cli.options import format_option

if TYPE_CHECKING:
    from haloscope.watch import Looking, StackFrame

__all__ = ["top"]

_HANG_INTERVAL = 0.3  # seconds between two looks that tell who makes no progress
_EXAMPLES = """\b
Examples:
  haloscope top
  haloscope top --hang lmp
  srun --jobid 4711 --overlap -N 4 -n 4 sh -c 'haloscope top --once --format json > $(hostname).json'
  haloscope top --from node0.json --from node1.json --hang
  haloscope top --prometheus /var/lib/node_exporter/haloscope.prom --interval 15
"""


@click.command(epilog=_EXAMPLES)
@click.argument("run", metavar="[RUN]", required=False)
@click.option(
    "--hang", is_flag=True, help="Print which ranks are in what, and what keeps them there; and end."
)
@click.option("--once", is_flag=True, help="Print one table and end, as it does where output is no terminal.")
@click.option(
    "--interval",
    metavar="S",
    type=float,
    default=1.0,
    show_default=True,
    help="Seconds over which rates are taken, and between two tables.",
)
@click.option(
    "--from",
    "files",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Show what this file says, which --once --format json has printed on a node. Can be repeated.",
)
@click.option(
    "--prometheus",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write metrics for the node exporter's textfile collector to this file instead, each interval.",
)
@format_option("Print for people, or for programs and --from.", ("table", "json"))
def top(
    run: str | None,
    hang: bool,
    once: bool,
    interval: float,
    files: tuple[Path, ...],
    prometheus: Path | None,
    form: str,
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
    looking.look(partners=hang)
    if not files:
        time.sleep(min(interval, _HANG_INTERVAL) if hang else interval)
        looking.look(partners=hang)
    if hang:
        return _print_hangs(looking, form)
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
    _say_unread(looking)


def _say_unread(looking: Looking) -> None:
    from haloscope.watch import unread_text

    if looking.unread:
        say(unread_text(looking.unread))


def _print_hangs(looking: Looking, form: str) -> int:
    """Print the roll-call of each program; the exit status is 0 whatever it says."""
    from haloscope.watch import roll_calls, stack_lines

    told = roll_calls(looking)
    if form == "json":
        click.echo(json.dumps([each.as_json(each.stacks(), _named) for each in told]))
    else:
        for each in told:
            _print_lines(each.text.splitlines())
            _print_lines(stack_lines(each.stacks(), _named))
    _say_unread(looking)
    return 0


def _named(frames: Sequence[StackFrame]) -> list[str]:
    """Return the lines of a stack: functions, files and lines, as far as they can be found."""
    from haloscope.profile.sites import name_places

    return [line for lines in name_places([(each.module, each.offset) for each in frames]) for line in lines]


def _print_lines(lines: Sequence[str]) -> None:
    """Print at once: what follows may take a while."""
    for line in lines:
        click.echo(printable(line))
    sys.stdout.flush()


def _write_metrics(looking: Looking, output: Path, interval: float, once: bool) -> int:
    from haloscope.watch import write_exposition

    while True:
        looking.look()
        write_exposition(looking.programs(needed=False), output)
        if once:
            return 0
        time.sleep(interval)
