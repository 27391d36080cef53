"""`haloscope bench halo`."""

from __future__ import annotations

import sys

import click

from haloscope.cli.console import progress
from haloscope.cli.measuring import Launching, format_option, full_option, interruptible, time_limit
from haloscope.cli.options import sizes

__all__ = ["halo"]

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
    help="Number of processes. The default is the number of cores of this machine.",
)
@click.option(
    "-m",
    "--message-size",
    "sizes",
    callback=sizes,
    default="1024:8388608",
    show_default=True,
    metavar="[MIN:]MAX|2,4096",
    help="As OSU: bytes to each neighbour, doubled from MIN (1) to MAX, or a list.",
)
@click.option(
    "-i",
    "--iterations",
    type=click.IntRange(1),
    metavar="N",
    help="As OSU: measured exchanges. The default is 1000, for messages over 8 KiB 100.",
)
@click.option(
    "-x",
    "--warmup",
    type=click.IntRange(0),
    metavar="N",
    help="As OSU: exchanges before them. The default is 100, for messages over 8 KiB 10.",
)
@full_option
@click.option(
    "--dims",
    type=click.Choice(("1", "2", "3", "4")),
    default="3",
    show_default=True,
    help="Dimensions of the grid of ranks. 4 is MILC's pattern.",
)
@click.option(
    "--shm",
    type=click.Choice(("off", "on", "both")),
    default="off",
    show_default=True,
    help="Measure without the shm library, with it, or in launches of both by turns.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    metavar="N",
    help="Launches of each kind. The default is 1, with --shm both 10.",
)
@format_option("table", "csv", "json", text="Print medians, every sample, or medians with samples.")
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
    """Measure halo exchanges: all neighbours, those on other nodes only, those on this node only.

    The ideal is the longer one of the last two: neither would wait for the other. The overlap is 100
    (1 - (overall - compute) / exchange) %. LAUNCHER starts the ranks instead of mpiexec.
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
