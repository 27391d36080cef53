"""`haloscope stencil`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from haloscope.cli._messages import say_remarks
from haloscope.cli._options import mpi_options, setting_options
from haloscope.hide import STENCIL_SETTINGS

__all__ = ["stencil"]

_EXAMPLES = """\b
Examples:
  haloscope stencil -- mpiexec -n 8 ./app
  haloscope stencil --share-heap --threshold 65536 -- mpiexec -n 8 ./app
  haloscope stencil -- haloscope run -o carried.halo -- mpiexec -n 8 ./app
"""


@click.command(epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@setting_options(STENCIL_SETTINGS)
@click.option(
    "--share-heap",
    is_flag=True,
    help="Take the program's large allocations from memory that other ranks can read.",
)
@mpi_options
@click.option("--quiet", is_flag=True, help="Say nothing when the program ends.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def stencil(
    command: tuple[str, ...],
    share_heap: bool,
    mpi: Any,
    mpi_include: tuple[Path, ...],
    quiet: bool,
    **values: Any,
) -> int:
    """Run a launch command whose large messages within a node are copied by our protocols.

    All others go to the MPI below. The program's output and exit status stay its own.
    """
    from haloscope.base.child import leave_like
    from haloscope.base.preloading import Choice
    from haloscope.hide import stencil as run_carried

    if not command:
        raise click.UsageError("the command to run is missing: -- mpiexec -n 8 ./app")
    outcome = run_carried(command, values, share_heap, Choice(mpi, mpi_include), quiet)
    if not quiet:
        say_remarks(outcome.remarks)
    return leave_like(outcome.status)
