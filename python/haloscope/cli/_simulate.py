"""`haloscope simulate`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from haloscope.cli._messages import progress

if TYPE_CHECKING:
    from haloscope.predict.simulate import Options, Work

__all__ = ["simulate"]

_EXAMPLES = """\b
Examples:
  haloscope simulate --platform fat-tree -n 64 cg --nx 16 --ny 16 --nz 16 --iterations 2
  haloscope simulate --platform orfeo -n 256 -- ./app input.txt
  haloscope simulate --platform torus -n 1024 --scale weak cg-64.halo -o torus-1024.halo
  haloscope simulate --platform dragonfly cg-64.halo --sensitivity 0,1,2,4
"""


def _algorithms(_context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        collective, equals, name = pair.partition("=")
        if not (collective and equals and name):
            raise click.BadParameter(f"{pair!r} is not COLLECTIVE=NAME, such as bcast=binomial_tree")
        found[collective] = name
    return found


def _factors(_context: click.Context, _option: click.Parameter, text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        factors = sorted({float(word) for word in text.split(",")})
    except ValueError:
        factors = []
    if len(factors) < 2 or not all(0 <= factor < 1e6 for factor in factors):
        raise click.BadParameter(f"{text!r} is not a list of factors, such as 0,1,2,4")
    return factors


_FACTOR = click.FloatRange(0, 1e6)


class _Simulating(click.Command):
    """What follows a program is its own; what follows a profile is ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        found, _, _ = self.make_parser(ctx).parse_args(list(args))
        what = found.get("what")
        if isinstance(what, tuple) and what and what[0].endswith(".halo"):
            ctx.allow_interspersed_args = True
        return super().parse_args(ctx, args)


@click.command(cls=_Simulating, epilog=_EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.option("--platform", required=True, metavar="NAME|FILE", help="The network, or a machine.")
@click.option("-n", "--ranks", type=click.IntRange(1, 1 << 16), metavar="N", help="Ranks.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The profile; an existing one is replaced. [default: PROGRAM-N-DATE.halo]",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="DIR|LIST",
    help="Replay traces in SimGrid's text: a directory with a file a rank, or their list.",
)
@click.option(
    "--scale",
    type=click.Choice(("weak", "strong")),
    default="weak",
    show_default=True,
    help="How a profile's pattern changes with the number of ranks.",
)
@click.option(
    "--mpi",
    "selector",
    default="openmpi",
    show_default=True,
    metavar="openmpi|mpich|mvapich2|intelmpi|smpi",
    help="Whose choice of collective algorithms.",
)
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    callback=_algorithms,
    metavar="COLLECTIVE=NAME",
    help="SimGrid's algorithm for one collective; may be repeated.",
)
@click.option("--latency", type=_FACTOR, default=1, show_default=True, help="Latencies times this.")
@click.option(
    "--bandwidth",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=1,
    show_default=True,
    help="Bandwidths times this.",
)
@click.option("--ideal", is_flag=True, help="No latency, no limit of bandwidth.")
@click.option(
    "--sensitivity",
    callback=_factors,
    metavar="F,F,…",
    help="Simulate with latencies times each factor; print each region's time and slope.",
)
@click.option(
    "--compute",
    type=_FACTOR,
    default=1,
    show_default=True,
    help="Computing takes so many times as long as here, or as in the profile; 0: no time.",
)
@click.option(
    "--eager",
    type=click.IntRange(0),
    metavar="BYTES",
    help="Smaller messages wait for no receiver. [default: 65536 for your programs, else 0]",
)
@click.option(
    "--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Give up after so long."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "csv", "json")),
    default="table",
    show_default=True,
    help="Of --sensitivity, for people or for programs.",
)
@click.argument("what", nargs=-1, type=click.UNPROCESSED)
def simulate(what: tuple[str, ...], platform: str, ranks: int | None, **asked: Any) -> None:
    """Run a program, or the pattern of a profile, on a described network.

    WHAT is a bundled application or a program that was compiled with smpicc, with its arguments; or
    a profile. The result is a profile like any other.
    """
    from haloscope.predict.simulate import load_platform, sensitivity, smpirun, what_if

    network = load_platform(platform)
    smpirun()  # said before anything is compiled
    work, count = _work(what, ranks, asked)
    options = _options(network, count, work, asked)
    if asked["sensitivity"] is None:
        output = _output(asked["output"], work.name, count)
        with progress(1) as step:
            step(f"simulating {count} ranks on {network.name}")
            what_if(work, options, output)
        _summarise(output)
        return
    from haloscope import explain

    with progress(len(asked["sensitivity"])) as step:
        rows = sensitivity(work, options, asked["sensitivity"], step)
    explain.render(rows, asked["form"], "sensitivity", sys.stdout)


def _work(what: tuple[str, ...], ranks: int | None, asked: dict[str, Any]) -> tuple[Work, int]:
    from haloscope.predict.simulate import ProfileWork, ProgramWork, TraceWork

    if asked["trace"] is not None:
        if what:
            raise click.UsageError("--trace takes the place of a program or profile")
        traced = TraceWork(asked["trace"], ranks)
        return traced, traced.ranks
    if not what:
        raise click.UsageError("say what to simulate: cg --nx 16, or ./app, or a profile")
    if what[0].endswith(".halo"):
        if len(what) > 1:
            raise click.UsageError(f"{what[1]}: one profile is replayed, and has no arguments")
        replayed = ProfileWork(Path(what[0]), ranks, asked["scale"], asked["compute"])
        return replayed, replayed.ranks
    if ranks is None:
        raise click.UsageError("how many ranks? -n N")
    return ProgramWork(what), ranks


def _options(network: Any, count: int, work: Work, asked: dict[str, Any]) -> Options:
    from haloscope.predict.simulate import Change, Options, host_names

    host_names(network, count)  # too many ranks are said now, not after a compilation
    change = Change.ideal() if asked["ideal"] else Change(asked["latency"], asked["bandwidth"])
    eager = work.eager if asked["eager"] is None else asked["eager"]
    options = Options(
        network,
        count,
        asked["selector"],
        asked["algorithms"],
        change,
        asked["compute"],
        eager,
        asked["time_limit"],
    )
    return replace(options)


def _output(given: Path | None, name: str, ranks: int) -> Path:
    from haloscope.watch import Output, expand

    return expand(Output.prepare(given).pattern, ranks, name)


def _summarise(profile: Path) -> None:
    from haloscope import explain

    lines = explain.summary(explain.open(profile))
    click.echo("\n".join(lines), err=True)
