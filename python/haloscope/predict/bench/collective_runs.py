"""Measures collectives: the points of a grid, launch by launch, into a journal."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from haloscope.predict.bench.grid import BenchGrid, units
from haloscope.predict.bench.launches import measure
from haloscope.predict.bench.library_in_use import library
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.surroundings import surroundings
from haloscope.predict.bench.sweep import Sweep, identity, journal
from haloscope.predict.bench.system import launcher_of
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

    `grid` says what is measured. `launcher` is the command that starts ranks, with its options,
    such as `["srun", "--mpi=pmix"]`; without it the MPI's own. With `platform`, the name or file of
    a network or machine, SimGrid's MPI is measured there by the simulated clock. `output` is the
    sweep's file: each point is there before the next one begins, and points that it has already are
    not measured again.

    Return the points that were asked for, also those of an earlier run; a point that failed is one
    of them. Ctrl-C ends the sweep early: `interrupted` is true then. Raises `UsageError` for a grid
    that cannot be measured, `OutputError` for a file of another library, host or method.

        sweep = haloscope.bench_collective(BenchGrid(["allreduce"], ranks=[2, 4], sizes=[8, 1024]))
        print(sweep.points.select("algorithm", "ranks", "bytes", "median"))
    """
    method, launcher = method or CollectiveMethod(), launcher_of(launcher)
    alone = bool(launcher or platform)  # the cores of this machine say nothing then
    cores = len(os.sched_getaffinity(0))
    starter = shlex.join(launcher) or ("mpiexec" if platform is None else "smpirun")
    place, interrupted = None if output is None else Path(output), False
    with _offered(launcher, platform) as offered:
        grid = grid.completed(offered, max(cores, 2))
        seed = method.seed if method.order == "random" else None
        made = units(grid, offered, seed, bool(launcher), method.launches)
        _remark_on(grid, offered, 0 if alone else cores, remark)
        with journal(place, surroundings(offered.name, starter, method.words())) as kept:
            try:
                with progress(sum(len(unit.sizes) for unit in made)) as step:
                    measure(made, offered, method, kept, step)
            except KeyboardInterrupt:
                interrupted = True
    keys = (identity(unit.point(size)) for unit in made for size in unit.sizes)
    sweep = Sweep.of(kept.environment, [kept.points[key] for key in keys if key in kept.points])
    return replace(sweep, interrupted=interrupted)


@contextlib.contextmanager
def _offered(launcher: Sequence[str], platform: str | Path | None) -> Iterator[Library]:
    """Yield the library that is measured: the MPI in use, or SimGrid's on a platform."""
    if platform is None:
        yield library(launcher)
        return
    from haloscope.predict.simulate import SmpiLibrary, find_smpirun, load_platform

    find_smpirun()  # that it is missing is said before anything is compiled
    simulated = SmpiLibrary(load_platform(str(platform)))
    with simulated.directory:
        yield simulated


def _remark_on(grid: BenchGrid, offered: Library, cores: int, remark: Remark) -> None:
    if all(len(offered.algorithms(name)) == 1 for name in offered.collectives()):
        remark(f"{offered.name} cannot be asked for its algorithms: only its own choice is measured")
    else:
        alone = [name for name in grid.collectives if len(offered.algorithms(name)) == 1]
        if alone:
            remark(f"{offered.name} has one way only of {', '.join(alone)}: measured as default")
    ranks = max(grid.ranks)
    if cores and ranks > cores:
        remark(f"{ranks} processes share {cores} cores here: such times say little")


# Its name in `import haloscope`.
collective = bench_collective
