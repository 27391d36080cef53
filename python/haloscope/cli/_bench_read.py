"""`haloscope bench read`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from haloscope.cli._bench_output import output_options, print_sweep

__all__ = ["read"]

_EXAMPLES = """\b
Examples:
  haloscope bench read sweep.jsonl --format table
  haloscope bench read osu_allreduce.txt -n 64 --format csv
  haloscope bench read imb.txt sweep.jsonl --page both.html
"""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option(
    "-n",
    "--ranks",
    type=click.IntRange(1),
    metavar="N",
    help="The number of processes, which OSU's output does not tell.",
)
@output_options
def read(files: Sequence[Path], ranks: int | None, **printed: Any) -> None:
    """Read measurements of collectives: sweeps, output of the OSU benchmarks or of IMB-MPI1."""
    from haloscope.predict.bench import joined, read_any

    print_sweep(joined([read_any(path, ranks) for path in files]), **printed)
