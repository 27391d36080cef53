"""Trials of remedies in real runs: what seems to help in one run each is then proved in runs of its own."""

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
from haloscope.base.preloading import Choice, Target, find_target
from haloscope.base.units import percent_text, time_text
from haloscope.hide.improve.remedy import Remedy, remedies
from haloscope.hide.improve.trial_runs import Runner, TrialRun
from haloscope.profile import Profile

AS_IT_IS = "as it is"

_LEVEL = 0.05
_LEAST_GAIN = 0.03  # of the time: less is not worth a line of a job script
_SEEMS = 0.95  # of the time without it
_MOST_PROMISING = 2
_LEAST_ROUNDS, _MOST_ROUNDS = 3, 5

Step = Callable[[str], None]


@dataclass(frozen=True)
class TrialPlan:
    """How many runs in all, and the seed of their order."""

    runs: int = 20
    seed: int = 0


@dataclass(frozen=True)
class Proof:
    """Gains (time before / after) of remedies over others, in rounds of runs that stood side by side.

    `gain` is their geometric mean, `low` and `high` its interval, corrected for the number of proofs.
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
        """Whether it is faster for certain, and by enough."""
        return self.low > 1 and self.gain >= 1 + _LEAST_GAIN

    def figures(self) -> dict[str, Any]:
        """Return it as JSON has it; a bound that is not known is None."""
        bound = self.high if np.isfinite(self.high) else None
        return vars(self) | {"high": bound, "holds": self.holds}


@dataclass(frozen=True)
class Improvement:
    """What was tried, what came of it, and what stays: `kept`."""

    command: tuple[str, ...]
    tried: tuple[Remedy, ...]
    runs: tuple[TrialRun, ...]
    proofs: tuple[Proof, ...]
    kept: tuple[Remedy, ...]

    @property
    def proof(self) -> Proof | None:
        """That of all that is kept, over the run as it was."""
        names = tuple(remedy.name for remedy in self.kept)
        return next((one for one in self.proofs if one.remedies == names and not one.over), None)

    def figures(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {
            "command": list(self.command),
            "tried": [{"remedy": one.name, "why": one.why, "script": one.script()} for one in self.tried],
            "runs": [
                {"remedies": one.remedies, "time": one.seconds, "problem": one.problem} for one in self.runs
            ],
            "proofs": [one.figures() for one in self.proofs],
            "kept": [one.name for one in self.kept],
            "script": self.script(),
        }

    def script(self) -> list[str]:
        """Return what to put into a job script."""
        return [line for remedy in self.kept for line in remedy.script()]

    def problems(self) -> list[str]:
        """Return a line for each remedy, or none, with which the program did not come to its end."""
        failed = {run.remedies: run.problem for run in self.runs if run.seconds is None}
        return [f"dropped: {' and '.join(names) or AS_IT_IS}: {problem}" for names, problem in failed.items()]

    def describe(self) -> list[str]:
        """Return what people want to know, in lines."""
        why = {one.name: one.why for one in self.tried}
        lines = [f"{len(self.runs)} runs, {len(self.tried)} remedies tried"]
        lines += self.problems()
        for one in self.proofs:
            over = f" over {' and '.join(one.over)}" if one.over else ""
            verdict = "kept" if one.holds else "not kept"
            lines.append(
                f"{verdict}: {' and '.join(one.remedies)} ({why[one.remedies[-1]]}){over}: "
                f"{one.gain:.2f} times as fast ({one.low:.2f} to {one.high:.2f} in {len(one.after)} rounds)"
            )
        if self.proof is None:
            return [*lines, "nothing is proposed: no remedy was faster for certain"]
        before, after = float(np.median(self.proof.before)), float(np.median(self.proof.after))
        saved = percent_text(before - after, before)
        return [*lines, f"{time_text(before)} became {time_text(after)}: {saved} less"]


def improve(
    command: Sequence[str], *, plan: TrialPlan = TrialPlan(), progress: Step | None = None
) -> Improvement:
    """Profile a launch command, try what may make it faster, and return what does for certain.

    At most `plan.runs` runs. Each remedy is tried once; the two that seem best are proved in fresh runs
    beside the command as it was, one after the other in random order, and together. What ends a run, or takes
    five times as long, is dropped and told. Raises `LaunchError` if the command itself fails.

        print("\\n".join(haloscope.improve(["mpiexec", "-n", "8", "./app"]).script()))
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
            found = _choose_remedies(profile, target, plan)
        promising = _promising(runner, found, step)
        proofs = _proved(runner, promising, plan, step)
    return Improvement(
        tuple(command), tuple(found), tuple(runner.runs), tuple(proofs), _select_proven(promising, proofs)
    )


