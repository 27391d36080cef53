"""`haloscope model`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from haloscope.cli._messages import progress
from haloscope.cli._options import counts, doublings

if TYPE_CHECKING:
    import polars as pl

__all__ = ["model"]

_EXAMPLES = """\b
Examples:
  haloscope model --machine orfeo --collective bcast
  haloscope model --machine orfeo --collective reduce --algorithm binary,binomial --ranks 8,16,32
  haloscope model --machine orfeo --collective bcast,reduce --ranks 2:256 -o orfeo.html
  haloscope model --machine mine.yaml --collective bcast --bytes 2:1048576 --formula hockney
  haloscope model --machine mine.yaml --fit sweep.jsonl -o fitted.yaml
  haloscope model --machine fitted.yaml --formula fitted --collective allreduce --ranks 8,64
  haloscope model --machine fitted.yaml --measured sweep.jsonl -o measured.html
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--machine",
    required=True,
    metavar="NAME|FILE.yaml",
    help="The machine: one that comes with Haloscope (orfeo), or a file.",
)
@click.option(
    "--collective",
    metavar="NAME[,NAME]",
    help="The collectives: bcast, reduce; with other formulas allreduce, alltoall … too.",
)
@click.option(
    "--algorithm",
    default="all",
    show_default=True,
    metavar="NAME[,NAME]",
    help="By the paper: pipeline, binomial, chain; binary, binomial, rabenseifner.",
)
@click.option(
    "--ranks",
    callback=counts,
    metavar="2:256|8,16",
    help="Numbers of processes; all that the machine has cores for, if not said.",
)
@click.option(
    "--bytes",
    "sizes",
    callback=doublings,
    default="2",
    show_default=True,
    metavar="2|2:1048576",
    help="Sizes of the message; 2:16 is 2, 4, 8, 16.",
)
@click.option(
    "--formula",
    default="paper",
    show_default=True,
    metavar="paper|hockney|fitted",
    help="The paper's formulas (latency only), models after the libraries' code, or those fitted.",
)
@click.option(
    "--chains",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Parallel chains of the algorithm chain.",
)
@click.option(
    "--segment",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="BYTES",
    help="Bytes of a segment, where algorithms have them; 0: not in segments.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "csv", "json")),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
@click.option(
    "--fit",
    "sweeps",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="SWEEP.jsonl",
    help="Fit every algorithm that haloscope bench collective measured; -o MACHINE.yaml keeps it.",
)
@click.option(
    "--measured",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="SWEEP.jsonl",
    help="Set what was measured against the fitted models: a table, or with -o a page.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PAGE.html|MACHINE.yaml",
    help="Write a page with the figures instead; an existing one is replaced.",
)
def model(
    machine: str,
    collective: str | None,
    algorithm: str,
    form: str,
    output: Path | None,
    *,
    sweeps: tuple[Path, ...],
    measured: tuple[Path, ...],
    **asked: Any,
) -> None:
    """Predict what collectives take, from a model of the machine."""
    if sweeps or measured:
        points, library = _points(sweeps or measured, collective, algorithm)
        if sweeps:
            _fit(machine, points, library, form, output)
        else:
            _compare(machine, points, form, output)
    elif collective is None:
        raise click.UsageError("say which with --collective, such as --collective bcast,reduce")
    else:
        _predicted(machine, collective, algorithm, asked, form=form, output=output)


def _fit(machine: str, points: pl.DataFrame, library: str, form: str, output: Path | None) -> None:
    from haloscope import explain, predict

    described = predict.load_machine(machine)
    with progress(points.select("collective", "algorithm").n_unique()) as step:
        fitted = predict.fit_points(points, described, library=library, step=step)
    if output is not None:
        predict.save_fitted(machine, fitted, output)
    rows = predict.errors(described.model_copy(update={"fitted": fitted}), points)
    explain.render(predict.error_summary(rows), form, "errors", sys.stdout)


def _compare(machine: str, points: pl.DataFrame, form: str, output: Path | None) -> None:
    from haloscope import explain, predict

    described = predict.load_machine(machine)
    rows = predict.errors(described, points)
    if output is None:
        explain.render(predict.error_table(rows), form, "model", sys.stdout)
    else:
        predict.write_measured_page(rows, described, output)


def _points(paths: tuple[Path, ...], collective: str | None, algorithm: str) -> tuple[pl.DataFrame, str]:
    """What was measured, of the collectives and algorithms asked for, and the library's name."""
    import polars as pl

    from haloscope.predict.bench import Sweep

    read = [Sweep.read(path) for path in paths]
    points = pl.concat([sweep.points for sweep in read])
    if collective is not None:
        points = points.filter(pl.col("collective").is_in(_words(collective)))
    if algorithm != "all":
        points = points.filter(pl.col("algorithm").is_in(_words(algorithm)))
    return points, str(read[0].environment.get("library") or "")


def _predicted(
    machine: str, collective: str, algorithm: str, asked: dict[str, Any], *, form: str, output: Path | None
) -> None:
    import polars as pl

    from haloscope import explain, predict

    described = predict.load_machine(machine)
    wanted = [
        (name, one)
        for name in _words(collective)
        for one in (
            predict.algorithms_of(asked["formula"], name, described)
            if algorithm == "all"
            else _words(algorithm)
        )
    ]
    parts = []
    with progress(len(wanted)) as step:
        for name, one in wanted:
            step(f"{name} {one}")
            parts.append(predict.model(described, name, [one], **asked))
    rows = pl.concat(parts)
    if output is None:
        explain.render(rows, form, "model", sys.stdout)
        return
    segments = f", segments of {asked['segment']} B" if asked["segment"] else ""
    made = f"formula {asked['formula']}, {asked['chains']} chains{segments}"
    predict.write_page(rows, described, output, about={"Made with": made})


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word.strip() for word in text.split(",")))
