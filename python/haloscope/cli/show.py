"""`haloscope show`."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from haloscope.base.errors import UsageError
from haloscope.cli.console import fit_lines, say_remarks
from haloscope.cli.options import FILE, decode_region, format_option
from haloscope.profile.shown import SHOWN

_EXAMPLES = """\b
Examples:
  haloscope show run.halo
  haloscope show run.halo --table partners --region halo
  haloscope show run.halo --table sizes --format csv > sizes.csv
  haloscope show sweep.jsonl
  haloscope show osu_allreduce.txt --json
"""


@click.command(epilog=_EXAMPLES)
@click.argument("file", type=FILE, metavar="FILE")
@click.option(
    "--table",
    type=click.Choice(list(SHOWN)),
    default="regions",
    metavar="TABLE",
    help=f"The table to print: {', '.join(SHOWN)}.",
)
@click.option(
    "--region", metavar="REGION", callback=decode_region, help="Only this region, by its name or path."
)
@click.option("--exclusive", is_flag=True, help="Count without nested regions.")
@format_option()
def show(file: Path, table: str, region: str | None, exclusive: bool, form: str) -> None:
    """Print the summary and one table of a profile, or measurements of collectives.

    The summary is left out if a table is chosen. FILE is a profile, an OTF2 archive, a .cali file or an mpiP
    report; or a sweep of bench collective, or output of the OSU benchmarks or of IMB-MPI1.
    """
    from haloscope import explain

    if _is_sweep(file):
        _show_sweep(file, form)
        return
    with explain.open(file) as opened:
        opened.verify()  # a damaged file is refused, even if this table of it is whole
        frame = opened.table(table, exclusive=exclusive, region=region)
        remarks = opened.remarks(table)
        asked = form != "table" or any(_is_given(name) for name in ("table", "region", "exclusive"))
        verdict = [] if asked else [*explain.summary(opened, next_steps=False), ""]
    if verdict:
        click.echo(fit_lines(verdict, sys.stdout))
    explain.render(frame, form, SHOWN[table], sys.stdout)
    say_remarks(remarks)


def _is_given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) == ParameterSource.COMMANDLINE


def _is_sweep(file: Path) -> bool:
    """Return whether a file has measurements of collectives; if it cannot be read, opening it says why."""
    from haloscope.predict import find_kind

    try:
        return find_kind(file) == "sweep"
    except (UsageError, OSError):
        return False


def _show_sweep(file: Path, form: str) -> None:
    from haloscope import explain
    from haloscope.predict.bench import POINTS_TABLE, read_any

    for name in ("table", "region", "exclusive"):
        if _is_given(name):
            raise click.UsageError(f"{file}: is a sweep; --{name} is for profiles")
    explain.render(read_any(file).sorted().points, form, POINTS_TABLE, sys.stdout)
