"""Measurements of collectives: the points of a grid, launch by launch, written to a journal."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from haloscope.base.units import noun_text
from haloscope.predict.bench.grid import BenchGrid, list_launches
from haloscope.predict.bench.launches import measure
from haloscope.predict.bench.library_in_use import library
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.surroundings import describe_environment
from haloscope.predict.bench.sweep import Sweep, open_journal
from haloscope.predict.bench.sweep_records import identify_point
from haloscope.predict.bench.system import find_launcher
from haloscope.predict.mpi_library import Library
from haloscope.predict.progress import Progress, Remark, ignore_text, show_no_progress


def bench_collective(
    grid: BenchGrid,
    method: CollectiveMethod | None = None,
    *,
    launcher: Sequence[str] = (),
    platform: str | Path | None = None,
    output: str | Path | None = None,
    progress: Progress = show_no_progress,
    remark: Remark = ignore_text,
) -> Sweep:
    """Measure collectives with every algorithm of the MPI in use, and with its own choice.

    Args:
        grid: The points to measure.
        method: The method; None: `CollectiveMethod()`.
        launcher: The command that starts ranks, with its options, such as `["srun", "--mpi=pmix"]`;
            empty: that of the MPI.
        platform: Name or file of a network or machine, on which SimGrid's MPI is measured by the simulated
            clock.
        output: The sweep's file. Each point is written before the next one begins; points that are already
            in the file are not measured again.
        progress: Receives the number of points, and a text per point.
        remark: Receives remarks, one line each.

    Returns:
        The points of the grid, those of earlier runs and failed ones included. If Ctrl-C ended the sweep
        early, `interrupted` is true.

    Raises:
        UsageError: The grid cannot be measured.
        OutputError: The file is of another library, host or method, or cannot be written.

    Examples:
        >>> sweep = haloscope.bench_collective(BenchGrid(["allreduce"], ranks=[2, 4], sizes=[8, 1024]))
        >>> print(sweep.points.select("algorithm", "ranks", "bytes", "median"))
    """
    method, launcher = method or CollectiveMethod(), find_launcher(launcher)
    is_elsewhere = bool(launcher or platform)  # the cores of this machine do not matter
    cores = len(os.sched_getaffinity(0))
    starter = shlex.join(launcher) or ("mpiexec" if platform is None else "smpirun")
    path, interrupted = None if output is None else Path(output), False
    with _open_library(launcher, platform) as tested:
        grid = grid.complete(tested, max(cores, 2))
        seed = method.seed if method.order == "random" else None
        launches = list_launches(grid, tested, seed, bool(launcher), method.launches)
        _report_limits(grid, tested, 0 if is_elsewhere else cores, remark)
        with open_journal(path, describe_environment(tested.name, starter, method.words())) as journal:
            try:
                with progress(sum(len(launch.sizes) for launch in launches)) as step:
                    measure(launches, tested, method, journal, step)
            except KeyboardInterrupt:
                interrupted = True
    keys = (identify_point(launch.point(size)) for launch in launches for size in launch.sizes)
    sweep = Sweep.of(journal.environment, [journal.points[key] for key in keys if key in journal.points])
    return replace(sweep, interrupted=interrupted)


@contextlib.contextmanager
def _open_library(launcher: Sequence[str], platform: str | Path | None) -> Iterator[Library]:
    """Yield the library that is measured: the MPI in use, or SimGrid's on a platform."""
    if platform is None:
        yield library(launcher)
        return
    from haloscope.predict.simulate import SmpiLibrary, find_smpirun, load_platform

    find_smpirun()  # reports a missing SimGrid before anything is compiled
    simulated = SmpiLibrary(load_platform(str(platform)))
    with simulated.directory:
        yield simulated


def _report_limits(grid: BenchGrid, offered: Library, cores: int, remark: Remark) -> None:
    if all(len(offered.algorithms(name)) == 1 for name in offered.collectives()):
        remark(f"the algorithms of {offered.name} cannot be selected: only its own choice is measured")
    else:
        single = [name for name in grid.collectives if len(offered.algorithms(name)) == 1]
        if single:
            remark(f"{offered.name} has only one algorithm for {', '.join(single)}: measured as default")
    ranks = max(grid.ranks)
    if cores and ranks > cores:
        remark(f"{ranks} processes share {noun_text(cores, 'core')}: the times are hardly meaningful")


# Its name in `import haloscope`.
collective = bench_collective
