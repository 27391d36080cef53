"""The whole of `haloscope tune`: choose, write, verify, measure again, drop what does not hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from haloscope.base.errors import RecorderError, UsageError
from haloscope.base.files import write_whole
from haloscope.predict.bench.method import CollectiveMethod
from haloscope.predict.bench.system import launcher_of
from haloscope.predict.bench.workload import CollectivePoint, Workload
from haloscope.predict.mpi_library import Algorithm
from haloscope.predict.progress import Progress, silent
from haloscope.predict.tune.choice import Candidate, rules_of
from haloscope.predict.tune.formats import check_output, render, settings
from haloscope.predict.tune.sources import RuleChoice, chosen_from, kind_of_source
from haloscope.predict.tune.trial import (
    Trial,
    find_algorithm,
    gain_interval,
    measure_both,
    not_holding,
    runs_of,
    slower,
)
from haloscope.predict.tune.tuning_rules import TuningRule
from haloscope.predict.tune.verification import Bench, TuneVerdict, describe_ran, verify, what_ran

_OWN = Candidate()
_MOST_PASSES = 4
Measure = Callable[
    [Bench, Sequence[CollectivePoint], Mapping[str, str], CollectiveMethod, int, Callable[[str], None]],
    Mapping[CollectivePoint, Trial],
]
"""Measures points by default and in an environment with rules, in so many rounds."""


@dataclass(frozen=True)
class ComparisonPlan:
    """How default and tuned are compared: in so many rounds of launches of both, at `level`."""

    method: CollectiveMethod = field(default_factory=CollectiveMethod)
    rounds: int = 5
    level: float = 0.05


@dataclass
class Tuning:
    """What came of it."""

    bench: Bench
    output: Path
    rules: list[TuningRule] = field(default_factory=list)
    chosen: dict[CollectivePoint, Candidate] = field(default_factory=dict)
    """All points of the grid; `Candidate()` where the library decides."""
    trials: dict[CollectivePoint, Trial] = field(default_factory=dict)
    """Of the last pass, in which nothing was dropped: of all points of collectives with rules."""
    verdicts: dict[CollectivePoint, TuneVerdict] = field(default_factory=dict)
    defaults: dict[CollectivePoint, str] = field(default_factory=dict)
    """What the library does by itself, where that can be seen."""
    tried: int = 0
    """How many rules were measured, of which those that gained were kept."""
    problems: list[str] = field(default_factory=list)
    """Why rules were dropped, a line each."""
    work: Workload | None = None
    """What the program calls that the points are from."""

    @property
    def tuned(self) -> dict[CollectivePoint, Candidate]:
        """The points for which there is a rule."""
        return {point: one for point, one in self.chosen.items() if one != _OWN}

    @property
    def level(self) -> float:
        """The level of the intervals of gains: what is kept was chosen for its gain, so they must be wider.

        After Benjamini and Yekutieli (2005): of the intervals of R kept rules of m at the level 0.05 R / m,
        at most 5 % miss what they should hold, on average.
        """
        kept = len(runs_of(self.chosen))
        return 0.05 * kept / max(self.tried, kept, 1) if kept else 0.05


def tune(
    source: str | Path,
    output: str | Path | None = None,
    *,
    choice: RuleChoice | None = None,
    plan: ComparisonPlan | None = None,
    verified: bool = True,
    launcher: Sequence[str] = (),
    mapping: str | None = None,
    progress: Progress = silent,
) -> Tuning:
    """Choose the algorithms of collectives, and write rules for the MPI in use as far as they hold.

    `source` is a sweep of `haloscope bench collective`, a program's profile, whose collectives are
    measured now, or a machine model with fitted algorithms: a file, or a machine's name. `output`
    is the file of rules, `rules.conf` or `rules.json` by what the library reads. Each rule is seen
    to take effect in a real run and measured against the library's own choice by `plan`, unless
    not `verified`. `launcher` is the command that starts ranks, with its options; `mapping` is in
    its words.

    Where no rule holds no file is written. Raises `UsageError` for what cannot be tuned,
    `RecorderError` for a library without rules or another one than was measured.

        made = haloscope.tune("sweep.jsonl", "rules.conf")
        print(haloscope.predict.tune.table(made))
    """
    choice, plan = choice or RuleChoice(), plan or ComparisonPlan()
    bench = Bench.here(launcher_of(launcher), mapping)
    place = Path(output or "rules" + (".conf" if bench.form == "openmpi-text" else ".json"))
    check_output(place, bench.form)
    _check_selectable(bench)
    if not verified and kind_of_source(source) == "profile":
        raise UsageError(f"{source}: a profile's collectives are measured, so its rules are verified, too")
    chosen, work = chosen_from(source, choice, bench, plan.method, progress, tried=verified)
    most = 2 * plan.rounds * len(chosen)
    with progress(most) if verified else silent(0) as step:
        made = write_rules(bench, chosen, place, plan if verified else None, step)
    made.work = work
    return made


def _check_selectable(bench: Bench) -> None:
    library = bench.library
    if all(len(library.algorithms(name)) == 1 for name in library.collectives()):
        raise RecorderError(
            f"{library.name} has no algorithms to select from: is the ompi_info of this "
            "installation missing? There is nothing to tune"
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
    """Write the rules for what was chosen, as far as they hold in real runs.

    Without a `plan` nothing is run: the rules are written as they are, and nothing is verified.
    Where no rule holds no file is written. `measure` compares default and tuned in another way.
    """
    made = Tuning(bench, output, chosen=dict(chosen))
    algorithms = {point: _algorithm(bench, point, one) for point, one in made.tuned.items()}
    if plan is not None and made.tuned:
        with _open_trial_file(output) as aside:
            _verify(made, algorithms, aside)
            made.defaults = _defaults(made)
            made.tried = len(runs_of(made.chosen))
            for _ in range(_MOST_PASSES):
                if not made.tuned or not _drop(made, aside, plan, step, measure):
                    break
            else:
                _give_up(made)
            if made.tuned:  # as it is now, once more: of fewer rules each must still be met
                _verify(made, algorithms, aside)
    made.rules = rules_of(made.chosen)
    if made.rules:
        write_whole(output, render(made.rules, bench.form, bench.file), "rules")
    return made


def _algorithm(bench: Bench, point: CollectivePoint, one: Candidate) -> Algorithm:
    return find_algorithm(bench, point.collective, one.name, one.segment, one.fanout)


@contextmanager
def _open_trial_file(output: Path) -> Iterator[Path]:
    """Yield a place for rules on trial, where all nodes see it that will see the output."""
    aside = output.absolute().with_name(f".{output.name}.{os.getpid()}.trial{output.suffix}")
    try:
        yield aside
    finally:
        aside.unlink(missing_ok=True)


def _write(made: Tuning, aside: Path) -> dict[str, str]:
    """Return the rules as they are now; the environment in which they are used."""
    write_whole(aside, render(rules_of(made.chosen), made.bench.form, made.bench.file), "rules")
    return settings(made.bench.form, aside, _collectives(made))


def _collectives(made: Tuning) -> list[str]:
    return sorted({point.collective for point in made.tuned})


def _verify(made: Tuning, algorithms: Mapping[CollectivePoint, Algorithm], aside: Path) -> None:
    """Drop the rules that are not seen to take effect."""
    _write(made, aside)
    seen = verify(made.bench, aside, {point: algorithms[point] for point in made.tuned})
    for point, verdict in seen.items():
        made.verdicts[point] = verdict
        if verdict.problem:
            made.problems.append(verdict.problem)
            made.chosen[point] = _OWN


def _defaults(made: Tuning) -> dict[CollectivePoint, str]:
    """Return the functions that do the points without rules; MPICH's cannot be seen."""
    if made.bench.form == "mpich-json":
        return {}
    seen: dict[CollectivePoint, str] = {}
    for ranks in {point.ranks for point in made.chosen}:
        points = [point for point in made.chosen if point.ranks == ranks]
        seen |= {point: describe_ran(ran) for point, ran in what_ran(made.bench, points, {}).items()}
    return seen


