"""`haloscope bench stencil` and `haloscope bench overlap`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from haloscope.cli.console import progress
from haloscope.cli.measuring import Launching, format_option, full_option, interruptible, time_limit
from haloscope.cli.options import sizes

if TYPE_CHECKING:
    from haloscope.predict.bench import StencilMethod as Method

__all__ = ["overlap", "stencil"]

_STENCIL_EXAMPLES = """\b
Examples:
  haloscope bench stencil
  haloscope bench stencil -n 8 --shm both -m 65536:8388608
  haloscope bench stencil --dims 4 --format csv -- mpiexec --hostfile hosts
"""
_OVERLAP_EXAMPLES = """\b
Examples:
  haloscope bench overlap -n 4 -m 262144:2097152
  haloscope bench overlap --shm both -- mpiexec --hostfile hosts
"""
_Command = TypeVar("_Command", bound=Callable[..., Any])
_OPTIONS = (
    click.option(
        "-n",
        "ranks",
        type=click.IntRange(2),
        metavar="N",
        help="Number of processes. The default is the number of cores of this machine.",
    ),
    click.option(
        "-m",
        "--message-size",
        "sizes",
        callback=sizes,
        default="1024:8388608",
        show_default=True,
        metavar="[MIN:]MAX|2,4096",
        help="As OSU: bytes to each neighbour, doubled from MIN (1) to MAX, or a list.",
    ),
    click.option(
        "-i",
        "--iterations",
        type=click.IntRange(1),
        metavar="N",
        help="As OSU: measured exchanges. The default is 1000, for messages over 8 KiB 100.",
    ),
    click.option(
        "-x",
        "--warmup",
        type=click.IntRange(0),
        metavar="N",
        help="As OSU: exchanges before them. The default is 100, for messages over 8 KiB 10.",
    ),
    full_option,
    click.option(
        "--dims",
        type=click.Choice(("1", "2", "3", "4")),
        default="3",
        show_default=True,
        help="Dimensions of the grid of ranks. 4 is MILC's pattern.",
    ),
    click.option(
        "--shm",
        type=click.Choice(("off", "on", "both")),
        default="off",
        show_default=True,
        help="Measure without the shm library, with it, or in launches of both by turns.",
    ),
    click.option(
        "--rounds",
        type=click.IntRange(1),
        metavar="N",
        help="Launches of each kind. The default is 1, with --shm both 10.",
    ),
    format_option("table", "csv", "json", text="Print medians, every sample, or medians with samples."),
)


def _common(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _verb(what: Literal["stencil", "overlap"], text: str, examples: str) -> click.Command:
    """Return the command that measures this; both take the same."""

    @click.command(what, cls=Launching, help=text, epilog=examples)
    @_common
    def verb(
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
        from haloscope.predict.bench import StencilMethod as Method

        method = Method(what, sizes, ranks, int(dims), iterations=iterations, warmup=warmup, rounds=rounds)
        _measure(method, shm, launcher, form, full)

    return verb


def _measure(method: Method, shm: str, launcher: tuple[str, ...], form: str, full: bool) -> None:
    from haloscope.hide import build_shm_library_for
    from haloscope.predict.bench import stencil as measured
    from haloscope.predict.bench import write_stencil

    series = ("off", "on") if shm == "both" else (shm,)
    method = replace(method, shm=series, time_limit=time_limit())
    with interruptible():
        result = measured(method, launcher=launcher, progress=progress, build_shm=build_shm_library_for)
    write_stencil(result, form, full, sys.stdout)


stencil = _verb(
    "stencil",
    """Measure exchanges of a stencil: all neighbours, those on other nodes only, on this node only.

    The ideal is the longer one of the last two: neither would wait for the other. LAUNCHER starts the
    ranks instead of mpiexec.
    """,
    _STENCIL_EXAMPLES,
)
overlap = _verb(
    "overlap",
    """Measure how much of a stencil's exchange a computation hides that takes as long.

    Overlap is 100 (1 - (overall - compute) / exchange) %. LAUNCHER starts the ranks instead of mpiexec.
    """,
    _OVERLAP_EXAMPLES,
)
