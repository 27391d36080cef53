"""`haloscope export`."""

from __future__ import annotations

from pathlib import Path

import click

from haloscope.cli.console import say_remarks
from haloscope.cli.options import FILE, output_option
from haloscope.explain.export import EXPORTS

_EXAMPLES = """\b
Examples:
  haloscope export run.halo --to cali
  haloscope export run.halo --to otf2 -o run-otf2
  haloscope export run.halo --to perfetto
  haloscope export run.halo --to cali --anonymous -o shared.cali
"""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="F.halo...")
@click.option("--to", type=click.Choice(list(EXPORTS)), required=True, help="The format to write.")
@output_option(
    "OUT", "The file or directory to write. [default: the profile's name, in the working directory]"
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="Replace the names of hosts, regions, files and programs, and the metadata of the run, by aliases.",
)
def export(files: tuple[Path, ...], to: str, output: Path | None, anonymous: bool) -> None:
    """Convert a profile to a format of other programs: OTF2, Perfetto, .cali, CSV and others."""
    from haloscope.explain.export import export_with_remarks

    target, remarks = export_with_remarks(files, to, output, anonymous)
    say_remarks([*remarks, f"{target} is written"])
