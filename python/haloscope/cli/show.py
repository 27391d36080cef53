"""`haloscope show`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from haloscope.base.shown import SHOWN
from haloscope.cli.console import say_remarks
from haloscope.cli.options import format_option

__all__ = ["show"]

_TABLES = (*SHOWN, "info")
_EXAMPLES = """\b
Examples:
  haloscope show run.halo
  haloscope show run.halo --table partners --region halo
  haloscope show run.halo --table sizes --format csv > sizes.csv
"""


@click.command(epilog=_EXAMPLES)
@click.argument("profile", type=click.Path(path_type=Path), metavar="F.halo")
@click.option(
    "--table", type=click.Choice(_TABLES), default="regions", show_default=True, help="The table to print."
)
@click.option("--region", metavar="REGION", help="Print only the rows of this region, by name or path.")
@click.option("--exclusive", is_flag=True, help="Leave out what nested regions did.")
@format_option("Print for people, or for programs.")
def show(profile: Path, table: str, region: str | None, exclusive: bool, form: str) -> None:
    """Print one table of a profile."""
    from haloscope import explain

    with explain.open(profile) as opened:
        opened.verify()  # a damaged file is refused, even if this table of it is whole
        frame = opened.table(table, exclusive=exclusive, region=region)
        remarks = opened.remarks(table)
    explain.render(frame, form, table, sys.stdout)
    say_remarks(remarks)
