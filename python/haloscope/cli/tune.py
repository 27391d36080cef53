"""`haloscope tune`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.cli.console import progress, say
from haloscope.cli.measuring import FORMAT, Launching, format_option, interruptible, time_limit, warmup_option
from haloscope.cli.options import counts, sizes

if TYPE_CHECKING:
    from haloscope.predict.tune import Tuning

__all__ = ["tune"]

_EXAMPLES = """\b
Examples:
  haloscope bench collective bcast allreduce -n 2:8 -o sweep.jsonl
  haloscope tune sweep.jsonl -o rules.conf
  haloscope tune app-8-20260101-120000.halo -o rules.conf -- mpiexec --hostfile hosts
  haloscope tune cluster.yaml bcast -n 64,128 -m 2:1048576 --no-run
  haloscope report rules.gains.json -o gains.html
"""


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.argument("source", metavar="SWEEP.jsonl|F.halo|MACHINE")
@click.argument("collectives", nargs=-1, metavar="[COLLECTIVE...]")
@click.option(
    "-n",
    "ranks",
    callback=counts,
    default="2",
    show_default=True,
    metavar="2:8|4,8",
    help="Numbers of processes, for a machine model.",
)
@click.option(
    "-m",
    "--message-size",
    "sizes",
    callback=sizes,
    default="1:1048576",
    show_default=True,
    metavar="[MIN:]MAX",
    help="Sizes in bytes, doubled from MIN (1) to MAX, for a machine model.",
)
@click.option(
    "--rounds",
    type=click.IntRange(2),
    metavar="N",
    default=5,
    show_default=True,
    help="Launches with the rules, and as many without, that a rule must hold in.",
)
@click.option(
    "-i",
    "--iterations",
    type=click.IntRange(10),
    metavar="N",
    default=1000,
    show_default=True,
    help="As OSU: measured calls.",
)
@warmup_option
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Measure a profile's points for so long, those first that should gain the most a second.",
)
@click.option(
    "--map-by",
    "mapping",
    metavar="NAME",
    help="Mapping of ranks in the launcher's words (core, socket, node).",
)
@click.option(
    "--no-run",
    is_flag=True,
    help="Run nothing: write what a sweep or a machine model says, without verifying it.",
)
@format_option(*FORMAT, text="Print for people, or for programs.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="RULES",
    help="The rules. The default is rules.conf (Open MPI 4, 5) or rules.json (Open MPI 6, MPICH). "
    "The gains are written beside them, for haloscope report.",
)
def tune(
    source: str,
    collectives: tuple[str, ...],
    ranks: list[int],
    sizes: list[int],
    rounds: int,
    iterations: int,
    warmup: int,
    budget: float | None,
    mapping: str | None,
    no_run: bool,
    form: str,
    output: Path | None,
    launcher: tuple[str, ...],
) -> None:
    """Choose the algorithms of collectives, and write rules for the MPI library that hold in real runs.

    The choice is made from a sweep of bench collective, from what a program's profile says that it
    uses (this is measured now), or from the models that were fitted to a machine: for COLLECTIVE, or
    all that were fitted. LAUNCHER starts the ranks instead of mpiexec.
    """
    from haloscope import explain
    from haloscope.predict.bench import CollectiveMethod as Method
    from haloscope.predict.tune import TUNE_TABLE, ComparisonPlan, Gains, RuleChoice, table
    from haloscope.predict.tune import tune as tuned

    method = Method(warmup=warmup, iterations=iterations, time_limit=time_limit())
    with interruptible():
        made = tuned(
            source,
            output,
            choice=RuleChoice(collectives, ranks, sizes, budget=budget),
            plan=ComparisonPlan(method, rounds),
            verified=not no_run,
            launcher=launcher,
            mapping=mapping,
            progress=progress,
        )
    explain.render(table(made), form, TUNE_TABLE, sys.stdout)
    gains = made.output.with_name(f"{made.output.stem}.gains.json")
    Gains.of(made).save(gains)
    _say_result(made, no_run)
    say(f"{gains}: what the rules gain; haloscope report draws it")


def _say_result(made: Tuning, unverified: bool) -> None:
    from haloscope.predict.tune import program_gain, program_text, summary, usage

    say(summary(made))
    if made.problems:
        more = len(made.problems) - 1
        rest = f" (and {more} more)" if more else ""
        say(f"left to the library: {made.problems[0]}{rest}")
    if made.work is not None:
        say(program_text(program_gain(made, made.work), made.work))
    if not made.rules:
        say("no rule is worth it: no file is written, the library's own choice stands")
        return
    state = "not verified" if unverified else "each rule was seen to take effect"
    say(f"{made.output}: rules for {made.bench.library.name}, {state}; use them by one of:")
    collectives = sorted({point.collective for point in made.tuned})
    for line in usage(made.bench.form, made.output, collectives):
        click.echo(f"  {line}", err=True)
