"""`haloscope recover`."""

from __future__ import annotations

from pathlib import Path

import click

from haloscope.cli.caliper import write_as_caliper
from haloscope.cli.console import say_remarks
from haloscope.cli.symbols import keep_symbols

__all__ = ["recover"]

_EXAMPLES = """\b
Examples:
  haloscope recover
  haloscope recover /dev/shm/haloscope-4711-1767225600 -o lost.halo
  haloscope recover collected/
  haloscope recover --force /dev/shm -o so-far.halo
"""


@click.command(epilog=_EXAMPLES)
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="F.halo",
    help="Where the profile goes, as in run. [default: where the run would have written it]",
)
@click.option("--keep", is_flag=True, help="Leave the records where they are.")
@click.option(
    "--force",
    is_flag=True,
    help="Also of what is still running, whose records stay; also over a file that is no profile.",
)
def recover(directory: Path | None, output: Path | None, keep: bool, force: bool) -> int:
    """Join what an interrupted run left behind, for a run that haloscope env had watched.

    DIR is a directory of live records, one that holds several of them, or one into which those of
    several nodes were copied; without it, those that your runs left on this node are looked for.
    Each MPI_COMM_WORLD gets a profile. A file that is there already is not replaced: the new one
    is called NAME-2.halo. Records of other users are refused. Records are removed when all of their
    world are in the profile.
    """
    from haloscope import explain
    from haloscope.watch import recover

    done = recover(directory, output=output, keep=keep, force=force)
    keep_symbols(done.profiles)
    for profile in done.profiles:
        with explain.open(profile) as opened:
            click.echo("\n".join(explain.summary(opened)))
    asked = [line for profile in done.profiles for line in write_as_caliper(profile)]
    say_remarks([*done.remarks, *asked, *done.failures])
    return 1 if done.failures else 0
