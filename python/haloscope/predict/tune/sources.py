"""Where the figures are from that rules are chosen by: a sweep, a program's profile, a machine model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from haloscope.base.errors import RecorderError, UsageError
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.sweep import Sweep
from haloscope.predict.bench.workload import CollectivePoint, Workload, read_workload
from haloscope.predict.kinds import Kind, kind_of
from haloscope.predict.machine_files import load_machine, machines
from haloscope.predict.progress import Progress
from haloscope.predict.tune.choice import Candidate, choose_by_model, choose_from, model_points
from haloscope.predict.tune.trial import measure_all, measure_best, steps_of_all
from haloscope.predict.tune.verification import Bench

_LAUNCHES = 3  # of each algorithm, where a profile's points are measured


@dataclass(frozen=True)
class RuleChoice:
    """What rules may be, and how sure they must be.

    A rule must be faster by more than the share `margin`, and for certain at `level` after
    correction for the number of comparisons. `collectives`, `ranks` and `sizes` (bytes as OSU
    counts them) are for a machine model: without collectives all that were fitted. `segments` are
    sizes of segments, in bytes, that are measured for a profile; 0 is the library's own.
    """

    collectives: Sequence[str] = ()
    ranks: Sequence[int] = (2,)
    sizes: Sequence[int] = tuple(1 << power for power in range(21))
    segments: Sequence[int] = (0,)
    margin: float = 0.05
    level: float = 0.05
    duration: float | None = None
    """Seconds to measure a profile's points in, those first that should gain the most. None: all of them."""


def chosen_from(
    source: str | Path,
    choice: RuleChoice,
    bench: Bench,
    method: CollectiveMethod,
    progress: Progress,
    *,
    tried: bool = True,
) -> tuple[dict[CollectivePoint, Candidate], Workload | None]:
    """Return what to use at each point, and what a program calls if `source` is its profile.

    `source` is the file of a sweep, a profile or a machine model, or the name of a machine. The
    points of a profile are measured now. `tried`: rules are measured again before they are written.
    """
    kind = kind_of_source(source)
    if choice.collectives and kind != "machine":
        raise UsageError(f"{source}: is a {kind}; collectives can be named for a machine model only")
    if choice.duration is not None and kind != "profile":
        raise UsageError(f"{source}: is a {kind}, of which nothing is measured; a duration is for a profile")
    if kind == "machine":
        described = load_machine(source)
        points = model_points(described, choice.collectives, choice.ranks, choice.sizes)
        return choose_by_model(described, points, choice.margin, tried=tried), None
    if kind == "sweep":
        measured = Sweep.read(source)
        _check_same(source, measured.environment.get("library"), bench)
        return choose_from(measured, choice.margin, choice.level), None
    work = read_workload(Path(source))
    asked = sorted(work.calls)
    if choice.duration is not None:
        with progress(steps_of_all(bench, asked, choice.segments)) as step:
            sweep = measure_best(bench, work.calls, choice.segments, method, choice.duration, step)
        return choose_from(sweep, choice.margin, choice.level), work
    method = replace(method, launches=max(method.launches, _LAUNCHES))
    with progress(steps_of_all(bench, asked, choice.segments, method.launches)) as step:
        sweep = measure_all(bench, asked, choice.segments, method, step)
    return choose_from(sweep, choice.margin, choice.level), work


def kind_of_source(source: str | Path) -> Kind:
    """Return what rules are chosen from: a sweep, a profile or a machine. Raises `UsageError` for others."""
    kind = "machine" if str(source) in machines() else kind_of(source)
    if kind == "gains":
        raise UsageError(f"{source}: rules are chosen from a sweep, a profile or a machine model")
    return kind


def _check_same(sweep: str | Path, library: object, bench: Bench) -> None:
    if library and library != bench.library.name:
        raise RecorderError(
            f"{sweep}: measured with {library}, but the mpicc in use is that of "
            f"{bench.library.name}: load the MPI that was measured, or measure this one"
        )
