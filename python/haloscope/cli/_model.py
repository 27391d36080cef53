"""`haloscope model`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from haloscope.cli._progress import progress

__all__ = ["model"]

_EXAMPLES = """\b
Examples:
  haloscope model --machine orfeo --collective bcast
  haloscope model --machine orfeo --collective reduce --algorithm binary,binomial --ranks 8,16,32
  haloscope model --machine orfeo --collective bcast,reduce --ranks 2:256 -o orfeo.html
  haloscope model --machine mine.yaml --collective bcast --bytes 2:1048576 --formula hockney
"""
_MOST_VALUES = 1 << 16
_RANGE = re.compile(r"([0-9]{1,13})(?::([0-9]{1,13}))?")


def _ranks(_context: click.Context, _option: click.Parameter, text: str | None) -> list[int] | None:
    """`8,16` or `2:256`, which is all from 2 to 256."""
    if text is None:
        return None
    numbers: list[int] = []
    for first, last in _ends(text):
        if last - first > _MOST_VALUES:
            raise click.BadParameter(f"{text!r} is more than {_MOST_VALUES} numbers")
        numbers += range(first, last + 1)
    return list(dict.fromkeys(numbers))


def _sizes(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """`2,64` or `2:16`, which is 2, 4, 8, 16."""
    sizes: list[int] = []
    for first, last in _ends(text):
        if first == 0:
            raise click.BadParameter("a message has 1 byte or more")
        sizes += (first << step for step in range((last // first).bit_length()))
    return list(dict.fromkeys(sizes))


def _ends(text: str) -> list[tuple[int, int]]:
    """The first and last number of each range; they are the same for a number alone."""
    parts = [_RANGE.fullmatch(part.strip()) for part in text.split(",")]
    ends = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
    if len(ends) < len(parts) or any(first > last for first, last in ends):
        raise click.BadParameter(f"{text!r} is not like 8,16 or 2:256")
    return ends


@click.command(epilog=_EXAMPLES)
@click.option(
    "--machine", required=True, metavar="NAME|FILE.yaml",
    help="The machine: one that comes with Haloscope (orfeo), or a file.",
)  # fmt: skip
@click.option(
    "--collective", required=True, metavar="NAME[,NAME]", help="The collectives: bcast, reduce."
)
@click.option(
    "--algorithm", default="all", show_default=True, metavar="NAME[,NAME]",
    help="bcast: pipeline, binomial, chain; reduce: binary, binomial, rabenseifner.",
)  # fmt: skip
@click.option(
    "--ranks", callback=_ranks, metavar="2:256|8,16",
    help="Numbers of processes; all that the machine has cores for, if not said.",
)  # fmt: skip
@click.option(
    "--bytes", "sizes", callback=_sizes, default="2", show_default=True, metavar="2|2:1048576",
    help="Sizes of the message; 2:16 is 2, 4, 8, 16.",
)  # fmt: skip
@click.option(
    "--formula", default="paper", show_default=True, metavar="paper|hockney",
    help="The paper's formulas (latency only), or models after Open MPI's code.",
)  # fmt: skip
@click.option(
    "--chains", type=click.IntRange(1), default=4, show_default=True,
    help="Parallel chains of the algorithm chain.",
)  # fmt: skip
@click.option(
    "--segment", type=click.IntRange(0), default=0, show_default=True, metavar="BYTES",
    help="Bytes of a segment, for trees with --formula hockney; 0: not in segments.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(("table", "csv", "json")), default="table",
    show_default=True, help="For people, or for programs.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="PAGE.html",
    help="Write a page with the figures instead; an existing one is replaced.",
)  # fmt: skip
def model(
    machine: str, collective: str, algorithm: str, form: str, output: Path | None, **asked: Any
) -> None:
    """Predict what collectives take, from the latencies of a machine."""
    import polars as pl

    from haloscope import explain, predict

    described = predict.load_machine(machine)
    wanted = [(name, one) for name in _words(collective) for one in _algorithms(name, algorithm)]
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


def _algorithms(collective: str, asked: str) -> Sequence[str]:
    from haloscope.predict import ALGORITHMS

    # An unknown collective is left for the model to refuse.
    return ALGORITHMS.get(collective, (asked,)) if asked == "all" else _words(asked)


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word.strip() for word in text.split(",")))
