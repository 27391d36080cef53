"""`haloscope hang`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import printable
from haloscope.cli.options import format_option
from haloscope.cli.top import from_option, run_argument, say_unread

if TYPE_CHECKING:
    from haloscope.watch import StackFrame

_INTERVAL = 0.3  # seconds between two samples: a rank in the same call in both makes no progress
_EXAMPLES = """\b
Examples:
  haloscope hang
  haloscope hang lmp
  haloscope hang --from node0.json --from node1.json
"""


@click.command(epilog=_EXAMPLES)
@run_argument
@from_option
@format_option(choices=("table", "json"))
def hang(run: str | None, files: tuple[Path, ...], form: str) -> None:
    """Show why a running program hangs: the call of each rank, and which rank it waits for.

    RUN is a run's identity, a program's name, a process, or a directory of live records. Without RUN, report
    all your profiled programs on this node. For several nodes, print haloscope top --format json on each node
    and join the files with --from.
    """
    from haloscope.watch import Looking, roll_calls, stack_lines

    looking = Looking(run, files)
    looking.look(partners=True)
    if not files:
        time.sleep(_INTERVAL)
        looking.look(partners=True)
    reports = roll_calls(looking)
    if form == "json":
        click.echo(json.dumps([each.as_json(each.stacks(), _name_frames) for each in reports]))
    else:
        for each in reports:
            _print_lines(each.text.splitlines())
            _print_lines(stack_lines(each.stacks(), _name_frames))
    say_unread(looking)


def _name_frames(frames: Sequence[StackFrame]) -> list[str]:
    """Return the lines of a stack: functions, files and lines, as far as they can be found."""
    from haloscope.profile.sites import name_stack

    return name_stack([(each.module, each.offset) for each in frames])


def _print_lines(lines: Sequence[str]) -> None:
    """Print at once: what follows may take a while."""
    for line in lines:
        click.echo(printable(line))
    sys.stdout.flush()
