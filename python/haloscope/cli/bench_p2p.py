"""`haloscope bench p2p`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.cli.console import say
from haloscope.cli.measuring import (
    Launching,
    check_place,
    full_option,
    interruptible,
    iterations_option,
    sizes_option,
    tails_option,
    time_limit,
    warmup_option,
)
from haloscope.cli.options import format_option, output_option

if TYPE_CHECKING:
    from haloscope.predict.bench import P2pMeasured as Measured
    from haloscope.predict.bench import P2pPoint as Point

_BY_SIZE = " Default: by test and size."
_EXAMPLES = """\b
Examples:
  haloscope bench p2p
  haloscope bench p2p -m 2:2 -i 1000 -x 100
  haloscope bench p2p bw bibw --pair 0,1
  haloscope bench p2p -o machine.yaml
  haloscope bench p2p --nodes 2 --pair all -o cluster.yaml -- mpiexec --hostfile hosts
"""


def _tests(_context: click.Context, _option: click.Parameter, names: Sequence[str]) -> list[str]:
    from haloscope.predict.bench import P2P_TESTS as TESTS

    if "all" in names:
        return list(TESTS)
    for name in names:
        if name not in TESTS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(TESTS)}, all")
    return list(dict.fromkeys(names))


def _pairs(
    _context: click.Context, _option: click.Parameter, texts: Sequence[str]
) -> tuple[list[tuple[int, int]], bool]:
    """Return the pairs of cores that are named, and whether all are asked for."""
    pairs = []
    for text in texts:
        parts = text.split(",")
        if text == "all":
            continue
        if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
            raise click.BadParameter(f"{text!r} is not like 0,8: the numbers of two cores")
        pairs.append((int(parts[0]), int(parts[1])))
    return pairs, "all" in texts


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.argument("tests", nargs=-1, callback=_tests, metavar="[TEST...]")
@sizes_option("1:4194304")
@iterations_option(None, _BY_SIZE)
@warmup_option(None, _BY_SIZE)
@click.option(
    "-W",
    "--window-size",
    "window",
    type=click.IntRange(1, 1 << 16),
    metavar="N",
    default=64,
    help="As OSU: number of messages in flight in bw, bibw and mbw_mr.",
)
@click.option("-c", "--validation", "check", is_flag=True, help="As OSU: check the data.")
@full_option
@tails_option
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    callback=_pairs,
    metavar="CORE,CORE|all",
    help="Measure between these two cores, by hwloc's numbers, counted through all nodes. all also measures "
    "the latency of every pair. Can be repeated.",
)
@click.option(
    "--nodes",
    type=click.IntRange(1),
    metavar="N",
    envvar="SLURM_JOB_NUM_NODES",
    default=1,
    show_default=False,
    help="Number of nodes, all like this one. Default in a Slurm job: its number of nodes; else 1.",
)
@format_option("Print as OSU does, or every sample for programs.", ("osu", "csv", "json"))
@output_option(
    "MACHINE.yaml", "Measure what a machine model needs, and write the model. An existing model is replaced."
)
def p2p(
    tests: list[str],
    sizes: list[int],
    iterations: int | None,
    warmup: int | None,
    window: int,
    check: bool,
    full: bool,
    tails: list[float],
    pairs: tuple[list[tuple[int, int]], bool],
    nodes: int,
    form: str,
    output: Path | None,
    launcher: tuple[str, ...],
) -> None:
    """Measure messages between two cores or nodes, and fit a model of the machine to them.

    TEST is latency (the default), bw, bibw, mbw_mr, overhead, reduce, or all. By default core 0
    sends to one core of each level of the topology. LAUNCHER starts the ranks instead of mpiexec.
    """
    from haloscope.predict.bench import P2pMethod as Method
    from haloscope.predict.bench import p2p as measured

    limit = time_limit()
    method = Method(
        tuple(sizes), iterations, warmup, window, check=check, time_limit=limit, for_model=output is not None
    ).check_sizes()
    check_place(output, b"name: ", "machine model")
    printer = _Printer(full, tails)

    def each(made: Measured, point: Point) -> None:
        # Sizes that only the model asked for would stand out of order.
        if form == "osu" and point.bytes in sizes:
            printer.show(point, made.system.library.name)

    with interruptible():
        made = measured(
            tests,
            method,
            pairs=pairs[0],
            all_pairs=pairs[1],
            nodes=nodes,
            launcher=launcher,
            each=each,
            remark=say,
        )
    _finish(made, form, output)


def _finish(made: Measured, form: str, output: Path | None) -> None:
    from haloscope.predict import write_machine

    if made.interrupted:
        say(f"interrupted: {len(made.points)} finished points are kept")
    if form != "osu":
        _write(made.points, form)
    for failure in made.failures:
        cores = f"core {failure.pair.first} to core {failure.pair.second}"
        say(f"{failure.test}, {cores}: {failure.reason}")
    if output is not None and made.points:
        command = " ".join(["haloscope", *sys.argv[1:]])
        write_machine(made.machine(output.stem), output, [f"Made by: {command}"])
    if made.interrupted:
        raise KeyboardInterrupt
    if made.failures or any(one.valid is False for one in made.points):
        raise click.exceptions.Exit(1)


class _Printer:
    """Prints points as they come, with a header for each test and pair."""

    def __init__(self, full: bool, tails: Sequence[float]) -> None:
        self._full, self._tails = full, tails
        self._before: tuple[str, int, int] | None = None

    def show(self, point: Point, library: str) -> None:
        from haloscope.predict.bench import make_p2p_header, make_p2p_row

        now = (point.test, point.pair.first, point.pair.second)
        if now != self._before:
            click.echo(make_p2p_header(point, library, self._full, self._tails))
        self._before = now
        click.echo(make_p2p_row(point, self._full, self._tails))


def _write(points: Sequence[Point], form: str) -> None:
    from haloscope.predict.bench import make_p2p_record as record

    records = [record(point) for point in points]
    if form == "json":
        lines = ",\n ".join(json.dumps(one) for one in records)
        click.echo(f"[{lines}]")
        return
    names = ["test", "level", "first", "second", "pairs", "bytes", "batch"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*names, "side", "sample", "time"])
    for one in records:
        shared = [one[name] for name in names]
        for side, key in (("first", "samples"), ("second", "receive_samples")):
            writer.writerows([*shared, side, at, time] for at, time in enumerate(one[key]))
