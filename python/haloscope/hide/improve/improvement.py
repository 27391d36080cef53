"""The result of a search of remedies: trials, proofs, and the reason if nothing is proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from haloscope.base.units import noun_text, percent_text, time_text
from haloscope.hide.improve.proof import LEAST_GAIN, Proof
from haloscope.hide.improve.remedy import Remedy
from haloscope.hide.improve.trial_runs import TrialRun

AS_IT_IS = "as it is"
_MUCH_SPREAD = 0.05  # difference of unchanged runs that explains why nothing is proved


@dataclass(frozen=True)
class Improvement:
    """The tried remedies, the results of all runs, and the remedies that are kept.

    `causes` are the sentences of the largest findings of the first run. `omitted` are names of remedies for
    which no runs were left, `unproved` of those that seem faster, without runs for a proof.
    `remarks` are lines on the output of the program. With `is_rate`, costs are inverse figures of merit.
    """

    command: tuple[str, ...]
    tried: tuple[Remedy, ...]
    runs: tuple[TrialRun, ...]
    proofs: tuple[Proof, ...]
    kept: tuple[Remedy, ...]
    causes: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    is_interrupted: bool = False
    is_rate: bool = False

    @property
    def proof(self) -> Proof | None:
        """The gain of all kept remedies over the unchanged command: the product of their gains."""
        holding = [proof for proof in self.proofs if proof.holds]
        if not self.kept or not holding:
            return None
        gain, low, high = (
            float(np.prod([getattr(proof, name) for proof in holding])) for name in ("gain", "low", "high")
        )
        return Proof(holding[-1].remedies, (), holding[0].before, holding[-1].after, gain, low, high, True)

    @property
    def spread(self) -> float:
        """The relative difference of the longest and the shortest unchanged run."""
        own = [run.judged for run in self.runs if not run.remedies and run.judged is not None]
        return max(own) / min(own) - 1 if own else 0.0

    @property
    def _has_metric(self) -> bool:
        return any(run.metric is not None for run in self.runs)

    @property
    def _unit(self) -> str:
        return "times as good by the metric" if self._has_metric else "times as fast"

    def figures(self) -> dict[str, Any]:
        """Return the improvement as an object for JSON."""
        return {
            "command": list(self.command),
            "tried": [{"remedy": item.name, "why": item.why, "script": item.script()} for item in self.tried],
            "runs": [
                {
                    "remedies": item.remedies,
                    "time": item.seconds,
                    "metric": item.metric,
                    "problem": item.problem,
                }
                for item in self.runs
            ],
            "proofs": [item.figures() for item in self.proofs],
            "kept": [item.name for item in self.kept],
            "causes": list(self.causes),
            "omitted": list(self.omitted),
            "unproved": list(self.unproved),
            "remarks": list(self.remarks),
            "script": self.script(),
            "interrupted": self.is_interrupted,
        }

    def script(self) -> list[str]:
        """Return the lines for a job script."""
        return [line for remedy in self.kept for line in remedy.script()]

    def explain_failure(self) -> str:
        """Return why nothing is proved; an empty text if something is."""
        if self.proof is not None:
            return ""
        if self.is_interrupted:
            return f"the search was interrupted after {noun_text(len(self.runs), 'run')}"
        if not self.tried:
            return "no remedy applies to this launch command and this profile"
        best = max(self.proofs, key=lambda item: item.gain, default=None)
        if best is None:
            return self._explain_selection()
        name = " and ".join(best.remedies)
        tried = f"{name} was {best.gain:.2f} {self._unit} in {noun_text(2 * len(best.after), 'run')}"
        if best.gain < 1 + LEAST_GAIN:
            return f"{tried}; a remedy needs {1 + LEAST_GAIN:.2f}"
        noise = f": unchanged runs differ by {100 * self.spread:.0f} %" if self.spread >= _MUCH_SPREAD else ""
        more = f"; more runs may prove it (--runs {2 * len(self.runs)})"
        return f"{tried}, which may be chance{noise}{more}"

    def _explain_selection(self) -> str:
        """Return why no remedy got a proof."""
        done = {run.remedies for run in self.runs if run.judged is not None and run.remedies}
        if not done:
            return "the program failed with each remedy"
        if any(run.judged is None and (run.remedies in done or not run.remedies) for run in self.runs):
            return "later runs of the best remedy, or of the unchanged command, failed"
        return "no remedy seemed faster when tried"

    def describe(self) -> list[str]:
        """Return the result as lines."""
        lines = [*self._describe_search(), *map(self._describe_proof, self.proofs), *self.remarks]
        if self.unproved:
            more = f"more runs may prove it (--runs {2 * len(self.runs)})"
            lines.append(f"seems faster, without runs for a proof: {', '.join(self.unproved)}; {more}")
        proof = self.proof
        if proof is None:
            return [*lines, f"nothing is proposed: {self.explain_failure()}"]
        return [*lines, self._describe_gain(float(np.median(proof.before)), float(np.median(proof.after)))]

    def _describe_search(self) -> Iterator[str]:
        tried = noun_text(len(self.tried), "remedy", "remedies")
        reason = "" if self.is_interrupted else " for want of runs"
        omitted = f", {len(self.omitted)} not tried{reason}" if self.omitted else ""
        yield f"{noun_text(len(self.runs), 'run')}, {tried} tried{omitted}"
        yield from (f"cause: {sentence}" for sentence in self.causes)
        failed = {run.remedies: run.problem for run in self.runs if run.judged is None}
        yield from (
            f"dropped: {' and '.join(names)}: {problem}" if names else f"a run {AS_IT_IS} failed: {problem}"
            for names, problem in failed.items()
        )

    def _describe_proof(self, proof: Proof) -> str:
        why = {remedy.name: remedy.why for remedy in self.tried}
        over = f" over {' and '.join(proof.over)}" if proof.over else ""
        verdict = "kept" if proof.holds else "not kept"
        interval = f"{proof.low:.2f} to {proof.high:.2f} " if np.isfinite(proof.high) else ""
        return (
            f"{verdict}: {' and '.join(proof.remedies)} ({why[proof.remedies[-1]]}){over}: "
            f"{proof.gain:.2f} {self._unit} ({interval}in"
            f" {noun_text(2 * len(proof.after), 'run')})"
        )

    def _describe_gain(self, before: float, after: float) -> str:
        """Return the line about both sides, as times or as numbers of the program."""
        saved = percent_text(before - after, before)
        if not self._has_metric:
            return f"{time_text(before)} before, {time_text(after)} after: {saved} less"
        if self.is_rate:
            return f"{1 / before:.4g} before, {1 / after:.4g} after: the metric of the program"
        return f"{before:.4g} before, {after:.4g} after: {saved} less"
