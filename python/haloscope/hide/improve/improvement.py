"""Trials of remedies in real runs: candidates that seem faster in one run are then tested in separate
runs."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haloscope.base.errors import LaunchError
from haloscope.base.preloading import Choice, find_target
from haloscope.base.units import noun_text, percent_text, time_text
from haloscope.explain.findings import findings
from haloscope.hide.improve.remedy import Remedy, list_remedies
from haloscope.hide.improve.trial_runs import Runner, TrialRun
from haloscope.profile import Profile

AS_IT_IS = "as it is"

_MOST_CAUSES = 2
_LEVEL = 0.05
_LEAST_GAIN = 0.03  # smallest gain of a remedy that is kept, as a share of the time
_SEEMS = 0.95  # largest ratio of times with and without a remedy for which it seems faster
_MOST_PROMISING = 2
_LEAST_ROUNDS, _MOST_ROUNDS = 3, 5

Step = Callable[[str], None]


@dataclass(frozen=True)
class TrialPlan:
    """Total number of runs, and the seed of their order."""

    runs: int = 20
    seed: int = 0


@dataclass(frozen=True)
class Proof:
    """The gain (time before / time after) of remedies over others, in interleaved rounds of runs.

    `gain` is the geometric mean over rounds, `low` and `high` its 95 % interval, corrected for the number of
    proofs.
    """

    remedies: tuple[str, ...]
    over: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    gain: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the gain is significant and at least 3 %."""
        return self.low > 1 and self.gain >= 1 + _LEAST_GAIN

    def figures(self) -> dict[str, Any]:
        """Return the proof as an object for JSON; an unknown bound is None."""
        bound = self.high if np.isfinite(self.high) else None
        return vars(self) | {"high": bound, "holds": self.holds}


@dataclass(frozen=True)
class Improvement:
    """The tried remedies, the results of all runs, and the remedies that are kept.

    `causes` are the sentences of the largest findings of the first run.
    """

    command: tuple[str, ...]
    tried: tuple[Remedy, ...]
    runs: tuple[TrialRun, ...]
    proofs: tuple[Proof, ...]
    kept: tuple[Remedy, ...]
    causes: tuple[str, ...] = ()

    @property
    def proof(self) -> Proof | None:
        """The proof of all kept remedies over the unchanged command."""
        names = tuple(remedy.name for remedy in self.kept)
        return next((proof for proof in self.proofs if proof.remedies == names and not proof.over), None)

    def figures(self) -> dict[str, Any]:
        """Return the improvement as an object for JSON."""
        return {
            "command": list(self.command),
            "tried": [{"remedy": item.name, "why": item.why, "script": item.script()} for item in self.tried],
            "runs": [
                {"remedies": item.remedies, "time": item.seconds, "problem": item.problem}
                for item in self.runs
            ],
            "proofs": [item.figures() for item in self.proofs],
            "kept": [item.name for item in self.kept],
            "causes": list(self.causes),
            "script": self.script(),
        }

    def script(self) -> list[str]:
        """Return the lines for a job script."""
        return [line for remedy in self.kept for line in remedy.script()]

    def problems(self) -> list[str]:
        """Return one line per combination of remedies with which the program failed."""
        failed = {run.remedies: run.problem for run in self.runs if run.seconds is None}
        return [f"dropped: {' and '.join(names) or AS_IT_IS}: {problem}" for names, problem in failed.items()]

    def explain_failure(self) -> str:
        """Return why nothing is proved; an empty text if something is."""
        if self.proof is not None:
            return ""
        if not self.tried:
            return "no remedy applies to this launch command and this profile"
        best = max((item for item in self.proofs if not item.over), key=lambda item: item.gain, default=None)
        if best is None:
            return self._explain_selection()
        rounds = noun_text(len(best.after), "round")
        name = " and ".join(best.remedies)
        if best.low > 1:
            return f"{name} is only {best.gain:.2f} times as fast; a remedy needs {1 + _LEAST_GAIN:.2f}"
        bounds = f"{best.low:.2f} to {best.high:.2f}"
        more = "" if len(best.after) >= _MOST_ROUNDS else "; more rounds may prove it (--runs 20)"
        return (
            f"{name} was {best.gain:.2f} times as fast, but {rounds} do not exclude chance ({bounds}){more}"
        )

    def _explain_selection(self) -> str:
        """Return why no remedy got a proof."""
        selection = self.runs[: len(self.tried) + 2]
        known = [(run.remedies, run.seconds) for run in selection if run.seconds is not None]
        own = min((seconds for names, seconds in known if not names), default=0.0)
        if not any(names and seconds < _SEEMS * own for names, seconds in known):
            return f"no remedy was at least {100 * (1 - _SEEMS):.0f} % faster when tried once"
        if any(run.seconds is None for run in self.runs[len(selection) :]):
            return "later runs of the best remedy, or of the unchanged command, failed"
        return "too few runs were left for a proof (--runs 20)"

    def describe(self) -> list[str]:
        """Return the result as lines."""
        why = {proof.name: proof.why for proof in self.tried}
        tried = noun_text(len(self.tried), "remedy", "remedies")
        lines = [f"{noun_text(len(self.runs), 'run')}, {tried} tried"]
        lines += [f"cause: {sentence}" for sentence in self.causes]
        lines += self.problems()
        for proof in self.proofs:
            over = f" over {' and '.join(proof.over)}" if proof.over else ""
            verdict = "kept" if proof.holds else "not kept"
            lines.append(
                f"{verdict}: {' and '.join(proof.remedies)} ({why[proof.remedies[-1]]}){over}: "
                f"{proof.gain:.2f} times as fast ({proof.low:.2f} to {proof.high:.2f} in"
                f" {noun_text(len(proof.after), 'round')})"
            )
        if self.proof is None:
            return [*lines, f"nothing is proposed: {self.explain_failure()}"]
        before, after = float(np.median(self.proof.before)), float(np.median(self.proof.after))
        saved = percent_text(before - after, before)
        return [*lines, f"{time_text(before)} before, {time_text(after)} after: {saved} less"]


