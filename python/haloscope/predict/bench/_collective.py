"""Measures collectives: the points of a grid, launch by launch, into a journal."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scipy.stats import norm

from haloscope.base.errors import LaunchError
from haloscope.predict._progress import Progress, Remark, silent, unheard
from haloscope.predict.bench._grid import Grid, Unit, units
from haloscope.predict.bench._mpi_library import Library, library
from haloscope.predict.bench._stream import Stopped, stream
from haloscope.predict.bench._surroundings import surroundings
from haloscope.predict.bench._sweep import Journal, Sweep, identity, journal
from haloscope.predict.bench._system import launcher_of

__all__ = ["Method", "collective", "launch_environment", "measure"]

# After so many failures in a row the other sizes of an algorithm are not tried.
_PATIENCE = 2


@dataclass(frozen=True)
class Method:
    """How a point is measured.

    `synchronisation` is what keeps the ranks together between calls: a `barrier`, as in the OSU
    benchmarks, or each call in a `window` of a common clock. `warmup` calls before the `iterations`
    that count are not measured. `type` is `char`, `int` or `float`. If `validate` is a number, data
    are checked, with so many calls before each timed one. With `precision` a point ends as soon as
    half the interval of its median, at `confidence`, is at most this share of it. `order` is
    `random`, by `seed`, or `given`. A point that takes over `time_limit` seconds has failed. With several
    `launches` of each algorithm its points are there as often: what differs from launch to launch, such as
    where ranks and memory come to lie, is not the algorithm's.
    """

    synchronisation: str = "barrier"
    warmup: int = 100
    iterations: int = 1000
    type: str = "char"
    validate: int | None = None  # calls before each timed one, where data are checked
    confidence: float = 0.95
    precision: float | None = None
    order: str = "random"
    seed: int = 0
    time_limit: float = 60.0
    launches: int = 1

    def words(self) -> dict[str, Any]:
        """Return the method as a sweep's first line has it."""
        return asdict(self)

    def options(self, iterations: Sequence[int] = ()) -> list[str]:
        """Return the method as the options of the measuring program.

        `iterations` are those of each size, with as many calls before them in proportion, if they are not
        the method's own.
        """
        calls = iterations or (self.iterations,)
        given = {
            "synchronisation": self.synchronisation,
            "warmup": ",".join(str(-(-self.warmup * number // self.iterations)) for number in calls),
            "iterations": ",".join(map(str, calls)),
            "type": self.type,
            "validate": -1 if self.validate is None else self.validate,
            "precision": self.precision or 0,
            "deviations": float(norm.ppf(0.5 + self.confidence / 2)),
        }
        return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def collective(
    grid: Grid,
    method: Method | None = None,
    *,
    launcher: Sequence[str] = (),
    platform: str | Path | None = None,
    output: str | Path | None = None,
    progress: Progress = silent,
    remark: Remark = unheard,
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

        sweep = haloscope.bench_collective(Grid(["allreduce"], ranks=[2, 4], sizes=[8, 1024]))
        print(sweep.points.select("algorithm", "ranks", "bytes", "median"))
    """
    method, launcher = method or Method(), launcher_of(launcher)
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
    from haloscope.predict.simulate import SmpiLibrary, load_platform, smpirun

    smpirun()  # that it is missing is said before anything is compiled
    simulated = SmpiLibrary(load_platform(str(platform)))
    with simulated.directory:
        yield simulated


def _remark_on(grid: Grid, offered: Library, cores: int, remark: Remark) -> None:
    if all(len(offered.algorithms(name)) == 1 for name in offered.collectives()):
        remark(f"{offered.name} cannot be asked for its algorithms: only its own choice is measured")
    else:
        alone = [name for name in grid.collectives if len(offered.algorithms(name)) == 1]
        if alone:
            remark(f"{offered.name} has one way only of {', '.join(alone)}: measured as default")
    ranks = max(grid.ranks)
    if cores and ranks > cores:
        remark(f"{ranks} processes share {cores} cores here: such times say little")


def measure(
    units: Sequence[Unit],
    library: Library,
    method: Method,
    kept: Journal,
    step: Callable[[str], None] = lambda what: None,
) -> None:
    """Measure what the journal does not have yet; failures are points too, and the rest goes on."""
    executable = library.program("collective")
    for unit in units:
        left = tuple(size for size in unit.sizes if not kept.has(unit.point(size)))
        for _ in range(len(unit.sizes) - len(left)):
            step("")
        failures = 0
        while left:
            done, stopped = _launched(replace(unit, sizes=left), library, executable, method, kept, step)
            failures = failures + 1 if stopped and not done else int(stopped)
            left = left[done + stopped :]
            if failures >= _PATIENCE and left:
                _give_up(unit, left, kept, step)
                left = ()


def _launched(
    unit: Unit, library: Library, executable: Path, method: Method, kept: Journal, step: Callable[[str], None]
) -> tuple[int, int]:
    """Launch once; return how many points came to an end, and 1 if the one after them failed."""
    settings = dict(unit.algorithm.settings)
    command = library.launch(
        [
            str(executable),
            "--collective",
            unit.collective,
            "--sizes",
            ",".join(map(str, unit.sizes)),
            *method.options([unit.iterations[size] for size in unit.sizes] if unit.iterations else ()),
        ],
        unit.ranks,
        settings,
        unit.mapping,
    )
    start: Mapping[str, Any] = {}
    done = 0
    try:
        environment = launch_environment(unit.ranks, settings)
        records = stream(command, environment, method.time_limit)
        with contextlib.closing(records):
            for record in records:
                if record["record"] == "start":
                    start = record
                    _check_ranks(start, unit, command)
                elif record["record"] == "begin":
                    step(_said(unit, record["bytes"]))
                elif record["record"] == "point":
                    kept.add(_point(unit, record, start))
                    done += 1
    except Stopped as stopped:
        if done == len(unit.sizes):  # the program fell in MPI_Finalize: it is all there
            return done, 0
        failed = {"bytes": unit.sizes[done], "status": stopped.status, "reason": stopped.reason}
        kept.add(_point(unit, failed, start))
        return done, 1
    if done < len(unit.sizes):
        failed = {"bytes": unit.sizes[done], "status": "failed", "reason": "it ended too early"}
        kept.add(_point(unit, failed, start))
        return done, 1
    return done, 0


def _check_ranks(start: Mapping[str, Any], unit: Unit, command: Sequence[str]) -> None:
    if start["ranks"] != unit.ranks:
        raise LaunchError(
            f"{command[0]} started {unit.ranks} processes, but each sees {start['ranks']}: it "
            "belongs to another MPI than mpicc; load one MPI only, or name its launcher after --"
        )


def _point(unit: Unit, record: Mapping[str, Any], start: Mapping[str, Any]) -> dict[str, Any]:
    samples = record.get("samples_ns") or []
    return {
        "record": "point",
        **unit.point(record["bytes"]),
        "nodes": start.get("nodes"),
        "binding": start.get("binding"),
        "iterations": len(samples[0]) if samples else 0,
        "status": record["status"],
        "reason": record.get("reason") or None,
        "invalid": record.get("invalid", 0),
        "window_ns": record.get("window_ns", 0),
        "clock_error_ns": record.get("clock_error_ns", 0),
        "samples_ns": samples,
    }


def _give_up(unit: Unit, left: Sequence[int], kept: Journal, step: Callable[[str], None]) -> None:
    last = list(kept.points.values())[-1]
    for size in left:
        step(_said(unit, size))
        reason = f"not tried after {_PATIENCE} failures in a row: {last['reason']}"
        kept.add(_point(unit, {"bytes": size, "status": last["status"], "reason": reason}, {}))


def _said(unit: Unit, size: int) -> str:
    return f"{unit.collective} {unit.algorithm.name}, {unit.ranks} ranks, {size} B"


def launch_environment(ranks: int, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment, with what ranks on this one machine need."""
    own = {}
    if ranks > len(os.sched_getaffinity(0)):
        # Version 5's launcher reads PRTE_MCA_*, version 4's OMPI_MCA_*.
        own["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        own["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    if os.geteuid() == 0:
        own["OMPI_ALLOW_RUN_AS_ROOT"] = own["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return {**own, **os.environ, **settings}
