"""The whole-machine model of a run, fitted to the ranks of Algorithm 1, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import UsageError
from haloscope.explain.regimes._machine import NONE, MachineModel, MachineStates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain.regimes._timings import Timings

__all__ = ["Stay", "WholeMachine", "whole_machine"]


@dataclass(frozen=True)
class Stay:
    """One state of the machine: how often it was in it, for how long, and what that cost."""

    state: int  # 0: the fastest
    mean: float | None  # seconds of an instance, over the fitted ranks
    share: float  # of the instances
    stretches: int
    regimes: tuple[float, ...]  # shares of the fitted ranks' instances
    instances: int

    @property
    def length(self) -> float | None:
        """Instances of a stretch, on average."""
        return self.instances / self.stretches if self.stretches else None


@dataclass(frozen=True)
class WholeMachine:
    """The model and the states of its machine and of the ranks in `timings`."""

    timings: Timings
    model: MachineModel
    states: MachineStates

    def stays(self) -> list[Stay]:
        """Return the machine's states, the fastest first."""
        return [self._stay(state) for state in range(self.model.n_machine_states)]

    def _stay(self, state: int) -> Stay:
        there = self.states.machine == state
        ranks = self.states.ranks[:, there]
        times = self.timings.durations[:, : there.size][:, there]
        known = ranks != NONE
        shares = [float((ranks == regime).sum()) for regime in range(self.model.n_regimes)]
        return Stay(
            state,
            float(times[known].mean()) if known.any() else None,
            float(there.mean()),
            int(np.count_nonzero(there & ~np.concatenate(([False], there[:-1])))),
            tuple(share / max(1, int(known.sum())) for share in shares),
            int(there.sum()),
        )

    def told(self) -> list[str]:
        """Return a line for each state in which the machine was slower."""
        first, *others = self.stays()
        lines = [_slower(stay, first) for stay in others if stay.stretches]
        if not self.model.converged_:
            lines.append("warning: the machine's model was still rising; trust it less")
        return lines or ["machine: was in one state all the time"]


def _slower(stay: Stay, first: Stay) -> str:
    ratio = ""
    if stay.mean and first.mean:
        ratio = f", {stay.mean / first.mean:.3g} times as slow as state 1"
    return (
        f"machine: in state {stay.state + 1} {100 * stay.share:.3g} % of the instances,"
        f" {stay.stretches} stretches of {stay.length:.3g} on average{ratio}"
    )


def whole_machine(
    timings: Timings, training: NDArray[np.int64], instances: slice, model: MachineModel
) -> WholeMachine:
    """Fit the model to these rows and instances, and decode all instances of these rows.

    Raises `UsageError` if there are too few.
    """
    if len(training) < 2:
        raise UsageError("a whole machine has several ranks; --machine-states needs their times")
    rows = timings.chosen(np.sort(training))
    fitted = rows.durations[:, instances]
    model.fit(fitted[~np.isnan(fitted[:, :1]).all(axis=1)])
    return WholeMachine(rows, model, model.decode(rows.durations))
