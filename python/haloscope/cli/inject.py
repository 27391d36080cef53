"""`haloscope inject`."""

from __future__ import annotations

from pathlib import Path

import click

from haloscope.base.objects import Abi
from haloscope.base.preloading import leave_like
from haloscope.cli.console import say_remarks
from haloscope.cli.options import mpi_option

__all__ = ["inject"]

_EXAMPLES = """\b
Examples:
  haloscope inject --latency constant:1ms -o injected.csv -- mpiexec -n 4 ./app
  haloscope inject --latency inter=lognormal:50us,0.5 --seed 7 -- srun -n 256 ./app
  haloscope inject --latency model:model.json --excess --every 2ms -- mpiexec -n 8 ./app
  haloscope inject --once 2:100:50ms -- haloscope run -o wave.halo -- mpiexec -n 8 ./app
"""


@click.command(epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.option(
    "--latency",
    metavar="[LINK=][FACTOR*]MODEL",
    multiple=True,
    help="How long messages are under way: constant:1ms, normal:1ms,0.2ms, lognormal:1ms,0.5, "
    "gamma:2,0.5ms, empirical:FILE (seconds, one a line), model:FILE.json (of haloscope regimes) or none. "
    "intra= means messages within a node alone, inter= those between nodes; a factor multiplies what is "
    "drawn. Can be repeated. [default: none]",
)
@click.option(
    "--once",
    metavar="RANK:MESSAGE:TIME[:COUNT]",
    multiple=True,
    help="Let this message of that rank, counted from 0, come so much later, and with COUNT those that "
    "follow it, too. Can be repeated.",
)
@click.option(
    "--excess",
    is_flag=True,
    help="Inject only what a duration exceeds the mean of the model's fastest regime by.",
)
@click.option(
    "--every",
    metavar="N|TIME",
    default="1",
    show_default=True,
    help="How long an instance of a regime model lasts: so many latencies of a rank, or a time, "
    "which lets events strike all ranks at once.",
)
@click.option("--no-collectives", is_flag=True, help="Do not delay collectives.")
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="The seed of all random draws.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="F.csv",
    help="Write a row on each latency to this file. No file is written without it.",
)
@mpi_option
@click.option("--quiet", is_flag=True, help="Say nothing when the program ends.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def inject(
    command: tuple[str, ...],
    latency: tuple[str, ...],
    once: tuple[str, ...],
    excess: bool,
    every: str,
    no_collectives: bool,
    seed: int,
    output: Path | None,
    mpi: Abi | None,
    quiet: bool,
) -> int:
    """Run a launch command whose messages take longer to arrive.

    Messages stay in order and arrive unchanged; ranks sleep while they wait. The program's output
    and exit status stay its own.
    """
    from haloscope.hide import inject as run_injected

    if not command:
        raise click.UsageError("the command to run is missing: -- mpiexec -n 4 ./app")
    outcome = run_injected(
        command,
        latency,
        once=once,
        every=every,
        excess=excess,
        collectives=not no_collectives,
        seed=seed,
        output=output,
        mpi=mpi,
        quiet=quiet,
    )
    if not quiet:
        say_remarks(outcome.remarks)
    return leave_like(outcome.status)
