"""The whole machine: one chain of machine states, on which the regimes of all ranks depend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike

import numpy as np

from haloscope.base.arrays import Bytes, Floats, Integers
from haloscope.base.errors import ProfileError, UsageError
from haloscope.markov.fitting.chains import NONE
from haloscope.markov.fitting.coupled import (
    Chains,
    CoupledFit,
    DurationGrid,
    evidence,
    fit_chains,
    infer_states,
    start_from_machine,
    viterbi,
)
from haloscope.markov.fitting.intervals import shares
from haloscope.markov.fitting.regime_model import RegimeModel
from haloscope.markov.fitting.saved import Saved, emission_of, read_model, write
from haloscope.markov.timings import Timings


@dataclass(frozen=True)
class MachineStates:
    """The decoded states of a run: `machine` (instances,) and `ranks` (ranks, instances).

    Machine states are ordered by the mean duration in them, regimes by their mean; 255 where a rank has no
    such instance. `posterior` (instances, machine states) has the probabilities of machine states.
    """

    machine: Bytes
    ranks: Bytes
    posterior: Floats


class MachineModel:
    """Regimes of ranks whose transitions depend on a hidden state that all ranks share.

    The machine's state M[k] is a Markov chain. The regime S[p, k] of rank p follows S[p, k−1] with
    probabilities that depend on M[k]. A duration depends on its regime alone. So the model separates
    slowdowns of the whole machine from isolated ones (Figure 1 of Heldman et al. shows both), and each rank
    is decoded with the data of all ranks. Fitted by variational EM: see docs/explanation/regimes-machine.md.

    Fitted: `emission_`, `means_`, `stds_`, `start_`, `transitions_` (machine states, regimes, regimes),
    `machine_start_`, `machine_transition_`, `bounds_`, `n_iter_`, `converged_`. `bounds_` is the lower bound
    of the log-likelihood after each iteration of the last climb; it never falls.
    """

    def __init__(
        self,
        n_regimes: int = 3,
        n_machine_states: int = 2,
        emission: str = "gaussian",
        *,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-7,
        random_state: int = 0,
    ) -> None:
        self.n_regimes, self.n_machine_states = n_regimes, n_machine_states
        self.emission, self.n_init = emission, n_init
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state

    def fit(self, durations: Floats) -> MachineModel:
        """Fit to (ranks, instances) seconds, NaN after a rank's last instance; `tol` is relative.

        Raises `UsageError` if there are too few ranks or instances.
        """
        grid = DurationGrid.from_durations(durations)
        alone = RegimeModel(
            self.n_regimes, self.emission, n_init=self.n_init, random_state=self.random_state
        ).fit(grid.rows())
        fitted = fit_chains(self._first(alone, grid), grid, self.max_iter, self.tol)
        self.bounds_, self.n_iter_ = fitted.bounds, len(fitted.bounds)
        self.converged_ = fitted.converged
        self._keep(fitted, grid.means())
        return self

    def decode(self, durations: Floats) -> MachineStates:
        """Return the likeliest machine states, and given them the regimes of (ranks, instances)."""
        grid = DurationGrid.from_durations(durations)
        density = grid.log_density(self.emission_)
        believed = infer_states(self._chains, density, grid.lengths)
        states = viterbi(density, self.start_, self._chains.transitions(believed.machine)).T
        steps = np.broadcast_to(self.machine_transition_, (len(density), *self.machine_transition_.shape))
        machine = viterbi(believed.support[:, None, :], self.machine_start_, steps)[:, 0]
        states[~grid.active.T] = NONE
        return MachineStates(machine, states, believed.machine)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model as JSON, whole or not at all. Raises `OutputError`.

        docs/reference/regimes-model.md describes the file.
        """
        time = shares(self.machine_transition_)
        transition = np.tensordot(time, self.transitions_, 1)
        summary = {"mean": self.means_, "std": self.stds_, "share": shares(transition)}
        fit = {"bound": self.bounds_[-1], "iterations": self.n_iter_, "converged": self.converged_}
        machine = {
            "start": self.machine_start_,
            "transition": self.machine_transition_,
            "transitions": self.transitions_,
        }
        named = self.emission_.parameters
        saved = Saved(self.emission, True, named, self.start_, transition, summary, fit)
        write(replace(saved, machine=machine), path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> MachineModel:
        """Read what `save` wrote: a fitted model. Raises `ProfileError`."""
        saved = read_model(path)
        if not saved.machine:
            raise ProfileError(f"{path}: has no machine; read it as a RegimeModel")
        model = cls(len(saved.start), len(saved.machine["start"]), saved.family)
        model.emission_ = emission_of(saved, path)
        model.means_, model.stds_ = model.emission_.means, model.emission_.stds
        model.start_, model.transitions_ = saved.start, saved.machine["transitions"]
        model.machine_start_ = saved.machine["start"]
        model.machine_transition_ = saved.machine["transition"]
        model.bounds_ = (saved.number("bound", float("nan")),)
        model.n_iter_ = int(saved.number("iterations"))
        model.converged_ = saved.fit.get("converged") is True
        return model

    def _first(self, alone: RegimeModel, grid: DurationGrid) -> CoupledFit:
        """Return a start, from regimes of each rank on its own.

        The mean of the ranks' regime numbers at each instance is a series; its regimes are the machine's.
        """
        count = self.n_machine_states
        chains = Chains(
            np.full(count, 1.0 / count),
            _remove_zeros(np.eye(count)),
            _remove_zeros(alone.start_),
            np.repeat(_remove_zeros(alone.transition_)[None], count, axis=0),
        )
        even = np.full((len(grid.active), count), 1.0 / count)
        believed = evidence(chains, grid.log_density(alone.emission_), grid.lengths, even)
        level = (believed.ranks.posterior @ np.arange(float(self.n_regimes))).sum(axis=1)
        level /= grid.active.sum(axis=1)
        shared = RegimeModel(count, random_state=self.random_state).fit(level[None])
        belief = _remove_zeros(shared.predict_proba(level[None])[0])
        return start_from_machine(chains, grid, alone.emission_, belief)

    def _keep(self, fitted: CoupledFit, level: Floats) -> None:
        """Keep the parameters: regimes in the order of their means, machine states of durations."""
        with np.errstate(invalid="ignore", divide="ignore"):
            slowness = fitted.belief.T @ level / fitted.belief.sum(axis=0)
        states, machine = np.argsort(fitted.emission.means), np.argsort(slowness)
        chains = fitted.chains
        self.emission_ = fitted.emission.reorder(states)
        self.means_, self.stds_ = self.emission_.means, self.emission_.stds
        self.machine_start_ = chains.machine_start[machine]
        self.machine_transition_ = chains.machine[np.ix_(machine, machine)]
        self.start_ = chains.start[states]
        self.transitions_ = chains.ranks[np.ix_(machine, states, states)]

    @property
    def _chains(self) -> Chains:
        return Chains(self.machine_start_, self.machine_transition_, self.start_, self.transitions_)


def _remove_zeros(probabilities: Floats) -> Floats:
    """Return probabilities without zeros, so that no path is excluded from the beginning."""
    blurred: Floats = 0.9 * probabilities + 0.1 / probabilities.shape[-1]
    return blurred


@dataclass(frozen=True)
class Stay:
    """One state of the machine: its frequency, duration and cost."""

    state: int  # 0: the fastest
    mean: float | None  # seconds of an instance, over the fitted ranks
    share: float  # of the instances
    stretches: int
    regimes: tuple[float, ...]  # shares of the fitted ranks' instances
    instances: int

    @property
    def length(self) -> float | None:
        """The mean number of instances of a stretch."""
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

    def describe(self) -> list[str]:
        """Return a line per state in which the machine was slower."""
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


def fit_machine(timings: Timings, training: Integers, instances: slice, model: MachineModel) -> WholeMachine:
    """Fit the model to these rows and instances, and decode all instances of these rows.

    Raises `UsageError` if there are too few.
    """
    if len(training) < 2:
        raise UsageError("a whole machine has several ranks; machine_states needs their times")
    rows = timings.select(np.sort(training))
    fitted = rows.durations[:, instances]
    model.fit(fitted[~np.isnan(fitted[:, :1]).all(axis=1)])
    return WholeMachine(rows, model, model.decode(rows.durations))
