"""`haloscope inject`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from haloscope.cli._messages import say_remarks
from haloscope.cli._options import mpi_options

__all__ = ["inject"]

_EXAMPLES = """\b
Examples:
  haloscope inject --latency constant:1ms -o injected.csv -- mpiexec -n 4 ./app
  haloscope inject --inter lognormal:50us,0.5 --seed 7 -- srun -n 256 ./app
  haloscope inject --latency model:model.json --excess --every 2ms -- mpiexec -n 8 ./app
  haloscope inject --once 2:100:50ms -- haloscope run -o wave.halo -- mpiexec -n 8 ./app
"""
_SPEC = "SPEC"


@click.command(epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.option(
    "--latency",
    metavar=_SPEC,
    default="none",
    show_default=True,
    help="How long messages are under way: constant:1ms, normal:1ms,0.2ms, lognormal:1ms,0.5, "
    "gamma:2,0.5ms, empirical:FILE (seconds, one a line) or model:FILE.json (of haloscope "
    "regimes).",
)
@click.option("--intra", metavar=_SPEC, help="The same for messages within a node alone.")
@click.option("--inter", metavar=_SPEC, help="The same for messages between nodes alone.")
@click.option(
    "--once",
    metavar="RANK:MESSAGE:TIME[:COUNT]",
    multiple=True,
    help="Let this message of that rank, counted from 0, come so much later; COUNT: and those "
    "that follow. Can be repeated.",
)
@click.option("--scale", type=float, default=1.0, show_default=True, help="Multiplies latencies.")
@click.option(
    "--excess", is_flag=True, help="Inject what a duration exceeds the mean by, of a model's fastest regime."
)
@click.option(
    "--every",
    metavar="N|TIME",
    default="1",
    show_default=True,
    help="How long an instance of a regime model lasts: so many latencies of a rank, or a time, "
    "which makes events of the whole machine simultaneous.",
)
@click.option("--no-collectives", is_flag=True, help="Let collectives take their own time.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all draws.")
@click.option(
    "-o",
    "--record",
    type=click.Path(path_type=Path),
    metavar="F.csv",
    help="Record each latency there. None is recorded unless this is given.",
)
@mpi_options
@click.option("--quiet", is_flag=True, help="Say nothing when the program ends.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def inject(command: tuple[str, ...], quiet: bool, **values: Any) -> int:
    """Run a launch command whose messages take longer to arrive.

    Messages stay in order and arrive unchanged; ranks sleep while they wait. The program's output
    and exit status stay its own.
    """
    from haloscope.base.child import leave_like
    from haloscope.base.preloading import Choice
    from haloscope.hide import Plan, read_event, read_every, read_latency
    from haloscope.hide import inject as run_injected

    if not command:
        raise click.UsageError("the command to run is missing: -- mpiexec -n 4 ./app")
    models = [
        read_latency(
            values[link] or values["latency"],
            f"--{link}" if values[link] else "--latency",
            values["scale"],
            values["excess"],
        )
        for link in ("intra", "inter")
    ]
    every_messages, every_seconds = read_every(values["every"])
    plan = Plan(
        models[0],
        models[1],
        [read_event(text) for text in values["once"]],
        values["seed"],
        every_messages,
        every_seconds,
        not values["no_collectives"],
    )
    choice = Choice(values["mpi"], values["mpi_include"])
    outcome = run_injected(command, plan, values["record"], choice, quiet)
    if not quiet:
        say_remarks(outcome.remarks)
    return leave_like(outcome.status)
