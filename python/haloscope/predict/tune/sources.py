"""Sources of rules: a sweep, a program's profile, or a machine model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from haloscope.base.errors import RecorderError, UsageError
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.sweep import Sweep
from haloscope.predict.bench.workload import CollectivePoint, Workload, read_workload
from haloscope.predict.kinds import Kind, find_kind
from haloscope.predict.machine_files import load_machine, machines
from haloscope.predict.progress import Progress
from haloscope.predict.tune.choice import Candidate, choose_by_model, choose_from, make_model_points
from haloscope.predict.tune.trial import count_steps, measure_all, measure_best
from haloscope.predict.tune.verification import Bench

_LAUNCHES = 3  # launches of each algorithm, if a profile's points are measured


@dataclass(frozen=True)
class RuleChoice:
    """Limits of the selection of rules.

    A rule must be faster by more than the share `margin`, and significantly at `level` after correction for
    the number of comparisons. `collectives`, `ranks` and `sizes` (bytes as OSU counts them) apply to a
    machine model; no collectives means all fitted ones. `segments` are segment sizes (bytes) that are
    measured for a profile; 0 is the library's default.
    """

    collectives: Sequence[str] = ()
    ranks: Sequence[int] = (2,)
    sizes: Sequence[int] = tuple(1 << power for power in range(21))
    segments: Sequence[int] = (0,)
    margin: float = 0.05
    level: float = 0.05
    duration: float | None = None
    """Seconds for measuring a profile's points, in order of the expected gain. None: all points."""


def choose_from_source(
    source: str | Path,
    choice: RuleChoice,
    bench: Bench,
    method: CollectiveMethod,
    progress: Progress,
    *,
    tried: bool = True,
) -> tuple[dict[CollectivePoint, Candidate], Workload | None]:
    """Return the choice for each point, and the calls of a program if `source` is its profile.

    Args:
        source: A sweep, a profile, or a machine model (file or name). The points of a profile are measured.
        choice: Limits of the selection.
        bench: The environment for measurements.
        method: Method of the measurements.
        progress: Progress of the measurements.
        tried: Whether the rules are measured again before they are written.
    """
    kind = find_source_kind(source)
    if choice.collectives and kind != "machine":
        raise UsageError(f"{source}: is a {kind}; give collectives only for a machine model")
    if choice.duration is not None and kind != "profile":
        raise UsageError(f"{source}: is a {kind}, which is not measured; give a duration only for a profile")
    if kind == "machine":
        described = load_machine(source)
        points = make_model_points(described, choice.collectives, choice.ranks, choice.sizes)
        return choose_by_model(described, points, choice.margin, tried=tried), None
    if kind == "sweep":
        measured = Sweep.read(source)
        _check_library(source, measured.environment.get("library"), bench)
        return choose_from(measured, choice.margin, choice.level), None
    work = read_workload(Path(source))
    points = sorted(work.calls)
    if choice.duration is not None:
        with progress(count_steps(bench, points, choice.segments)) as step:
            sweep = measure_best(bench, work.calls, choice.segments, method, choice.duration, step)
        return choose_from(sweep, choice.margin, choice.level), work
    method = replace(method, launches=max(method.launches, _LAUNCHES))
    with progress(count_steps(bench, points, choice.segments, method.launches)) as step:
        sweep = measure_all(bench, points, choice.segments, method, step)
    return choose_from(sweep, choice.margin, choice.level), work


def find_source_kind(source: str | Path) -> Kind:
    """Return the kind of a source: a sweep, a profile or a machine. Raises `UsageError` for others."""
    kind = "machine" if str(source) in machines() else find_kind(source)
    if kind == "gains":
        raise UsageError(f"{source}: give a sweep, a profile or a machine model to choose rules from")
    return kind


def _check_library(sweep: str | Path, library: object, bench: Bench) -> None:
    if library and library != bench.library.name:
        raise RecorderError(
            f"{sweep}: measured with {library}, but the mpicc in use is of "
            f"{bench.library.name}: load the measured MPI, or measure this one"
        )
