"""`haloscope bench stencil` and `haloscope bench overlap`."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from haloscope.cli._messages import progress
from haloscope.cli._options import sizes

__all__ = ["overlap", "stencil"]

_STENCIL_EXAMPLES = """\b
Examples:
  haloscope bench stencil
  haloscope bench stencil -n 8 --layer both -m 65536:8388608
  haloscope bench stencil --dims 4 --layer on --protocol static --format csv
  haloscope bench stencil -n 4 --mpiexec "mpiexec --hostfile hosts" --pause 0.02
"""
_OVERLAP_EXAMPLES = """\b
Examples:
  haloscope bench overlap -n 4 -m 262144:2097152
  haloscope bench overlap --layer both --null-buffers --test-every 0
"""
_PROTOCOLS = ("dynamic", "get", "coop", "steal", "static", "off")
_Command = TypeVar("_Command", bound=Callable[..., Any])
_OPTIONS = (
    click.option(
        "-n",
        "--ranks",
        type=click.IntRange(2),
        metavar="N",
        help="Number of processes; as many as this machine has cores for, if not said.",
    ),
    click.option(
        "-m",
        "--message-size",
        "sizes",
        callback=sizes,
        default="1024:8388608",
        show_default=True,
        metavar="[MIN:]MAX|2,4096",
        help="OSU: bytes to each neighbour, doubled from MIN (1) to MAX.",
    ),
    click.option(
        "-i",
        "--iterations",
        type=click.IntRange(1),
        help="OSU: measured exchanges; 1000, for more than 8 KiB 100, if not said.",
    ),
    click.option(
        "-x",
        "--warmup",
        type=click.IntRange(0),
        help="OSU: exchanges before them; 100, for more than 8 KiB 10, if not said.",
    ),
    click.option("-f", "--full", is_flag=True, help="OSU: minimum, maximum, iterations too."),
    click.option(
        "--dims",
        type=click.Choice(("1", "2", "3", "4")),
        default="3",
        show_default=True,
        help="Dimensions of the grid of ranks; 4 is MILC's pattern.",
    ),
    click.option("--periodic", is_flag=True, help="The grid has no borders."),
    click.option(
        "--memory",
        type=click.Choice(("alloc", "malloc", "share-heap")),
        default="alloc",
        show_default=True,
        help="Buffers of MPI_Alloc_mem, of malloc, or of malloc in memory that the layer shares.",
    ),
    click.option(
        "--layer",
        type=click.Choice(("off", "on", "both")),
        default="off",
        show_default=True,
        help="The protocol layer; both: launches with and without it by turns.",
    ),
    click.option("--protocol", type=click.Choice(_PROTOCOLS), help="The layer's, instead of its own choice."),
    click.option(
        "--null-buffers", is_flag=True, help="The layer owns the receive buffers (MPIX_Get_recv_buf)."
    ),
    click.option(
        "--rounds",
        type=click.IntRange(1),
        help="Launches of each kind; 1, with --layer both 10, if not said.",
    ),
    click.option(
        "--pause",
        type=click.FloatRange(0),
        default=0.0,
        metavar="SECONDS",
        help="Wait before each exchange, so that shaped links are as before.",
    ),
    click.option("--mpiexec", metavar="COMMAND", help="The launcher with its options, instead of mpiexec."),
    click.option(
        "--time-limit",
        "limit",
        type=click.FloatRange(0, min_open=True),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="For each size of a launch.",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(("table", "csv", "json")),
        default="table",
        show_default=True,
        help="Medians; every sample (csv); medians with samples (json).",
    ),
)


def _common(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(epilog=_STENCIL_EXAMPLES)
@_common
def stencil(**asked: Any) -> None:
    """Measure exchanges of a stencil: all neighbours, those on other nodes only, on this node only.

    The ideal is the longer one of the last two: neither would wait for the other.
    """
    _measure("stencil", **asked)


@click.command(epilog=_OVERLAP_EXAMPLES)
@_common
@click.option(
    "--test-every",
    type=click.FloatRange(0),
    default=1e-4,
    show_default=True,
    metavar="SECONDS",
    help="Computation between two calls of MPI_Testall; 0: none.",
)
@click.option("--late", is_flag=True, help="Receives are posted after the computation.")
def overlap(**asked: Any) -> None:
    """Measure how much of a stencil's exchange a computation hides that takes as long.

    Overlap is 100 (1 - (overall - compute) / exchange) %.
    """
    _measure("overlap", **asked)


def _measure(
    test: str,
    *,
    form: str,
    full: bool,
    layer: str,
    mpiexec: str | None,
    ranks: int | None,
    rounds: int | None,
    dims: str,
    **asked: Any,
) -> None:
    from haloscope.hide import build_protocols_for
    from haloscope.predict.bench import StencilMethod as Method
    from haloscope.predict.bench import launcher_of, library
    from haloscope.predict.bench import measure_stencil as measure
    from haloscope.predict.bench import write_stencil as write

    layers = ("off", "on") if layer == "both" else (layer,)
    method = Method(
        test,
        ranks=ranks or max(len(os.sched_getaffinity(0)), 2),
        dims=int(dims),
        layers=layers,
        rounds=rounds or (10 if layer == "both" else 1),
        **asked,
    ).checked()
    launcher = launcher_of(shlex.split(mpiexec or ""))
    # A batch system's TERM must not leave ranks behind either.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress(method.rounds * len(layers)) as step:
            result = measure(library(launcher), method, step, build_protocols_for)
    finally:
        signal.signal(signal.SIGTERM, before)
    write(result, form, full, sys.stdout)
