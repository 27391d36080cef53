"""`haloscope regimes`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from haloscope.base.errors import printable
from haloscope.cli.console import print_lines, progress
from haloscope.cli.options import FILE, decode_region, format_option, output_option, seed_option
from haloscope.cli.parted import PartedCommand, split_groups

if TYPE_CHECKING:
    from haloscope.markov import Criterion, Reduction

_CRITERIA = ("bic", "aic", "icl")
_STEPS_OF_A_FILE, _STEPS_OF_A_PAGE = 2, 14
_EXAMPLES = """\b
Examples:
  haloscope run --series halo -o cg.halo -- mpiexec -n 8 ./cg
  haloscope regimes cg.halo
  haloscope regimes fixed.halo dynamic.halo --region matvec -o methods.html
  haloscope regimes fixed-?.halo -- dynamic-?.halo
  haloscope regimes cg.halo --reduce max --states 2
  haloscope regimes cg.halo --states auto --model cg.json
  haloscope regimes times.csv --emission lognormal --format json
"""


def _states(_context: click.Context, _option: click.Parameter, text: str) -> int | str:
    if text == "auto":
        return "elbow"
    if text in _CRITERIA:
        return text
    if not text.isdecimal() or not 1 <= int(text) <= 32:
        raise click.BadParameter(f"{text} is neither auto nor {', '.join(_CRITERIA)} nor 1, 2, … 32")
    return int(text)


@click.command(cls=PartedCommand, epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="F... [-- F...]")
@click.option(
    "--region",
    metavar="REGION",
    callback=decode_region,
    help="Only this region, by its name or path. [default: the only one with a series]",
)
@click.option(
    "--states",
    default="3",
    callback=_states,
    metavar="N|auto|bic|aic|icl",
    help="Number of regimes, or the criterion that chooses it. auto: the elbow of the likelihood.",
)
@click.option(
    "--emission",
    type=click.Choice(("auto", "gaussian", "lognormal", "gamma", "student")),
    default="auto",
    help="Distribution of the times in a regime. auto: the one that fits best (BIC, held-out times).",
)
@click.option(
    "--reduce",
    type=click.Choice(("none", "max", "median", "mean")),
    default="none",
    help="Fit one series, with this value over all ranks per instance.",
)
@seed_option
@output_option("PAGE.html", "The page to write. [default: NAME-regimes.html; none with csv and json]")
@output_option("OUT.json", "Write the fitted model. For one file only.", ("--model",))
@format_option()
def regimes(
    files: tuple[Path, ...],
    region: str | None,
    states: int | Criterion,
    emission: str,
    reduce: Reduction | Literal["none"],
    seed: int,
    output: Path | None,
    model: Path | None,
    form: str,
) -> None:
    """Separate program time from system noise in the times of a region (hidden Markov model).

    F is a profile with a series (haloscope run --series REGION), or times as .npy, .npz, CSV or
    Parquet. Each file is fitted separately, and all are compared with the first. Files between two --
    are runs of one method. Methods with several runs are compared by the variation between runs.
    """
    groups = split_groups(files, "method")
    methods = groups if len(groups) > 1 else groups[0]
    count = sum(map(len, groups))
    if output is None and form == "table":
        output = Path(f"{files[0].stem}-regimes.html" if count == 1 else "regimes.html")
    with progress(_STEPS_OF_A_FILE * count + 1 + (_STEPS_OF_A_PAGE if output else 0)) as step:
        from haloscope import explain
        from haloscope.markov import REGIMES_TABLE, RegimeOptions
        from haloscope.markov import regimes as find

        options = RegimeOptions(
            states=states, emission=emission, reduce=None if reduce == "none" else reduce, seed=seed
        )
        results = find(methods, options, region=region, output=output, model=model, progress=step)
    explain.render(results.frame, form, REGIMES_TABLE, sys.stdout)
    if form != "table":
        return
    print_lines(results.describe())
    click.echo(f"page: {printable(shlex.quote(str(output)))}")
