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
from haloscope.base.units import noun_text
from haloscope.cli.console import progress, say
from haloscope.cli.measuring import (
    Launching,
    full_option,
    interruptible,
    iterations_option,
    ranks_option,
    sizes_option,
    tails_option,
    time_limit,
    warmup_option,
    words,
)
from haloscope.cli.options import format_option, output_option

if TYPE_CHECKING:
    from haloscope.predict.bench import Sweep

_EXAMPLES = """\b
Examples:
  haloscope bench collective allreduce
  haloscope bench collective bcast reduce -n 2:8 -m 2:1048576 -o sweep.jsonl
  haloscope bench collective bcast -n 8 --algorithm default,chain
  haloscope bench collective all -n 64,128 -- srun --mpi=pmix
  haloscope bench collective app.halo -o sweep.jsonl
  haloscope bench collective bcast -n 64 --platform fat-tree -i 3 -x 1
"""


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.argument("collectives", nargs=-1, required=True, metavar="COLLECTIVE...|F.halo")
@ranks_option(". Default: the number of cores of this machine.")
@sizes_option("1:1048576")
@iterations_option(1000)
@warmup_option(100)
@click.option("-c", "--validation", "check", is_flag=True, help="As OSU: check the data.")
@click.option(
    "--algorithm",
    "algorithms",
    callback=words,
    default="all",
    metavar="NAME[,NAME]",
    help="Algorithms of the MPI library. default is the library's choice.",
)
@click.option(
    "--platform",
    metavar="NAME|FILE",
    help="Measure SimGrid's MPI on this network or machine, by the simulated clock.",
)
@output_option(
    "SWEEP.jsonl", "Write each point with its samples to this file. An unfinished sweep is continued."
)
@full_option
@tails_option
@format_option(
    "Print as OSU does, one row per point with its median, or every sample as CSV.",
    ("osu", "table", "csv", "json", "samples"),
)
def collective(
    collectives: Sequence[str],
    ranks: list[int] | None,
    sizes: list[int],
    iterations: int,
    warmup: int,
    check: bool,
    algorithms: list[str],
    platform: str | None,
    output: Path | None,
    full: bool,
    tails: list[float],
    form: str,
    launcher: tuple[str, ...],
) -> None:
    """Measure collectives with every algorithm of the MPI library, and with its own choice.

    COLLECTIVE is allgather, allgatherv, allreduce, alltoall, alltoallv, barrier, bcast, gather,
    gatherv, reduce, reduce_scatter, reduce_scatter_block, scatter, scatterv, or all. F.halo measures the
    collectives of a profile, each at most -i times, in proportion to its calls. LAUNCHER starts the ranks
    instead of mpiexec.
    """
    from haloscope.predict.bench import BenchGrid, read_workload, workload_text
    from haloscope.predict.bench import CollectiveMethod as Method
    from haloscope.predict.bench import collective as measured

    profile = _find_profile(collectives)
    listed = [text for text in collectives if text != str(profile)]
    names = [word.strip().lower() for text in listed for word in text.split(",")]
    work = read_workload(profile) if profile else None
    grid = BenchGrid(
        names,
        ranks or (),
        sizes,
        () if "all" in algorithms else algorithms,
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


def _find_profile(collectives: Sequence[str]) -> Path | None:
    """Return the profile among the names of collectives; it has the numbers of ranks and the sizes."""
    files = [Path(text) for text in collectives if text.endswith(".halo")]
    if len(files) > 1:
        raise UsageError(f"{files[1]}: one profile is measured at a time")
    source = click.get_current_context().get_parameter_source
    if files and ParameterSource.COMMANDLINE in (source("ranks"), source("sizes")):
        raise UsageError(f"{files[0]}: the profile has numbers of ranks and sizes: leave out -n and -m")
    return files[0] if files else None


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
            f"{len(failed)} of {noun_text(len(sweep.points), 'point')} failed, the first of them "
            f"{first['collective']} {first['algorithm']} of {first['bytes']} B on "
            f"{noun_text(first['ranks'], 'rank')}: {first['reason']}"
        )
