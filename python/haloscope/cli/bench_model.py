"""`haloscope bench model` and `haloscope bench fit`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.cli.console import progress
from haloscope.cli.measuring import ranks_option, sizes_option, words
from haloscope.cli.options import FILE, format_option, output_option

if TYPE_CHECKING:
    import polars as pl

_MODEL_EXAMPLES = """\b
Examples:
  haloscope bench model orfeo bcast
  haloscope bench model orfeo reduce --algorithm binary,binomial -n 8,16,32
  haloscope bench model orfeo bcast reduce -n 2:256 -o orfeo.html
  haloscope bench model mine.yaml bcast -m 2:1048576 --formula hockney
  haloscope bench model fitted.yaml allreduce --formula fitted -n 8,64
  haloscope bench model fitted.yaml sweep.jsonl -o measured.html
"""
_FIT_EXAMPLES = """\b
Examples:
  haloscope bench fit mine.yaml sweep.jsonl -o fitted.yaml
  haloscope bench fit mine.yaml bcast.jsonl reduce.jsonl --format csv
"""


@click.command(epilog=_MODEL_EXAMPLES)
@click.argument("machine", metavar="MACHINE|FILE.yaml")
@click.argument("collectives", nargs=-1, metavar="COLLECTIVE...|SWEEP.jsonl...")
@click.option(
    "--algorithm",
    "algorithms",
    callback=words,
    default="all",
    metavar="NAME[,NAME]",
    help="Algorithms of the formula. paper has pipeline, binomial and chain for bcast, and binary, binomial "
    "and rabenseifner for reduce.",
)
@ranks_option(". Default: 2 to all cores of the machine, doubled.")
@sizes_option("2:2")
@click.option(
    "--formula",
    default="paper",
    metavar="paper|hockney|fitted",
    help="Formulas of Derin (2025), with latency only, Hockney's model of the libraries' algorithms, or "
    "models fitted to measurements of this machine.",
)
@format_option()
@output_option("PAGE.html", "Write a page with figures instead of the table. An existing page is replaced.")
def model(
    machine: str,
    collectives: tuple[str, ...],
    algorithms: list[str],
    ranks: list[int] | None,
    sizes: list[int],
    formula: str,
    form: str,
    output: Path | None,
) -> None:
    """Predict the times of collectives on a machine, from its model.

    MACHINE is a name that is included (orfeo) or a file of bench p2p. COLLECTIVE is bcast or reduce; the
    other formulas also have allreduce, alltoall and others. SWEEP compares measurements with the fitted
    models.
    """
    measured = [Path(word) for word in collectives if Path(word).suffix]
    listed = [word for word in collectives if not Path(word).suffix]
    names = list(dict.fromkeys(word for text in listed for word in text.split(",")))
    if measured:
        from haloscope.predict.bench import read_points

        points, _ = read_points(measured, names, [] if algorithms == ["all"] else algorithms)
        _compare(machine, points, form, output)
    elif not names:
        raise click.UsageError("name a collective after the machine, such as orfeo bcast")
    else:
        rows = _predict_times(machine, names, algorithms, ranks, sizes, formula)
        _show(rows, machine, formula, form, output)


@click.command(epilog=_FIT_EXAMPLES)
@click.argument("machine", metavar="MACHINE|FILE.yaml")
@click.argument("sweeps", nargs=-1, required=True, type=FILE, metavar="SWEEP.jsonl...")
@output_option("MACHINE.yaml", "Write the machine with its fitted models to this file. [default: none]")
@format_option()
def fit(machine: str, sweeps: tuple[Path, ...], output: Path | None, form: str) -> None:
    """Fit models of a machine's collectives to sweeps of bench collective, and print their errors.

    MACHINE is a name that is included (orfeo) or a file of bench p2p. Each measured algorithm gets a model.
    """
    from haloscope import explain, predict
    from haloscope.predict.bench import read_points

    points, library = read_points(sweeps, [], [])
    described = predict.load_machine(machine)
    with progress(points.select("collective", "algorithm").n_unique()) as step:
        fitted = predict.fit_points(points, described, library=library, step=step)
    if output is not None:
        predict.save_fitted(machine, fitted, output)
    rows = predict.errors(described.model_copy(update={"fitted": fitted}), points)
    explain.render(predict.error_summary(rows), form, predict.ERRORS_TABLE, sys.stdout)


def _compare(machine: str, points: pl.DataFrame, form: str, output: Path | None) -> None:
    from haloscope import explain, predict

    described = predict.load_machine(machine)
    rows = predict.errors(described, points)
    if output is None:
        explain.render(predict.error_table(rows), form, predict.MODEL_TABLE, sys.stdout)
    else:
        predict.write_measured_page(rows, described, output)


def _predict_times(
    machine: str,
    names: list[str],
    algorithms: list[str],
    ranks: list[int] | None,
    sizes: list[int],
    formula: str,
) -> pl.DataFrame:
    import polars as pl

    from haloscope import predict

    described = predict.load_machine(machine)
    every = algorithms == ["all"]
    known = {name: predict.algorithms_of(formula, name, described) if every else algorithms for name in names}
    parts = []
    with progress(sum(map(len, known.values()))) as step:
        for name, usable in known.items():
            for algorithm in usable:
                step(f"{name} {algorithm}")
                parts.append(predict.model(described, name, [algorithm], ranks, sizes, formula=formula))
    return pl.concat(parts)


def _show(rows: pl.DataFrame, machine: str, formula: str, form: str, output: Path | None) -> None:
    from haloscope import explain, predict

    if output is None:
        explain.render(rows, form, predict.MODEL_TABLE, sys.stdout)
    else:
        about = {"Made with": f"formula {formula}"}
        predict.write_page(rows, predict.load_machine(machine), output, about=about)
