"""`haloscope recover`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from haloscope.cli.completion import keep_symbols, write_as_caliper
from haloscope.cli.console import fit_lines, say_remarks
from haloscope.cli.options import FILE, output_option

_EXAMPLES = """\b
Examples:
  haloscope recover
  haloscope recover /dev/shm/haloscope-4711-1767225600 -o lost.halo
  haloscope recover collected/
  haloscope recover --force /dev/shm -o so-far.halo
"""


@click.command(epilog=_EXAMPLES)
@click.argument("directory", metavar="[DIR]", required=False, type=FILE)
@output_option("F.halo", "The profile to write, as in run. [default: that of the run]")
@click.option("--keep", is_flag=True, help="Do not delete the records.")
@click.option(
    "--force",
    is_flag=True,
    help="Also write profiles of running programs, and replace files that are not profiles.",
)
def recover(directory: Path | None, output: Path | None, keep: bool, force: bool) -> int:
    """Write profiles of interrupted runs from their live records.

    DIR is a directory of live records, or a directory of such directories, for example copied from several
    nodes. Default: the records that your runs left on this node. Each MPI_COMM_WORLD gets a profile. An
    existing file is not replaced: the new one is NAME-2.halo. Records of other users are refused. Records are
    deleted when the profile has all ranks of their world; those of running programs stay.
    """
    from haloscope import explain
    from haloscope.watch import recover

    done = recover(directory, output=output, keep=keep, force=force)
    keep_symbols(done.profiles)
    for profile in done.profiles:
        with explain.open(profile) as opened:
            click.echo(fit_lines(explain.summary(opened), sys.stdout))
    asked = [line for profile in done.profiles for line in write_as_caliper(profile)]
    say_remarks([*done.remarks, *asked, *done.failures])
    return 1 if done.failures else 0
