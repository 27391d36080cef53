"""`haloscope simulate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import click

from haloscope.cli.console import progress, say_lines
from haloscope.cli.measuring import time_limit
from haloscope.cli.options import format_option, latency_option, output_option, seed_option
from haloscope.profile.shown import SHOWN

_EXAMPLES = """\b
Examples:
  haloscope simulate --platform fat-tree -n 64 cg --nx 16 --ny 16 --nz 16 --iterations 2
  haloscope simulate --platform orfeo -n 256 -- ./app input.txt
  haloscope simulate --platform torus -n 1024 --scale weak cg-64.halo -o torus-1024.halo
  haloscope simulate --platform torus --collectives mpich,bcast=binomial_tree cg-64.halo
  haloscope simulate --platform dragonfly cg-64.halo --latency-factor 0,1,2,4
  haloscope simulate --platform fat-tree cg-64.halo --latency inter=lognormal:20us,0.5
  haloscope simulate --platform torus -n 512 cg-8.halo cg-16.halo cg-27.halo cg-32.halo cg-64.halo
"""


class _Collectives(NamedTuple):
    """The library whose choices are followed, and SimGrid's algorithms of single collectives."""

    selector: str
    algorithms: dict[str, str]


def _collectives(_context: click.Context, _option: click.Parameter, text: str) -> _Collectives:
    found = _Collectives("openmpi", {})
    for word in text.split(","):
        collective, equals, name = word.partition("=")
        if not equals and word:
            found = found._replace(selector=word)
        elif collective and name:
            found.algorithms[collective] = name
        else:
            raise click.BadParameter(
                f"{word!r} is no library, nor COLLECTIVE=NAME such as bcast=binomial_tree"
            )
    return found


def _factors(_context: click.Context, _option: click.Parameter, text: str) -> list[float]:
    return sorted(set(_read_factors(text, 1e6)))


def _compute_factors(_context: click.Context, _option: click.Parameter, text: str) -> list[float]:
    return _read_factors(text, 1e6 + 1)


def _read_factors(text: str, end: float) -> list[float]:
    try:
        factors = [float(word) for word in text.split(",")]
    except ValueError:
        factors = []
    if not factors or not all(0 <= factor < end for factor in factors):
        raise click.BadParameter(f"{text!r} is not a factor, nor a list of factors such as 0,1,2,4")
    return factors


class _Simulating(click.Command):
    """What follows a program is its own; what follows a profile is ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        found, _, _ = self.make_parser(ctx).parse_args(list(args))
        what = found.get("what")
        if isinstance(what, tuple) and what:
            from haloscope.predict.simulate import is_profile

            ctx.allow_interspersed_args = is_profile(what[0])
        return super().parse_args(ctx, args)


@click.command(cls=_Simulating, epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.option(
    "--platform",
    required=True,
    metavar="NAME|FILE",
    help="Network or machine to simulate, by its name or file.",
)
@click.option(
    "-n",
    "ranks",
    type=click.IntRange(1, 1 << 16),
    metavar="N",
    help="Number of ranks. Default: that of the profile or trace.",
)
@output_option("FILE", "The profile to write. An existing one is replaced. [default: PROGRAM-N-DATE.halo]")
@click.option(
    "--scale",
    type=click.Choice(("weak", "strong")),
    default="weak",
    help="Scaling of a profile's pattern with the number of ranks.",
)
@click.option(
    "--collectives",
    callback=_collectives,
    default="openmpi",
    metavar="LIBRARY[,COLLECTIVE=NAME]",
    help="Choose collective algorithms as this library does: openmpi, mpich, mvapich2, intelmpi or smpi. "
    "COLLECTIVE=NAME sets SimGrid's algorithm for one collective.",
)
@click.option(
    "--latency-factor",
    callback=_factors,
    metavar="F[,F...]",
    default="1",
    help="Multiply latencies by this. 0: no latency. With several factors, print the time and slope of each "
    "region.",
)
@click.option(
    "--bandwidth-factor",
    type=click.FloatRange(0, min_open=True),
    metavar="F",
    default=1,
    help="Multiply bandwidths by this. inf: no limit.",
)
@click.option(
    "--compute-factor",
    callback=_compute_factors,
    metavar="F[,F...]",
    default="1",
    help="Multiply computing times, measured here or in the profile, by this. 0: no computing time. With "
    "several factors, the ranks of a profile get them in turn.",
)
@latency_option
@seed_option
@click.option(
    "--series",
    multiple=True,
    metavar="REGION",
    help="Record each instance of this region, for the table `series`. Can be repeated.",
)
@format_option()
@click.argument("what", nargs=-1, type=click.UNPROCESSED, metavar="WHAT...")
def simulate(
    what: tuple[str, ...],
    platform: str,
    ranks: int | None,
    output: Path | None,
    scale: str,
    collectives: _Collectives,
    latency_factor: list[float],
    bandwidth_factor: float,
    compute_factor: list[float],
    latency: tuple[str, ...],
    seed: int,
    series: tuple[str, ...],
    form: str,
) -> None:
    """Simulate a program or a profile on a described network of up to thousands of ranks.

    WHAT is a bundled application, or a program that was compiled with smpicc, with its arguments. Or it is a
    profile: its trace is replayed, else its pattern. Or it is a trace in SimGrid's text: a directory with one
    file per rank, or the list of the files. The result is a profile. With profiles of one program at five or
    more numbers of ranks, the time of each region with N ranks is predicted and printed.
    """
    from haloscope import explain
    from haloscope.predict.simulate import PREDICTION_TABLE, SENSITIVITY_TABLE, Simulation

    limit = time_limit(float("inf"))
    simulation = Simulation(
        what,
        platform,
        ranks,
        scale,
        collectives.selector,
        collectives.algorithms,
        latency_factor[0] if len(latency_factor) == 1 else 1.0,
        bandwidth_factor,
        compute_factor[0] if len(compute_factor) == 1 else compute_factor,
        time_limit=None if limit == float("inf") else limit,
        series=series,
        latency=latency,
        seed=seed,
    )
    if len(latency_factor) > 1:
        rows = simulation.sensitivity(latency_factor, progress)
        explain.render(rows, form, SENSITIVITY_TABLE, sys.stdout)
        return
    if simulation.has_prediction:
        rows = simulation.prediction(output, progress)
        explain.render(rows, form, PREDICTION_TABLE, sys.stdout)
        return
    with explain.open(simulation.run(output, progress)) as profile:
        if form != "table":
            explain.render(profile.table("regions"), form, SHOWN["regions"], sys.stdout)
        say_lines(explain.summary(profile))
