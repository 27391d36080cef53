"""Coupled chains: one of the machine, and one per rank, whose transitions depend on the machine's state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haloscope.base.arrays import Bytes, Flags, Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.markov.emissions.emission import Emission
from haloscope.profile.kernels import native_library


@dataclass(frozen=True)
class Expectation:
    """The result of one forward-backward pass; T instances, P ranks, K states."""

    log_likelihood: float
    posterior: Floats  # (T, P, K), 0 after a rank's last instance
    pairs: Floats  # (T, K, K): expected transitions into instance k, over ranks


def expectation(log_density: Floats, lengths: Integers, start: Floats, transitions: Floats) -> Expectation:
    """Return forward-backward of (T, P, K) log-densities, transitions (T, K, K) into each instance.

    The rows of `transitions` need not add up to 1; `transitions[0]` is not used.
    """
    instances, ranks, states = log_density.shape
    density, posterior = log_density.astype(np.float64, order="C"), np.zeros(log_density.shape)
    pairs, after = np.zeros((instances, states, states)), np.ones((ranks, states))
    given = [
        np.ascontiguousarray(lengths, np.int64),
        *(np.ascontiguousarray(array, np.float64) for array in (start, transitions)),
    ]
    likelihood = native_library().haloscope_coupled(
        instances, ranks, states, *(array.ctypes.data for array in (*given, density, posterior, pairs, after))
    )
    return Expectation(float(likelihood), posterior, pairs)


def viterbi(log_density: Floats, start: Floats, transitions: Floats) -> Bytes:
    """Return the likeliest states (T, P) of each rank; instances without a duration are (0, 0…)."""
    instances, ranks, _ = log_density.shape
    with np.errstate(divide="ignore"):
        logs, score = np.log(transitions), np.log(start) + log_density[0]
    origin = np.zeros(log_density.shape, np.uint8)
    for k in range(1, instances):
        into = score[:, :, None] + logs[k]
        best = into.argmax(axis=1)
        origin[k] = best
        score = np.take_along_axis(into, best[:, None, :], axis=1)[:, 0] + log_density[k]
    states = np.empty((instances, ranks), np.uint8)
    states[-1] = score.argmax(axis=1)
    for k in range(instances - 1, 0, -1):
        states[k - 1] = origin[k][np.arange(ranks), states[k]]
    return states


def survivors(
    log_density: Floats, lengths: Integers, shared: tuple[Floats, Floats], start: Floats, ranks: Floats
) -> Integers:
    """Return machine states (T,) that explain (T, P, K) log-densities well.

    `shared` are start and transition of the machine, `ranks` (M, K, K) a rank's transitions in each of its
    states. Viterbi over the machine's states. Each survivor carries the beliefs about all ranks on its own
    path, which are exact for that path (per-survivor processing, Raheli, Polydoros & Tzou 1995).
    """
    instances, states = len(log_density), len(ranks)
    active = np.arange(instances)[:, None] < lengths
    top = log_density.max(axis=2, keepdims=True)
    density = np.exp(log_density - top)
    with np.errstate(divide="ignore"):
        score, steps = np.log(shared[0]), np.log(shared[1])
    known = np.repeat(_normal(start * density[0])[None], states, axis=0)
    origin = np.zeros((instances, states), np.int64)
    for k in range(1, instances):
        ahead = known[:, None] @ ranks * density[k]
        total = ahead.sum(axis=3)
        gains = score[:, None] + steps + np.log(total) @ active[k]
        origin[k] = gains.argmax(axis=0)
        chosen = (origin[k], np.arange(states))
        score, known = gains[chosen], ahead[chosen] / total[chosen][..., None]
    path = np.empty(instances, np.int64)
    path[-1] = score.argmax()
    for k in range(instances - 1, 0, -1):
        path[k - 1] = origin[k, path[k]]
    return path


def _normal(weights: Floats) -> Floats:
    normal: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normal


_LEAST = 1e-12  # the probability of a transition that was never seen, whose logarithm is then finite
_LEAPS = 10
_SURE = 0.98  # the belief in a path that was found; other paths keep the rest


@dataclass(frozen=True)
class DurationGrid:
    """Durations in the order of instances; within an instance in the order of ranks."""

    values: Floats  # the durations of all instances that exist
    active: Flags  # (instances, ranks): where those durations belong
    lengths: Integers

    @classmethod
    def from_durations(cls, durations: Floats) -> DurationGrid:
        """Return (ranks, instances) as a grid. Raises `UsageError`."""
        matrix = np.asarray(durations, np.float64)
        if matrix.ndim != 2 or not matrix.size:
            raise UsageError("a machine model takes a matrix of durations, ranks × instances")
        active = ~np.isnan(matrix.T)
        lengths = active.sum(axis=0)
        if (active != (np.arange(len(active))[:, None] < lengths)).any():
            raise UsageError("a duration is missing between others; NaN may only end a rank's row")
        if not lengths.all():
            raise UsageError("a rank has no duration; leave it out")
        active = active[: lengths.max()]
        values = matrix.T[: len(active)][active]
        if not np.isfinite(values).all():
            raise UsageError("a duration is infinite; leave it out")
        return cls(values, active, lengths)

    def rows(self) -> list[Floats]:
        """Return the durations of each rank."""
        matrix = self.fill(self.values)
        return [matrix[:length, rank] for rank, length in enumerate(self.lengths.tolist())]

    def means(self) -> Floats:
        """Return the mean over ranks at each instance."""
        means: Floats = self.fill(self.values).sum(axis=1) / self.active.sum(axis=1)
        return means

    def fill(self, values: Floats) -> Floats:
        """Return values, one number or row per duration, in the grid; 0 where there is no duration."""
        grid = np.zeros(self.active.shape + values.shape[1:])
        grid[self.active] = values
        return grid

    def log_density(self, emission: Emission) -> Floats:
        """Return (instances, ranks, regimes)."""
        return self.fill(emission.log_density(self.values))


@dataclass(frozen=True)
class Chains:
    """Parameters of the coupled chains: machine states m, regimes of a rank i, j.

    `machine[m, n]` is the probability that machine state n follows m. `ranks[n, i, j]` is the probability
    that regime j follows i if the machine is in state n at the instance of j.
    """

    machine_start: Floats
    machine: Floats
    start: Floats
    ranks: Floats

    def transitions(self, machine_posterior: Floats) -> Floats:
        """Return exp(E[log ranks]) at each instance, (instances, regimes, regimes)."""
        expected: Floats = np.exp(np.tensordot(machine_posterior, np.log(self.ranks), 1))
        return expected


@dataclass(frozen=True)
class ChainBelief:
    """The beliefs about the hidden chains, and the lower bound of the log-likelihood."""

    machine: Floats  # (instances, machine states)
    machine_pairs: Floats  # expected transitions
    ranks: Expectation
    support: Floats  # (instances, machine states): log-evidence for the machine state
    bound: float


def evidence(chains: Chains, log_density: Floats, lengths: Integers, machine: Floats) -> ChainBelief:
    """Return one round of structured variational inference from the belief `machine`.

    Belief factorises into the machine's chain and the ranks' chains, each kept whole (Saul & Jordan 1995;
    Ghahramani & Jordan 1997). Given the machine's chain, ranks are independent. Given the ranks' chains, the
    evidence for machine state m at instance k is Σ over ranks of E[log ranks[m, i, j]]. With many ranks the
    machine's state is nearly certain, and then the factorisation is exact.
    """
    ranks = expectation(log_density, lengths, chains.start, chains.transitions(machine))
    support = np.tensordot(ranks.pairs, np.log(chains.ranks), ((1, 2), (1, 2)))
    repeated = np.broadcast_to(chains.machine, (len(support), *chains.machine.shape))
    length = np.full(1, len(support))
    believed = expectation(support[:, None, :], length, chains.machine_start, repeated)
    bound = believed.log_likelihood + ranks.log_likelihood - float((machine * support).sum())
    return ChainBelief(believed.posterior[:, 0], believed.pairs.sum(axis=0), ranks, support, bound)


def likelier(believed: ChainBelief) -> Chains:
    """Return the chains that are likeliest under these beliefs."""
    pairs = np.tensordot(believed.machine, believed.ranks.pairs, ((0,), (0,)))
    return Chains(
        _probabilities(believed.machine[0]),
        _probabilities(believed.machine_pairs),
        _probabilities(believed.ranks.posterior[0].sum(axis=0)),
        _probabilities(pairs),
    )


def _probabilities(counts: Floats) -> Floats:
    """Return probabilities along the last axis, none of them 0."""
    total = counts.sum(axis=-1, keepdims=True)
    even = np.full_like(counts, 1.0 / counts.shape[-1])
    shares = np.divide(counts, total, out=even, where=total > 0)
    shares = np.maximum(shares, _LEAST)
    normal: Floats = shares / shares.sum(axis=-1, keepdims=True)
    return normal


@dataclass(frozen=True)
class CoupledFit:
    """Parameters, the beliefs under them, and the bounds of all steps."""

    chains: Chains
    emission: Emission
    belief: Floats
    bounds: tuple[float, ...] = (-np.inf,)
    converged: bool = False


def fit_chains(fitted: CoupledFit, grid: DurationGrid, max_iter: int, tol: float) -> CoupledFit:
    """Return the best fit that climbs and leaps from a start reach.

    A climb is variational EM. Its belief in the machine's path confirms itself: at the end of a slowdown,
    ranks that count as slow are evidence for a slow machine. So a leap takes the path that explains all ranks
    without such a belief, and another climb begins there. This repeats until it gains nothing.
    """
    best = climb_bound(fitted, grid, max_iter, tol)
    for _ in range(_LEAPS):
        density = grid.log_density(best.emission)
        belief = _path(best.chains, density, grid.lengths)
        believed = _replace_belief(evidence(best.chains, density, grid.lengths, belief), belief)
        leap = replace(best, chains=likelier(believed), belief=belief)
        leap = climb_bound(leap, grid, max_iter, tol)
        if leap.bounds[-1] - best.bounds[-1] < tol * abs(best.bounds[-1]):
            break
        best = leap
    return best


def climb_bound(fitted: CoupledFit, grid: DurationGrid, max_iter: int, tol: float) -> CoupledFit:
    """Return the fit at which variational EM converges; the bound never falls."""
    chains, emission, belief = fitted.chains, fitted.emission, fitted.belief
    bounds: list[float] = []
    for _ in range(max_iter):
        believed = evidence(chains, grid.log_density(emission), grid.lengths, belief)
        belief = believed.machine
        bounds.append(believed.bound)
        if len(bounds) > 1 and bounds[-1] - bounds[-2] < tol * abs(bounds[-1]):
            return CoupledFit(chains, emission, belief, tuple(bounds), converged=True)
        chains = likelier(believed)
        emission = emission.reestimate(grid.values, believed.ranks.posterior[grid.active])
    return CoupledFit(chains, emission, belief, tuple(bounds))


def infer_states(chains: Chains, density: Floats, lengths: Integers, rounds: int = 20) -> ChainBelief:
    """Return the beliefs about the chains for fixed parameters."""
    belief = _path(chains, density, lengths)
    for _ in range(rounds):
        believed = evidence(chains, density, lengths, belief)
        change = float(np.abs(believed.machine - belief).max())
        belief = believed.machine
        if change < 1e-6:
            break
    return believed


def start_from_machine(chains: Chains, grid: DurationGrid, emission: Emission, belief: Floats) -> CoupledFit:
    """Return a start from a belief in the machine's states."""
    believed = evidence(chains, grid.log_density(emission), grid.lengths, belief)
    return CoupledFit(likelier(_replace_belief(believed, belief)), emission, belief)


def _path(chains: Chains, density: Floats, lengths: Integers) -> Floats:
    shared = (chains.machine_start, chains.machine)
    path = survivors(density, lengths, shared, chains.start, chains.ranks)
    states = len(chains.machine)
    belief: Floats = np.eye(states)[path] * _SURE + (1.0 - _SURE) / states
    return belief


def _replace_belief(believed: ChainBelief, belief: Floats) -> ChainBelief:
    """Return the evidence with a different belief in the machine's states."""
    return replace(believed, machine=belief, machine_pairs=belief[:-1].T @ belief[1:])
