"""`haloscope export`."""

from __future__ import annotations

from pathlib import Path

import click

from haloscope.cli.console import say_remarks
from haloscope.explain.export import EXPORTS

__all__ = ["export"]

_EXAMPLES = """\b
Examples:
  haloscope export run.halo --to cali
  haloscope export run.halo --to otf2 -o run-otf2
  haloscope export run.halo --to perfetto
  haloscope export run.halo --to cali --anonymous -o shared.cali
"""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="F.halo...")
@click.option("--to", type=click.Choice(list(EXPORTS)), required=True, help="The format to write.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="The file or directory to write; else it is called as the profile is, in the working directory.",
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="Write aliases for names of hosts, regions, files and programs, and for what was said of the run.",
)
def export(files: tuple[Path, ...], to: str, output: Path | None, anonymous: bool) -> None:
    """Write a profile in a format that other programs read."""
    from haloscope.explain.export import export_with_remarks

    target, remarks = export_with_remarks(files, to, output, anonymous)
    say_remarks([*remarks, f"{target} is written"])