def improve(
    command: Sequence[str], *, plan: TrialPlan = TrialPlan(), progress: Step | None = None
) -> Improvement:
    """Profile a launch command, try remedies, and return those that make it significantly faster.

    Each remedy is tried once. The two that seem best are then tested in new runs, alone and together,
    interleaved with the unchanged command in random order. A remedy whose run fails, or takes five times as
    long, is dropped and reported.

    Args:
        command: The launch command, as a list of words.
        plan: Number of runs and seed of their order.
        progress: Called with the name of each trial when it begins.

    Raises:
        LaunchError: The unchanged command fails.

    Examples:
        >>> print("\\n".join(haloscope.improve(["mpiexec", "-n", "8", "./app"]).script()))
    """

    step = progress or (lambda what: None)
    target = find_target(command, Choice(), "there is nothing to improve")
    with tempfile.TemporaryDirectory(prefix="haloscope-improve-") as directory:
        runner = Runner(target.command, Path(directory))
        step(AS_IT_IS)
        first = runner()
        if first.seconds is None:
            raise LaunchError(f"{' '.join(command)}: {first.problem}")
        with Profile(runner.profile) as profile:
            most = max(1, plan.runs // 2 - 2)  # half of the runs remain for proofs
            found = list_remedies(profile, target.launch, target.mpi.abi, os.environ)[:most]
            causes = tuple(finding.sentence for finding in findings(profile)[:_MOST_CAUSES])
        promising = _find_promising(runner, found, step)
        proofs = _prove(runner, promising, plan, step)
    kept = _select_proven(promising, proofs)
    return Improvement(tuple(command), tuple(found), tuple(runner.runs), tuple(proofs), kept, causes)


def _find_promising(runner: Runner, found: Sequence[Remedy], step: Step) -> list[Remedy]:
    """Try each remedy once, between two unchanged runs; return those that seem faster, the best first."""
    times: dict[str, float] = {}
    for remedy in found:
        step(remedy.name)
        run = runner(remedy)
        if run.seconds is not None:
            times[remedy.name] = run.seconds
    step(AS_IT_IS)
    own = [run.seconds for run in [*runner.runs[:1], runner()] if run.seconds is not None]
    seeming = [remedy for remedy in found if times.get(remedy.name, np.inf) < _SEEMS * min(own)]
    return sorted(seeming, key=lambda remedy: times[remedy.name])[:_MOST_PROMISING]


def _prove(runner: Runner, promising: Sequence[Remedy], plan: TrialPlan, step: Step) -> list[Proof]:
    """Run the unchanged command, the best remedy and both in rounds, each in random order."""
    if not promising:
        return []
    ways: list[tuple[Remedy, ...]] = [(), *(tuple(promising[: count + 1]) for count in range(len(promising)))]
    left = plan.runs - len(runner.runs)
    if left < _LEAST_ROUNDS * len(ways):
        ways = ways[:2]
    rounds = min(_MOST_ROUNDS, left // len(ways))
    random_order = random.Random(plan.seed)
    times: dict[tuple[str, ...], list[float]] = {_remedy_names(way): [] for way in ways}
    for _ in range(rounds):
        for way in random_order.sample(ways, len(ways)):
            step(" and ".join(_remedy_names(way)) or AS_IT_IS)
            seconds = runner(*way).seconds
            times[_remedy_names(way)].append(np.nan if seconds is None else seconds)
    # A combination that failed in any round is no remedy, however fast its other runs were.
    whole = [way for way in ways if not way or np.isfinite(times[_remedy_names(way)]).all()]
    pairs = [(way, other) for index, way in enumerate(whole) for other in whole[:index]]
    proofs = [
        _make_proof(_remedy_names(way), _remedy_names(other), times, len(pairs)) for way, other in pairs
    ]
    # One round has no interval.
    return _drop_useless([proof for proof in proofs if len(proof.after) > 1])


def _select_proven(promising: Sequence[Remedy], proofs: Sequence[Proof]) -> tuple[Remedy, ...]:
    """Return the largest set of remedies that is significantly faster than the unchanged command."""
    holding = [item.remedies for item in proofs if item.holds and not item.over]
    names = max(holding, key=len, default=())
    return tuple(item for item in promising if item.name in names)


def _remedy_names(way: Sequence[Remedy]) -> tuple[str, ...]:
    return tuple(remedy.name for remedy in way)


def _make_proof(
    names: tuple[str, ...], over: tuple[str, ...], times: dict[tuple[str, ...], list[float]], proofs: int
) -> Proof:
    from haloscope.predict.tune import gain_interval

    before, after = np.array(times[over]), np.array(times[names])
    both = np.isfinite(before) & np.isfinite(after)
    before, after = before[both], after[both]
    gain, low, high = 1.0, 0.0, np.inf
    if len(after):
        gain, low, high = gain_interval(np.log(before / after), _LEVEL / proofs)
    rest = tuple(name for name in over if name in names)
    return Proof(names, rest, tuple(before.tolist()), tuple(after.tolist()), gain, low, high)


def _drop_useless(proofs: Sequence[Proof]) -> list[Proof]:
    """Return the proofs without combinations in which one remedy adds no significant gain."""
    useless = {proof.remedies for proof in proofs if proof.over and not proof.holds}
    return [proof for proof in proofs if proof.remedies not in useless or proof.over]
