"""`haloscope bench halo`."""

from __future__ import annotations

import sys

import click

from haloscope.cli.console import progress
from haloscope.cli.measuring import (
    Launching,
    full_option,
    interruptible,
    iterations_option,
    sizes_option,
    time_limit,
    warmup_option,
)
from haloscope.cli.options import format_option

_EXAMPLES = """\b
Examples:
  haloscope bench halo
  haloscope bench halo -n 8 --shm both -m 65536:8388608
  haloscope bench halo --dims 4 --format csv -- mpiexec --hostfile hosts
  haloscope bench halo --overlap -n 4 -m 262144:2097152
"""


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.option(
    "--overlap", is_flag=True, help="Measure how much of the exchange a computation of equal length hides."
)
@click.option(
    "-n",
    "ranks",
    type=click.IntRange(2),
    metavar="N",
    help="Number of ranks. Default: the number of cores of this machine.",
)
@sizes_option("1024:8388608")
@iterations_option(None, " Default: 1000, above 8 KiB 100.")
@warmup_option(None, " Default: 100, above 8 KiB 10.")
@full_option
@click.option(
    "--dims",
    type=click.Choice(("1", "2", "3", "4")),
    default="3",
    help="Dimensions of the grid of ranks. 4 is the pattern of MILC.",
)
@click.option(
    "--shm",
    type=click.Choice(("off", "on", "both")),
    default="off",
    help="Measure without the shm library, with it, or both alternately.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    metavar="N",
    help="Number of launches of each kind. Default: 1, with --shm both 10.",
)
@format_option("Print medians, every sample (csv), or medians with samples (json).")
def halo(
    overlap: bool,
    ranks: int | None,
    sizes: list[int],
    iterations: int | None,
    warmup: int | None,
    full: bool,
    dims: str,
    shm: str,
    rounds: int | None,
    form: str,
    launcher: tuple[str, ...],
) -> None:
    """Measure halo exchanges: with all neighbours, only on other nodes, and only on this node.

    The ideal is the longer time of the last two. The overlap is 100 (1 - (overall - compute) / exchange) %.
    LAUNCHER starts the ranks instead of mpiexec.
    """
    from haloscope.hide import build_shm_library_for
    from haloscope.predict.bench import HaloMethod, write_halo
    from haloscope.predict.bench import halo as measured

    method = HaloMethod(
        "overlap" if overlap else "halo",
        sizes,
        ranks,
        int(dims),
        iterations=iterations,
        warmup=warmup,
        shm=("off", "on") if shm == "both" else (shm,),
        rounds=rounds,
        time_limit=time_limit(),
    )
    with interruptible():
        result = measured(method, launcher=launcher, progress=progress, build_shm=build_shm_library_for)
    write_halo(result, form, full, sys.stdout)