def _drop(
    made: Tuning, aside: Path, plan: ComparisonPlan, step: Callable[[str], None], measure: Measure
) -> set[CollectivePoint]:
    """Measure default against tuned; what does not hold is left to the library again."""
    environment = _write(made, aside)
    touched = _collectives(made)
    points = [point for point in made.chosen if point.collective in touched]
    trials = dict(measure(made.bench, points, environment, plan.method, plan.rounds, step))
    made.trials = trials
    dropped = not_holding(made.chosen, trials, plan.level)
    # Rules can slow down a collective even at points without a rule; then it loses all of its rules.
    aside_slower = slower(trials, plan.level) - set(made.tuned)
    lost = {point.collective for point in aside_slower}
    dropped |= {point for point in made.tuned if point.collective in lost}
    for point in sorted(dropped):
        gain, low, high = gain_interval(trials[point].gains)
        made.problems.append(
            f"{point}: {made.chosen[point].name} gains nothing for certain, "
            f"{gain:.2f} ({low:.2f} to {high:.2f})"
        )
        made.chosen[point] = _OWN
    if dropped:
        made.trials = {}
    return dropped


def _give_up(made: Tuning) -> None:
    for point in made.tuned:
        made.problems.append(f"{point}: other figures in every pass, so nothing is certain")
        made.chosen[point] = _OWN
