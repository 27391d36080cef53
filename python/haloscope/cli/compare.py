"""`haloscope compare`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from haloscope.base.errors import UsageError, printable
from haloscope.cli.console import print_lines, progress
from haloscope.cli.options import FILE, format_option, output_option
from haloscope.cli.parted import PartedCommand, split_groups

_EXAMPLES = """\b
Examples:
  haloscope compare old.halo new.halo
  haloscope compare old-?.halo -- new-?.halo
  haloscope compare old-?.halo -- new-?.halo -o what-changed.html
  haloscope compare old-?.halo -- new-?.halo --format json
"""


@click.command(cls=PartedCommand, epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="A B | A... -- B...")
@output_option("PAGE.html", "The page to write. [default: none]")
@format_option()
def compare(files: tuple[Path, ...], output: Path | None, form: str) -> None:
    """Compare runs A with runs B: exact counts, and times with confidence intervals.

    Messages, sizes, partners, calls and collectives of each region are compared exactly. Intervals of times
    come from repeated runs or from series of instances. Regions that cause a difference are listed.
    """
    sides = split_groups(files, "side")
    if len(sides) == 1 and len(files) == 2:
        sides = [[file] for file in files]
    if len(sides) != 2:
        raise UsageError("compare takes two files, or two sides: haloscope compare A... -- B...")
    with progress(3 if output else 2) as step:
        from haloscope import explain
        from haloscope.explain.comparing import compare as compared
        from haloscope.profile.shown import ShownTable

        found = compared(*sides, output=output, progress=step)
    if form != "table":
        explain.render(found.frame, form, ShownTable("compare"), sys.stdout)
        return
    print_lines(found.describe())
    if output is not None:
        click.echo(f"page: {printable(shlex.quote(str(output)))}")
