"""How `haloscope bench` prints the points of collectives."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from haloscope.predict.bench import Sweep

__all__ = ["output_options", "percentiles", "print_sweep"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def percentiles(_context: click.Context, _option: click.Parameter, text: str | None) -> list[float]:
    """`50,99`; nothing is no percentiles."""
    try:
        values = [float(word) for word in (text or "").split(",") if word]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not like 50,90,99") from None
    if any(not 0 <= value <= 100 for value in values):
        raise click.BadParameter(f"{text!r}: percentiles are from 0 to 100")
    return values


def output_options(command: _Command) -> _Command:
    """The options that say how points are printed."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option("-f", "--full", is_flag=True, help="OSU: minimum, maximum, iterations too."),
    click.option(
        "-z",
        "--tail-lat",
        "tails",
        callback=percentiles,
        metavar="[P1,P2]",
        is_flag=False,
        flag_value="50,90,99",
        default=None,
        help="OSU: percentiles of the iterations too; 50,90,99 if none are named.",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(("osu", "table", "csv", "json")),
        default="osu",
        show_default=True,
        help="As OSU prints, a table with medians, or for programs: one row a sample (csv), one "
        "record a point with its samples (json).",
    ),
    click.option("--summary", is_flag=True, help="csv, json: points without their samples."),
    click.option(
        "--page",
        type=click.Path(path_type=Path),
        metavar="PAGE.html",
        help="Write a page with figures as well; an existing one is replaced.",
    ),
)


def print_sweep(
    sweep: Sweep, *, form: str, full: bool, tails: Sequence[float], summary: bool, page: Path | None
) -> None:
    """Print on standard output, and write the page if one is asked for."""
    from haloscope import explain
    from haloscope.predict.bench import write_osu

    sweep = sweep.sorted()
    if page is not None:
        from haloscope.predict.bench import write_page

        write_page(sweep, page)
    if form == "osu":
        write_osu(sweep, sys.stdout, full, tails)
    elif form == "table" or summary:
        explain.render(sweep.points, form, "points", sys.stdout)
    elif form == "json":
        _write_json(sweep)
    else:
        _write_csv(sweep)


def _write_json(sweep: Sweep) -> None:
    sys.stdout.write("[")
    for index, row in enumerate(sweep.points.to_dicts()):
        record = row | {"samples_ns": sweep.samples(index).tolist()}
        sys.stdout.write((",\n " if index else "") + json.dumps(record))
    sys.stdout.write("]\n")


def _write_csv(sweep: Sweep) -> None:
    """One row a sample; points without samples have one row, too, with their status."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    names = [name for name in sweep.points.columns if name not in _SUMMARISED]
    writer.writerow([*names, "rank", "iteration", "time"])
    for index, row in enumerate(sweep.points.to_dicts()):
        words = [row[name] for name in names]
        samples = sweep.samples(index)
        if not samples.size:
            writer.writerow([*words, None, None, row["time"]])
        for rank, values in enumerate(samples.tolist() if samples.size else []):
            writer.writerows([*words, rank, at, f"{v}e-9"] for at, v in enumerate(values))


_SUMMARISED = frozenset({"time", "time_min", "time_max", "median", "ci_low", "ci_high"})
