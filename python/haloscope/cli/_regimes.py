"""`haloscope regimes`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import TimingsError, UsageError, printable
from haloscope.cli._messages import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from haloscope.explain.regimes import Analysis, Results

__all__ = ["regimes"]

_PARTED = Path("/--/")  # what no file is called
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


def _states(_context: click.Context, _option: click.Parameter, text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or not 1 <= int(text) <= 32:
        raise click.BadParameter(f"{text} is neither auto nor 1, 2, … 32")
    return int(text)


def _instances(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    first, colon, end = text.partition(":")
    if not colon or not all(not part or part.isdecimal() for part in (first, end)):
        raise click.BadParameter(f"{text} is not FROM:TO, such as 100:2000, 100: or :2000")
    return int(first) if first else None, int(end) if end else None


def _values(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    names = text.split(",") if text else []
    if len(names) not in {0, 2}:
        raise click.BadParameter(f"{text} are not two names, such as t_in,t_out")
    return names


class _Methods(click.Command):
    """A command whose files are parted by `--`, which would otherwise end the options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [str(_PARTED) if arg == "--" else arg for arg in args])


@click.command(cls=_Methods, epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="F... [-- F...]")
@click.option("--region", metavar="REGION", help="The region. [default: the only one with a series]")
@click.option(
    "--states", default="3", show_default=True, callback=_states, metavar="auto|N", help="How many regimes."
)
@click.option(
    "--criterion",
    type=click.Choice(("elbow", "bic", "aic", "icl")),
    default="elbow",
    show_default=True,
    help="What chooses their number with --states auto.",
)
@click.option(
    "--emission",
    type=click.Choice(("gaussian", "lognormal", "gamma", "student")),
    default="gaussian",
    show_default=True,
    help="Distribution of the times in a regime.",
)
@click.option(
    "--reduce",
    type=click.Choice(("none", "max", "median", "mean")),
    default="none",
    show_default=True,
    help="Of each instance, take this over all ranks.",
)
@click.option(
    "--ranks-fitted",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="Fit so many ranks, equidistant by their medians; all are decoded.",
)
@click.option(
    "--machine-states",
    type=click.IntRange(2, 8),
    default=None,
    metavar="N",
    help="Also fit N hidden states of the whole machine that steer the ranks. [default: none]",
)
@click.option(
    "--instances",
    metavar="FROM:TO",
    callback=_instances,
    help="Fit these instances, counted from 0, without TO. [default: all]",
)
@click.option(
    "--starts",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    metavar="N",
    help="Fit from so many starts and keep the best.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the starts.")
@click.option(
    "--values",
    "recorded",
    metavar="X,Y",
    callback=_values,
    help="Draw two recorded values against each other, such as t_in,t_out.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PAGE.html",
    help="The page to write. [default: NAME-regimes.html here; none with csv and json]",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="OUT.json",
    help="Save the fitted model of the only file.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "csv", "json")),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
def regimes(
    files: tuple[Path, ...],
    region: str | None,
    output: Path | None,
    model: Path | None,
    form: str,
    recorded: list[str],
    **options: object,
) -> None:
    """Find the regimes of a region's times: what the program does, what its machine did to it.

    F is a profile with a series (haloscope run --series REGION), or times as .npy, .npz, CSV or
    Parquet. Of several files each is fitted by itself, and all are compared with the first.
    Files between two -- are runs of one method; methods of several runs are compared with what
    differs from run to run.
    """
    files, methods = _parted(files)
    if model is not None and len(files) > 1:
        raise UsageError(f"--model saves one model, and there are {len(files)} files; name one")
    if output is None and form == "table":
        output = Path(f"{files[0].stem}-regimes.html" if len(files) == 1 else "regimes.html")
    steps = _STEPS_OF_A_FILE * len(files) + 1 + (_STEPS_OF_A_PAGE if output else 0)
    with progress(steps) as step:
        from haloscope.explain.regimes import results_of, write_regimes_page

        analyses = _analyses(files, region, options, step)
        if model is not None:
            machine = analyses[0].machine
            (machine.model if machine else analyses[0].ranks.regimes.model).save(model)
        step("comparing")
        results = results_of(analyses, methods)
        if output is not None:
            write_regimes_page(analyses, results, output, recorded, step)
    _print(results, analyses, form, tested=len(set(methods)) == len(files))
    if output is not None and form == "table":
        click.echo(f"page: {printable(shlex.quote(str(output)))}")


def _parted(files: Sequence[Path]) -> tuple[tuple[Path, ...], list[int]]:
    """Return the files, and which method each is a run of. Raises `UsageError`."""
    named = tuple(path for path in files if path != _PARTED)
    if len(named) == len(files):
        return named, list(range(len(named)))
    after = [files[:index].count(_PARTED) for index, path in enumerate(files) if path != _PARTED]
    counts = [after.count(index) for index in range(files.count(_PARTED) + 1)]
    if not all(counts):
        raise UsageError("there is nothing on one side of --; name the runs of each method")
    if max(counts) > 1 == min(counts):
        told = ", ".join(map(str, counts))
        raise UsageError(f"methods of {told} runs cannot be compared; name 2 or more of each")
    return named, after


def _analyses(
    files: Sequence[Path], region: str | None, options: dict[str, object], step: Callable[[str], None]
) -> list[Analysis]:
    from haloscope.explain.regimes import Options, analyse, read_timings

    reduce = None if options["reduce"] == "none" else options["reduce"]
    machine_states = options["machine_states"] or 0
    chosen = Options(**{**options, "reduce": reduce, "machine_states": machine_states})  # type: ignore[arg-type]  # by click
    names = _names(files)
    analyses = []
    for path, name in zip(files, names, strict=True):
        step(f"reading {name}")
        timings = replace(read_timings(path, region), name=name)
        step(f"fitting {name}")
        try:
            analyses.append(analyse(timings, chosen))
        except TimingsError as error:
            raise TimingsError(f"{path}: {error}") from None
    return analyses


def _names(files: Sequence[Path]) -> list[str]:
    """What the files are called in tables: as little of their paths as tells them apart."""
    stems = [path.stem for path in files]
    if len(set(stems)) == len(files):
        return stems
    paths = [str(path) for path in files]
    if len(set(paths)) == len(files):
        return paths
    twice = next(path for path in paths if paths.count(path) > 1)
    raise UsageError(f"{twice}: is named twice; name different files")


def _print(results: Results, analyses: Sequence[Analysis], form: str, *, tested: bool) -> None:
    from haloscope.explain import render
    from haloscope.explain.regimes import FASTER, tests_told, told

    frame = results.frame if len(analyses) > 1 else results.frame.drop(*FASTER)
    render(frame, form, "regimes", sys.stdout)
    if form != "table":
        return
    for analysis in analyses:
        named = f"{printable(analysis.name)}: " if len(analyses) > 1 else ""
        for line in told(analysis):
            click.echo(named + line)
    tests = results.tests.filter(results.tests["regime"].is_null() & tested)
    for line in (*results.lines, *tests_told(tests)):
        click.echo(line)
