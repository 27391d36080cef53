"""The search of remedies in real runs: successive halving, then a proof for the best."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from haloscope.base.errors import LaunchError, UsageError
from haloscope.base.files import unused_path
from haloscope.base.preloading import Choice, find_target
from haloscope.base.units import noun_text
from haloscope.explain.findings import findings
from haloscope.hide.improve.candidates import list_remedies
from haloscope.hide.improve.improvement import AS_IT_IS, Improvement
from haloscope.hide.improve.merit import FigureOfMerit
from haloscope.hide.improve.proof import PAIRS, Proof, SequentialTest
from haloscope.hide.improve.remedy import Remedy
from haloscope.hide.improve.trial_runs import Outputs, Runner, TrialRun
from haloscope.profile import Profile

LEVEL = 0.01  # chance that a search proposes any remedy that changes nothing
FEWEST_RUNS = 2 + 4 * PAIRS  # the first, one of a remedy, and the shortest proof
_MOST_CAUSES = 2
_SEEMS = 0.99  # largest ratio of times with and without a remedy for which it seems faster

Step = Callable[[str], None]


@dataclass(frozen=True)
class TrialPlan:
    """Total number of runs, the seed of their order, and the compared number.

    `metric` is a regular expression for a number that the program prints, with one group. The group's name
    `rate` means that more is better. None: the time of the run is compared.
    """

    runs: int = 25
    seed: int = 0
    metric: str | None = None


def improve(
    command: Sequence[str], *, plan: TrialPlan = TrialPlan(), progress: Step | None = None
) -> Improvement:
    """Profile a launch command, try remedies, and return those that make it significantly faster.

    Each remedy is tried once. The better half of the seemingly faster ones is tried again. The best is then
    tested in new runs, interleaved with the unchanged command in random order. The next one is tested in
    addition to it, or instead. A remedy whose run fails, or takes five times as long, is dropped.

    After the first run, Ctrl-C ends the search. The result has the proofs so far.

    Args:
        command: The launch command, as a list of words.
        plan: Number of runs, seed of their order, and the compared number.
        progress: Called with the name of each trial when it begins.

    Raises:
        LaunchError: The unchanged command fails, or does not print the metric.
        UsageError: The plan has too few runs, or the metric is no regular expression with one group.

    Examples:
        >>> print("\\n".join(haloscope.improve(["mpiexec", "-n", "8", "./app"]).script()))
    """
    if plan.runs < FEWEST_RUNS:
        raise UsageError(f"{noun_text(plan.runs, 'run')} cannot prove a gain; {FEWEST_RUNS} or more can")
    step = progress or (lambda what: None)
    metric = None if plan.metric is None else FigureOfMerit.of(plan.metric)
    target = find_target(command, Choice(), "there is nothing to improve")
    with tempfile.TemporaryDirectory(prefix="haloscope-improve-") as directory:
        runner = Runner(target.command, Path(directory), metric)
        step(AS_IT_IS)
        first = runner()
        if first.judged is None:
            raise LaunchError(f"{' '.join(command)}: {first.problem}")
        search = RemedySearch(runner, plan, step)
        causes: tuple[str, ...] = ()
        remedies: list[Remedy] = []
        is_interrupted = False
        with _choose_rules_directory() as rules:
            try:
                with Profile(runner.profile) as profile:
                    found = findings(profile)
                    causes = tuple(finding.sentence for finding in found[:_MOST_CAUSES])
                    step("measuring collectives")
                    remedies = list_remedies(
                        profile,
                        target.launch,
                        target.mpi.abi,
                        os.environ,
                        found=found,
                        taken=runner.taken,
                        directory=rules,
                    )
                search.run(remedies)
            except KeyboardInterrupt:
                is_interrupted = True
            kept = tuple(_keep_file(remedy) for remedy in search.kept)
    tried = {name for run in runner.runs for name in run.remedies}
    return Improvement(
        tuple(command),
        tuple(remedy for remedy in remedies if remedy.name in tried),
        tuple(runner.runs),
        tuple(search.proofs),
        kept,
        causes,
        omitted=tuple(remedy.name for remedy in remedies if remedy.name not in tried),
        unproved=tuple(remedy.name for remedy in search.unproved),
        remarks=tuple(_compare_outputs(runner, kept)),
        is_interrupted=is_interrupted,
        is_rate=metric is not None and metric.is_rate,
    )


class RemedySearch:
    """The trials of remedies after the first run."""

    def __init__(self, runner: Callable[..., TrialRun], plan: TrialPlan, step: Step) -> None:
        self.kept: tuple[Remedy, ...] = ()
        self.proofs: list[Proof] = []
        self.unproved: tuple[Remedy, ...] = ()
        """Remedies that seem faster, without runs for a proof."""
        self._runner, self._plan, self._step = runner, plan, step
        self._left = plan.runs - 1
        self._level = LEVEL
        self._random = random.Random(plan.seed)
        self._failed: set[str] = set()

    def run(self, remedies: Sequence[Remedy]) -> None:
        """Try the remedies, and keep those that are proved."""
        waiting = list(remedies)
        while waiting and self._level > 0 and self._spare >= 0:
            racing = waiting[: max(self._spare - 4, 1)]  # the last two race again
            waiting = waiting[len(racing) :]
            self._prove_best(self._select(racing), is_end=not waiting)

    @property
    def _spare(self) -> int:
        """Runs that are left beyond the shortest proof."""
        return self._left - 4 * PAIRS

    def _prove_best(self, seeming: Sequence[Remedy], is_end: bool) -> None:
        for index, remedy in enumerate(seeming):
            # A proof that holds leaves its level to the next one, so that only one that fails uses it.
            is_last = self._left < 8 * PAIRS or (is_end and index + 1 == len(seeming))
            level = self._level if is_last else self._level / 2
            test = SequentialTest(level, self._left)
            if level <= 0 or not test.is_possible:
                self.unproved = (*self.unproved, *seeming[index:])
                return
            proof = self._prove(remedy, test)
            if proof is None:
                continue
            self.proofs.append(proof)
            if proof.holds:
                self.kept = (*self.kept, remedy)
            else:
                self._level -= level

    def _select(self, racing: Sequence[Remedy]) -> list[Remedy]:
        """Return the remedies that seem faster, the best first, by successive halving."""
        costs: dict[str, list[float]] = {}
        own: list[float] = []
        while racing and self._spare > len(racing):
            ways: list[tuple[Remedy, ...]] = [self.kept, *((*self.kept, remedy) for remedy in racing)]
            for way in self._random.sample(ways, len(ways)):
                cost = self._try(*way)
                if cost is not None:
                    (own if way == self.kept else costs.setdefault(way[-1].name, [])).append(cost)
            ratios = {
                remedy.name: float(np.median(costs[remedy.name]) / np.median(own))
                for remedy in racing
                if remedy.name in costs and remedy.name not in self._failed and own
            }
            seeming = [remedy for remedy in racing if ratios.get(remedy.name, np.inf) < _SEEMS]
            seeming.sort(key=lambda remedy: ratios[remedy.name])
            if len(seeming) <= 2:
                return seeming
            racing = seeming[: (len(racing) + 1) // 2]
        return list(racing)

    def _prove(self, remedy: Remedy, test: SequentialTest) -> Proof | None:
        """Run the kept remedies with and without a further one in rounds. None if a run fails."""
        ways = (self.kept, (*self.kept, remedy))
        while not test.is_over:
            costs: tuple[list[float], list[float]] = ([], [])
            for side in self._random.sample([0, 1] * PAIRS, 2 * PAIRS):
                cost = self._try(*ways[side])
                if cost is None:  # however fast its other runs were
                    return None
                costs[side].append(cost)
            test.add(*costs)
        names = tuple(other.name for other in ways[1])
        return test.conclude(names, names[:-1])

    def _try(self, *remedies: Remedy) -> float | None:
        self._step(" and ".join(remedy.name for remedy in remedies) or AS_IT_IS)
        self._left -= 1
        cost = self._runner(*remedies).judged
        if cost is None and remedies:
            self._failed.add(remedies[-1].name)
        return cost


@contextmanager
def _choose_rules_directory() -> Iterator[Path]:
    """Yield a directory to make for rules, here: nodes see it if they see the program."""
    parent = Path.cwd() if os.access(Path.cwd(), os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    directory = parent / f".haloscope-improve-{os.getpid()}"
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _keep_file(remedy: Remedy) -> Remedy:
    """Copy the file of a kept remedy to the current directory."""
    if remedy.file is None:
        return remedy
    target = unused_path(Path.cwd() / remedy.file.name)
    shutil.copyfile(remedy.file, target)
    variables = {
        name: str(target) if value == str(remedy.file.absolute()) else value
        for name, value in remedy.variables.items()
    }
    return replace(remedy, variables=variables, file=target)


def _compare_outputs(runner: Runner, kept: Sequence[Remedy]) -> Iterator[str]:
    """Yield a line if the program prints something else with the kept remedies."""
    names = tuple(remedy.name for remedy in kept)
    own, other = runner.outputs.get((), Outputs()), runner.outputs.get(names)
    if not names or other is None:
        return
    missing = own.find_missing(other)
    if missing:
        yield (
            f"with {' and '.join(names)}, the program never prints {len(missing)} of the lines that it"
            f" always prints without, such as: {missing[0][:200]}"
        )
