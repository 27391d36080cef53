"""`haloscope bench collective`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from haloscope.base.errors import UsageError
from haloscope.cli.console import progress, say
from haloscope.cli.measuring import (
    Launching,
    format_option,
    full_option,
    interruptible,
    tails_option,
    time_limit,
    warmup_option,
    words,
)
from haloscope.cli.options import counts, sizes

if TYPE_CHECKING:
    from haloscope.predict.bench import Sweep

__all__ = ["collective"]

_EXAMPLES = """\b
Examples:
  haloscope bench collective allreduce
  haloscope bench collective bcast reduce -n 2:8 -m 2:1048576 -o sweep.jsonl
  haloscope bench collective bcast -n 8 --algorithm default,chain --segment 0,8192,65536
  haloscope bench collective all -n 64,128 --map-by core,node -- srun --mpi=pmix
  haloscope bench collective --from app.halo -o sweep.jsonl
  haloscope bench collective bcast -n 64 --platform fat-tree -i 3 -x 1
"""


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.argument("collectives", nargs=-1, metavar="[COLLECTIVE...]")
@click.option(
    "--from",
    "profile",
    type=click.Path(path_type=Path),
    metavar="F.halo",
    help="Measure what the program of this profile used, in proportion to its calls, at most -i times each.",
)
@click.option(
    "-n",
    "ranks",
    callback=counts,
    metavar="2:8|4,8",
    help="Numbers of processes. The default is the number of cores of this machine.",
)
@click.option(
    "-m",
    "--message-size",
    "sizes",
    callback=sizes,
    default="1:1048576",
    show_default=True,
    metavar="[MIN:]MAX|2,4096",
    help="As OSU: sizes of messages in bytes, doubled from MIN (1) to MAX, or a list.",
)
@click.option(
    "-i",
    "--iterations",
    type=click.IntRange(1),
    metavar="N",
    default=1000,
    show_default=True,
    help="As OSU: measured calls, for messages of every size.",
)
@warmup_option
@click.option("-c", "--validation", "check", is_flag=True, help="As OSU: check the data of each call.")
@click.option(
    "--algorithm",
    "algorithms",
    callback=words,
    metavar="all|NAME[,NAME]",
    help="Names of the library's algorithms, or default, its own choice. By default all are measured.",
)
@click.option(
    "--segment",
    "segments",
    callback=counts,
    default="0",
    metavar="BYTES[,BYTES]",
    help="Sizes of segments, for algorithms that cut messages. 0 is the library's own size.",
)
@click.option(
    "--map-by",
    "mappings",
    callback=words,
    metavar="NAME[,NAME]",
    help="Mappings of ranks in the launcher's words (core, socket, node). The default is its own.",
)
@click.option(
    "--platform",
    metavar="NAME|FILE",
    help="Measure SimGrid's MPI on this network or machine, by the simulated clock.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="SWEEP.jsonl",
    help="Keep every point with its samples here at once. An unfinished sweep is continued.",
)
@full_option
@tails_option
@format_option(
    "osu",
    "table",
    "csv",
    "json",
    "samples",
    text="Print as OSU does, a row a point with medians, or every sample as CSV.",
)
def collective(
    collectives: Sequence[str],
    profile: Path | None,
    ranks: list[int] | None,
    sizes: list[int],
    iterations: int,
    warmup: int,
    check: bool,
    algorithms: list[str],
    segments: list[int],
    mappings: list[str],
    platform: str | None,
    output: Path | None,
    full: bool,
    tails: list[float],
    form: str,
    launcher: tuple[str, ...],
) -> None:
    """Measure collectives with every algorithm of the MPI library, and with its own choice.

    COLLECTIVE is allgather, allgatherv, allreduce, alltoall, alltoallv, barrier, bcast, gather,
    gatherv, reduce, reduce_scatter, reduce_scatter_block, scatter, scatterv, or all; with --from all that
    the program used need not be named. LAUNCHER starts the ranks instead of mpiexec.
    """
    from haloscope.predict.bench import BenchGrid, read_workload, workload_text
    from haloscope.predict.bench import CollectiveMethod as Method
    from haloscope.predict.bench import collective as measured

    _check_asked(collectives, profile)
    names = [word.strip().lower() for text in collectives for word in text.split(",")]
    work = read_workload(profile) if profile else None
    grid = BenchGrid(
        names,
        ranks or (),
        sizes,
        () if "all" in algorithms else algorithms,
        segments,
        mappings=mappings or (None,),
        iterations=work.iterations(iterations) if work else {},
    )
    method = Method(
        warmup=warmup, iterations=iterations, validate=5 if check else None, time_limit=time_limit()
    )
    with interruptible():
        sweep = measured(
            grid, method, launcher=launcher, platform=platform, output=output, progress=progress, remark=say
        )
    if sweep.interrupted:
        where = f"are in {output}; the same command goes on" if output else "follow"
        say(f"interrupted: {len(sweep.points)} finished points {where}")
    _print(sweep, form, full, tails)
    _say_failures(sweep)
    if sweep.interrupted:
        raise KeyboardInterrupt
    if work:
        say(f"{profile}: {workload_text(work, sweep.points)}")


def _check_asked(collectives: Sequence[str], profile: Path | None) -> None:
    if not collectives and profile is None:
        raise UsageError("which collectives? name some, or all, or a profile by --from")
    source = click.get_current_context().get_parameter_source
    if profile and ParameterSource.COMMANDLINE in (source("ranks"), source("sizes")):
        raise UsageError("--from: the profile says how many processes and what sizes: leave out -n and -m")


def _print(sweep: Sweep, form: str, full: bool, tails: Sequence[float]) -> None:
    from haloscope import explain
    from haloscope.predict.bench import POINTS_TABLE, write_osu

    sweep = sweep.sorted()
    if form == "osu":
        write_osu(sweep, sys.stdout, full, tails)
    elif form == "samples":
        _write_samples(sweep)
    else:
        explain.render(sweep.points, form, POINTS_TABLE, sys.stdout)


def _write_samples(sweep: Sweep) -> None:
    """Write a row a sample; points without samples have one row, too, with their status."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    names = [name for name in sweep.points.columns if name not in _SUMMARISED]
    writer.writerow([*names, "rank", "iteration", "time"])
    for index, row in enumerate(sweep.points.to_dicts()):
        shared = [row[name] for name in names]
        samples = sweep.samples(index)
        if not samples.size:
            writer.writerow([*shared, None, None, row["time"]])
        for rank, values in enumerate(samples.tolist() if samples.size else []):
            writer.writerows([*shared, rank, at, f"{v}e-9"] for at, v in enumerate(values))


_SUMMARISED = frozenset({"time", "time_min", "time_max", "median", "ci_low", "ci_high"})


def _say_failures(sweep: Sweep) -> None:
    failed = sweep.points.filter(sweep.points["status"].is_in(["failed", "timeout"]))
    if len(failed):
        first = failed.row(0, named=True)
        say(
            f"{len(failed)} of {len(sweep.points)} points failed, the first of them "
            f"{first['collective']} {first['algorithm']} of {first['bytes']} B on "
            f"{first['ranks']} ranks: {first['reason']}"
        )
