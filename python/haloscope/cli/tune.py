"""`haloscope tune`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.cli.console import progress, say
from haloscope.cli.measuring import (
    Launching,
    interruptible,
    iterations_option,
    ranks_option,
    sizes_option,
    time_limit,
    warmup_option,
)
from haloscope.cli.options import format_option, output_option

if TYPE_CHECKING:
    from haloscope.predict.tune import Tuning

_EXAMPLES = """\b
Examples:
  haloscope bench collective bcast allreduce -n 2:8 -o sweep.jsonl
  haloscope tune sweep.jsonl -o rules.conf
  haloscope tune app-8-20260101-120000.halo -o rules.conf -- mpiexec --hostfile hosts
  haloscope tune cluster.yaml bcast -n 64,128 -m 2:1048576 --rounds 0
  haloscope report rules.gains.json -o gains.html
"""


def _rounds(_context: click.Context, _option: click.Parameter, rounds: int) -> int:
    if rounds == 1:
        raise click.BadParameter("1 launch shows no difference; give 2 or more, or 0 to run nothing")
    return rounds


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.argument("source", metavar="SWEEP.jsonl|F.halo|MACHINE")
@click.argument("collectives", nargs=-1, metavar="[COLLECTIVE...]")
@ranks_option(" for a machine model.", "2")
@sizes_option("1:1048576")
@click.option(
    "--rounds",
    type=click.IntRange(0),
    callback=_rounds,
    metavar="N",
    default=5,
    help="Launches with the rules, and the same number without, in which a rule must be faster. "
    "0: run nothing, and write unverified rules.",
)
@iterations_option(1000, least=10)
@warmup_option(100)
@click.option(
    "--duration",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Limit the time of measuring a profile's points. Points with the largest expected gain per second "
    "are first.",
)
@format_option()
@output_option(
    "RULES",
    "The rules to write. Default: rules.conf (Open MPI 4, 5) or rules.json (Open MPI 6, MPICH). "
    "The gains go to RULES.gains.json, for haloscope report.",
)
def tune(
    source: str,
    collectives: tuple[str, ...],
    ranks: list[int],
    sizes: list[int],
    rounds: int,
    iterations: int,
    warmup: int,
    duration: float | None,
    form: str,
    output: Path | None,
    launcher: tuple[str, ...],
) -> None:
    """Write rules for the MPI library that choose faster algorithms of collectives.

    Each rule is verified in real runs. The source is a sweep of bench collective, a profile, whose
    collectives are measured now, or a machine with fitted models, for COLLECTIVE or for all that are
    fitted. LAUNCHER starts the ranks instead of mpiexec.
    """
    from haloscope import explain
    from haloscope.predict.bench import CollectiveMethod as Method
    from haloscope.predict.tune import TUNE_TABLE, ComparisonPlan, Gains, RuleChoice, make_table
    from haloscope.predict.tune import tune as tuned

    method = Method(warmup=warmup, iterations=iterations, time_limit=time_limit())
    with interruptible():
        made = tuned(
            source,
            output,
            choice=RuleChoice(collectives, ranks, sizes, duration=duration),
            plan=ComparisonPlan(method, rounds or 2),
            verified=rounds > 0,
            launcher=launcher,
            progress=progress,
        )
    explain.render(make_table(made), form, TUNE_TABLE, sys.stdout)
    gains = made.output.with_name(f"{made.output.stem}.gains.json")
    Gains.of(made).save(gains)
    _say_result(made, rounds == 0)
    say(f"{gains}: what the rules gain; haloscope report draws it")


def _say_result(made: Tuning, unverified: bool) -> None:
    from haloscope.predict.tune import (
        describe_program_gain,
        estimate_program_gain,
        make_usage,
        summarise_gains,
    )

    say(summarise_gains(made))
    if made.problems:
        more = len(made.problems) - 1
        rest = f" (and {more} more)" if more else ""
        say(f"left to the library: {made.problems[0]}{rest}")
    if made.work is not None:
        say(describe_program_gain(estimate_program_gain(made, made.work), made.work))
    if not made.rules:
        say("no rule is worth it: no file is written, the library's own choice stands")
        return
    state = "not verified" if unverified else "each rule was seen to take effect"
    say(f"{made.output}: rules for {made.bench.library.name}, {state}; use them by one of:")
    collectives = sorted({point.collective for point in made.tuned})
    for line in make_usage(made.bench.form, made.output, collectives):
        click.echo(f"  {line}", err=True)
