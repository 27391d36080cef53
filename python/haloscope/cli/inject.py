"""`haloscope inject`."""

from __future__ import annotations

from pathlib import Path

import click

from haloscope.base.child import leave_like
from haloscope.base.objects import Abi
from haloscope.cli.console import say_remarks
from haloscope.cli.options import latency_option, mpi_option, output_option, seed_option

_EXAMPLES = """\b
Examples:
  haloscope inject --latency constant:1ms -o injected.csv -- mpiexec -n 4 ./app
  haloscope inject --latency inter=lognormal:50us,0.5 --seed 7 -- srun -n 256 ./app
  haloscope inject --latency model:model.json -- mpiexec -n 8 ./app
  haloscope inject --once 2:100:50ms -- haloscope run -o wave.halo -- mpiexec -n 8 ./app
"""


@click.command(epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@latency_option
@click.option(
    "--once",
    metavar="RANK:MESSAGE:TIME[:COUNT]",
    multiple=True,
    help="Delay one message of a rank by TIME, or COUNT messages in a row. Messages are counted from 0. Can "
    "be repeated.",
)
@click.option("--no-collectives", is_flag=True, help="Do not delay collectives.")
@seed_option
@output_option("F.csv", "Write one row per latency to this file. [default: none]")
@mpi_option
@click.option("--quiet", is_flag=True, help="Print nothing when the program ends.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def inject(
    command: tuple[str, ...],
    latency: tuple[str, ...],
    once: tuple[str, ...],
    no_collectives: bool,
    seed: int,
    output: Path | None,
    mpi: Abi | None,
    quiet: bool,
) -> int:
    """Run a launch command with delayed messages.

    Messages arrive unchanged and in order. Ranks sleep while they wait. Output and exit status are those
    of the program.
    """
    from haloscope.hide import inject as run_injected

    if not command:
        raise click.UsageError("the command to run is missing: -- mpiexec -n 4 ./app")
    outcome = run_injected(
        command,
        latency,
        once=once,
        collectives=not no_collectives,
        seed=seed,
        output=output,
        mpi=mpi,
        quiet=quiet,
    )
    if not quiet:
        say_remarks(outcome.remarks)
    return leave_like(outcome.status)