def _choose_remedies(profile: Profile, target: Target, plan: TrialPlan) -> list[Remedy]:
    """Return as many remedies as leave half of the runs for proofs."""
    return remedies(profile, target.launch, target.mpi.abi, os.environ)[: max(1, plan.runs // 2 - 2)]


def _promising(runner: Runner, found: Sequence[Remedy], step: Step) -> list[Remedy]:
    """Try each once, between two runs as it was; return those that seem to help, the best first."""
    times: dict[str, float] = {}
    for remedy in found:
        step(remedy.name)
        run = runner(remedy)
        if run.seconds is not None:
            times[remedy.name] = run.seconds
    step(AS_IT_IS)
    own = [run.seconds for run in [*runner.runs[:1], runner()] if run.seconds is not None]
    seeming = [one for one in found if times.get(one.name, np.inf) < _SEEMS * min(own)]
    return sorted(seeming, key=lambda one: times[one.name])[:_MOST_PROMISING]


def _proved(runner: Runner, promising: Sequence[Remedy], plan: TrialPlan, step: Step) -> list[Proof]:
    """Run as it was, with the best, and with both, in turn; each round in random order."""
    if not promising:
        return []
    ways: list[tuple[Remedy, ...]] = [(), *(tuple(promising[: count + 1]) for count in range(len(promising)))]
    left = plan.runs - len(runner.runs)
    if left < _LEAST_ROUNDS * len(ways):
        ways = ways[:2]
    rounds = min(_MOST_ROUNDS, left // len(ways))
    lot = random.Random(plan.seed)
    times: dict[tuple[str, ...], list[float]] = {_names(way): [] for way in ways}
    for _ in range(rounds):
        for way in lot.sample(ways, len(ways)):
            step(" and ".join(_names(way)) or AS_IT_IS)
            seconds = runner(*way).seconds
            times[_names(way)].append(np.nan if seconds is None else seconds)
    # What did not always come to its end is no remedy, however quick it was when it did.
    whole = [way for way in ways if not way or np.isfinite(times[_names(way)]).all()]
    pairs = [(one, other) for place, one in enumerate(whole) for other in whole[:place]]
    proofs = [_proof(_names(one), _names(other), times, len(pairs)) for one, other in pairs]
    # One round has no interval.
    return _consistent([proof for proof in proofs if len(proof.after) > 1])


def _select_proven(promising: Sequence[Remedy], proofs: Sequence[Proof]) -> tuple[Remedy, ...]:
    """Return the most remedies that are faster for certain than the run as it was."""
    holding = [one.remedies for one in proofs if one.holds and not one.over]
    names = max(holding, key=len, default=())
    return tuple(one for one in promising if one.name in names)


def _names(way: Sequence[Remedy]) -> tuple[str, ...]:
    return tuple(one.name for one in way)


def _proof(
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


def _consistent(proofs: Sequence[Proof]) -> list[Proof]:
    """Return proofs without those of several remedies of which one adds nothing to the others."""
    useless = {one.remedies for one in proofs if one.over and not one.holds}
    return [one for one in proofs if one.remedies not in useless or one.over]
