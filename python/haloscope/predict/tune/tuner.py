"""The work of `haloscope tune`: select, write, verify and measure rules, and drop those without a gain."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.errors import RecorderError, UsageError
from haloscope.base.files import write_whole
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.system import find_launcher
from haloscope.predict.bench.workload import CollectivePoint, Workload
from haloscope.predict.mpi_library import Algorithm
from haloscope.predict.progress import Progress, show_no_progress
from haloscope.predict.tune.choice import Candidate, make_rules
from haloscope.predict.tune.formats import check_output, format_rules, make_settings
from haloscope.predict.tune.sources import RuleChoice, choose_from_source, find_source_kind
from haloscope.predict.tune.trial import (
    Trial,
    find_algorithm,
    find_slower,
    find_useless,
    gain_interval,
    group_runs,
    measure_both,
)
from haloscope.predict.tune.tuning_rules import TuningRule
from haloscope.predict.tune.verification import Bench, TuneVerdict, functions_text, observe_functions, verify

_OWN = Candidate()
_MOST_PASSES = 4
Measure = Callable[
    [Bench, Sequence[CollectivePoint], Mapping[str, str], CollectiveMethod, int, Callable[[str], None]],
    Mapping[CollectivePoint, Trial],
]
"""Measures points by default and in an environment with rules, in a number of rounds."""


@dataclass(frozen=True)
class ComparisonPlan:
    """Parameters of the comparison of default and tuned: method, rounds of launches of both, significance
    level.

    With 0 rounds, rules only have to take effect: the caller compares them in another way.
    """

    method: CollectiveMethod = field(default_factory=CollectiveMethod)
    rounds: int = 5
    level: float = 0.05


@dataclass
class Tuning:
    """The result of a tuning."""

    bench: Bench
    output: Path
    rules: list[TuningRule] = field(default_factory=list)
    chosen: dict[CollectivePoint, Candidate] = field(default_factory=dict)
    """All points of the grid; `Candidate()` if the library decides."""
    trials: dict[CollectivePoint, Trial] = field(default_factory=dict)
    """Trials of the last pass, in which no rule was dropped, for all points of collectives with rules."""
    verdicts: dict[CollectivePoint, TuneVerdict] = field(default_factory=dict)
    defaults: dict[CollectivePoint, str] = field(default_factory=dict)
    """Functions that the library uses by default, if they can be observed."""
    tried: int = 0
    """Number of measured rules, including dropped ones."""
    problems: list[str] = field(default_factory=list)
    """Reasons of dropped rules, one line each."""
    work: Workload | None = None
    """The calls of the program from which the points are."""

    @property
    def tuned(self) -> dict[CollectivePoint, Candidate]:
        """The points with a rule."""
        return {point: candidate for point, candidate in self.chosen.items() if candidate != _OWN}

    @property
    def level(self) -> float:
        """The level of the intervals of gains. They are wider because the rules were selected by their gain.

        Benjamini and Yekutieli (2005): if R of m rules are kept, intervals at the level 0.05 R / m have a
        false coverage rate of at most 5 %.
        """
        count = len(group_runs(self.chosen))
        return 0.05 * count / max(self.tried, count, 1) if count else 0.05


def tune(
    source: str | Path,
    output: str | Path | None = None,
    *,
    choice: RuleChoice | None = None,
    plan: ComparisonPlan | None = None,
    verified: bool = True,
    launcher: Sequence[str] = (),
    mapping: str | None = None,
    progress: Progress = show_no_progress,
) -> Tuning:
    """Select algorithms of collectives, and write rules for the MPI in use that are verified in real runs.

    If no rule has a gain, no file is written.

    Args:
        source: A sweep of `haloscope bench collective`, a program's profile, whose collectives are measured
            now, or a machine model with fitted algorithms (a file or a name).
        output: The file of rules; by default `rules.conf` or `rules.json`, depending on the library.
        choice: Limits of the selection.
        plan: Parameters of the comparison with the library's default.
        verified: Whether each rule is verified and measured in real runs.
        launcher: The command that starts ranks, with its options.
        mapping: The mapping of ranks, in the launcher's words.
        progress: Progress of the measurements.

    Raises:
        UsageError: The source cannot be tuned.
        RecorderError: The library has no rules, or differs from the measured one.

    Examples:
        >>> made = haloscope.tune("sweep.jsonl", "rules.conf")
        >>> print(haloscope.predict.tune.make_table(made))
    """
    choice, plan = choice or RuleChoice(), plan or ComparisonPlan()
    bench = Bench.here(find_launcher(launcher), mapping)
    target = Path(output or "rules" + (".conf" if bench.form == "openmpi-text" else ".json"))
    check_output(target, bench.form, bench.file)
    _check_selectable(bench)
    if not verified and find_source_kind(source) == "profile":
        raise UsageError(
            f"{source}: the collectives of a profile are measured, so its rules have to be verified"
        )
    chosen, work = choose_from_source(source, choice, bench, plan.method, progress, tried=verified)
    most = 2 * plan.rounds * len(chosen)
    with progress(most) if verified else show_no_progress(0) as step:
        tuning = write_rules(bench, chosen, target, plan if verified else None, step)
    tuning.work = work
    return tuning


def _check_selectable(bench: Bench) -> None:
    library = bench.library
    if all(len(library.algorithms(name)) == 1 for name in library.collectives()):
        raise RecorderError(
            f"{library.name} has no selectable algorithms, so there is nothing to tune; check that the"
            " ompi_info "
            "of this installation exists"
        )


def write_rules(
    bench: Bench,
    chosen: Mapping[CollectivePoint, Candidate],
    output: Path,
    plan: ComparisonPlan | None,
    step: Callable[[str], None] = lambda what: None,
    *,
    measure: Measure = measure_both,
) -> Tuning:
    """Write the rules for the chosen algorithms that are verified in real runs.

    If no rule has a gain, no file is written.

    Args:
        bench: The environment for trials.
        chosen: The chosen algorithm of each point.
        output: The file of rules.
        plan: Parameters of the comparison; None: the rules are written without runs.
        step: Called before each measurement.
        measure: Function that compares default and tuned.
    """
    tuning = Tuning(bench, output, chosen=dict(chosen))
    algorithms = {
        point: _find_algorithm(bench, point, candidate) for point, candidate in tuning.tuned.items()
    }
    if plan is not None and tuning.tuned:
        with _open_trial_file(output) as trial_file:
            _verify_rules(tuning, algorithms, trial_file)
            tuning.defaults = _observe_defaults(tuning)
            if plan.rounds:
                _compare_rules(tuning, trial_file, plan, step, measure)
            if plan.rounds and tuning.tuned:  # verify again: with fewer rules, each must still match
                _verify_rules(tuning, algorithms, trial_file)
    tuning.rules = make_rules(tuning.chosen)
    if tuning.rules:
        write_whole(output, format_rules(tuning.rules, bench.form, bench.file), "rules")
    return tuning


def _find_algorithm(bench: Bench, point: CollectivePoint, candidate: Candidate) -> Algorithm:
    return find_algorithm(bench, point.collective, candidate.name, candidate.segment, candidate.fanout)


@contextmanager
def _open_trial_file(output: Path) -> Iterator[Path]:
    """Yield a path for trial rules next to the output, so that it is visible on the same nodes."""
    trial_file = output.absolute().with_name(f".{output.name}.{os.getpid()}.trial{output.suffix}")
    try:
        yield trial_file
    finally:
        trial_file.unlink(missing_ok=True)


def _write_trial(tuning: Tuning, trial_file: Path) -> dict[str, str]:
    """Write the current rules; return the environment that uses them."""
    write_whole(
        trial_file, format_rules(make_rules(tuning.chosen), tuning.bench.form, tuning.bench.file), "rules"
    )
    return make_settings(tuning.bench.form, trial_file, _tuned_collectives(tuning))


def _tuned_collectives(tuning: Tuning) -> list[str]:
    return sorted({point.collective for point in tuning.tuned})


def _verify_rules(tuning: Tuning, algorithms: Mapping[CollectivePoint, Algorithm], trial_file: Path) -> None:
    """Drop the rules that do not take effect."""
    _write_trial(tuning, trial_file)
    seen = verify(tuning.bench, trial_file, {point: algorithms[point] for point in tuning.tuned})
    for point, verdict in seen.items():
        tuning.verdicts[point] = verdict
        if verdict.problem:
            tuning.problems.append(verdict.problem)
            tuning.chosen[point] = _OWN


def _observe_defaults(tuning: Tuning) -> dict[CollectivePoint, str]:
    """Return the functions that run without rules; those of MPICH cannot be observed."""
    if tuning.bench.form == "mpich-json":
        return {}
    seen: dict[CollectivePoint, str] = {}
    for ranks in {point.ranks for point in tuning.chosen}:
        points = [point for point in tuning.chosen if point.ranks == ranks]
        seen |= {
            point: functions_text(ran) for point, ran in observe_functions(tuning.bench, points, {}).items()
        }
    return seen


def _compare_rules(
    tuning: Tuning, trial_file: Path, plan: ComparisonPlan, step: Callable[[str], None], measure: Measure
) -> None:
    """Compare default and tuned until no rule is dropped."""
    tuning.tried = len(group_runs(tuning.chosen))
    for _ in range(_MOST_PASSES):
        if not tuning.tuned or not _drop_rules(tuning, trial_file, plan, step, measure):
            return
    _give_up(tuning)


def _drop_rules(
    tuning: Tuning, trial_file: Path, plan: ComparisonPlan, step: Callable[[str], None], measure: Measure
) -> set[CollectivePoint]:
    """Compare default and tuned, and drop the rules without a significant gain."""
    environment = _write_trial(tuning, trial_file)
    touched = _tuned_collectives(tuning)
    points = [point for point in tuning.chosen if point.collective in touched]
    trials = dict(measure(tuning.bench, points, environment, plan.method, plan.rounds, step))
    tuning.trials = trials
    dropped = find_useless(tuning.chosen, trials, plan.level)
    # Rules can slow down a collective at points without a rule; then all of its rules are dropped.
    aside_slower = find_slower(trials, plan.level) - set(tuning.tuned)
    lost = {point.collective for point in aside_slower}
    dropped |= {point for point in tuning.tuned if point.collective in lost}
    for point in sorted(dropped):
        gain, low, high = gain_interval(trials[point].gains)
        tuning.problems.append(
            f"{point}: {tuning.chosen[point].name} has no significant gain, "
            f"{gain:.2f} ({low:.2f} to {high:.2f})"
        )
        tuning.chosen[point] = _OWN
    if dropped:
        tuning.trials = {}
    return dropped


def _give_up(tuning: Tuning) -> None:
    for point in tuning.tuned:
        tuning.problems.append(f"{point}: results differ in every pass, so no gain is significant")
        tuning.chosen[point] = _OWN
