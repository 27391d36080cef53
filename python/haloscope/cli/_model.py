"""`haloscope model`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

__all__ = ["model"]

_EXAMPLES = """\b
Examples:
  haloscope model --machine orfeo --collective bcast
  haloscope model --machine orfeo --collective reduce --algorithm binary,binomial --ranks 8,16,32
  haloscope model --machine orfeo --collective bcast,reduce --ranks 2:256 -o orfeo.html
  haloscope model --machine mine.yaml --collective bcast --bytes 2:1048576 --formula hockney
"""
_MOST = 1 << 40
_MOST_VALUES = 1 << 16


class _Numbers(click.ParamType[tuple[int, ...]]):
    """`8,16` or `2:256`: all from 2 to 256, or with `doubling` 2, 4, 8 …"""

    name = "numbers"

    def __init__(self, doubling: bool) -> None:
        self._doubling = doubling

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        numbers: dict[int, None] = {}
        for part in str(value).split(","):
            ends = re.fullmatch(r"([0-9]{1,13})(?::([0-9]{1,13}))?", part.strip())
            if not ends:
                self.fail(f"{value!r} is not like 8,16 or 2:256", param, ctx)
            first, last = int(ends[1]), int(ends[2] or ends[1])
            if first > last or (first == 0 and self._doubling) or last > _MOST:
                self.fail(f"{part.strip()!r} is an empty, endless or too long range", param, ctx)
            if not self._doubling and last - first > _MOST_VALUES:
                self.fail(f"{part.strip()!r} is more than {_MOST_VALUES} numbers", param, ctx)
            numbers |= dict.fromkeys(self._range(first, last))
        return tuple(numbers)

    def _range(self, first: int, last: int) -> list[int]:
        if not self._doubling:
            return list(range(first, last + 1))
        steps = (last // first).bit_length()
        return [first << step for step in range(steps)]


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
    "--ranks", type=_Numbers(doubling=False), metavar="2:256|8,16",
    help="Numbers of processes; all that the machine has cores for, if not said.",
)  # fmt: skip
@click.option(
    "--bytes", "sizes", type=_Numbers(doubling=True), default=(2,), metavar="2|2:1048576",
    help="Sizes of the message; 2:16 is 2, 4, 8, 16.  [default: 2]",
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
    algorithms = _words(algorithm)
    rows = pl.concat(
        [predict.model(described, name, algorithms, **asked) for name in _words(collective)]
    )
    if output is None:
        explain.render(rows, form, "model", sys.stdout)
        return
    segments = f", segments of {asked['segment']} B" if asked["segment"] else ""
    made = f"formula {asked['formula']}, {asked['chains']} chains{segments}"
    predict.write_page(rows, described, output, about={"Made with": made})


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word.strip() for word in text.split(",")))
