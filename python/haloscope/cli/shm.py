"""`haloscope shm`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from haloscope.base.child import leave_like
from haloscope.base.objects import Abi
from haloscope.cli.console import say_remarks
from haloscope.cli.options import mpi_option, setting_options
from haloscope.hide import SHM_SETTINGS

_EXAMPLES = """\b
Examples:
  haloscope shm -- mpiexec -n 8 ./app
  haloscope shm --share-heap --threshold 65536 -- mpiexec -n 8 ./app
  haloscope shm -- haloscope run -o copied.halo -- mpiexec -n 8 ./app
"""


@click.command(epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@setting_options(SHM_SETTINGS)
@click.option(
    "--share-heap",
    is_flag=True,
    help="Allocate the program's large blocks in memory that other ranks can read.",
)
@mpi_option
@click.option("--quiet", is_flag=True, help="Print nothing when the program ends.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shm(
    command: tuple[str, ...],
    threshold: int | None,
    protocol: Literal["dynamic", "get", "coop", "steal", "static", "off"] | None,
    output: Path | None,
    share_heap: bool,
    mpi: Abi | None,
    quiet: bool,
) -> int:
    """Run a launch command with the shm library, which copies large messages within a node.

    All other messages use MPI. Output and exit status are those of the program.
    """
    from haloscope.hide import shm as run_carried

    if not command:
        raise click.UsageError("the command to run is missing: -- mpiexec -n 8 ./app")
    outcome = run_carried(
        command,
        threshold=threshold,
        protocol=protocol,
        share_heap=share_heap,
        output=output,
        mpi=mpi,
        quiet=quiet,
    )
    if not quiet:
        say_remarks(outcome.remarks)
    return leave_like(outcome.status)
