"""Chains that are coupled: one of the machine, and one a rank whose transitions it steers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain.regimes._passes import Expectation, expectation

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["Chains", "Evidence", "evidence", "likelier"]

_LEAST = 1e-12  # probability: the logarithm of a transition that was never seen


@dataclass(frozen=True)
class Chains:
    """Parameters of the coupled chains: machine states m, regimes of a rank i, j.

    `machine[m, n]` is the probability that machine state m is followed by n, `ranks[n, i, j]` that
    regime i is followed by j when the machine is in state n at the latter's instance.
    """

    machine_start: NDArray[np.float64]
    machine: NDArray[np.float64]
    start: NDArray[np.float64]
    ranks: NDArray[np.float64]

    def transitions(self, machine_posterior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return exp(E[log ranks]) at each instance, (instances, regimes, regimes)."""
        expected: NDArray[np.float64] = np.exp(
            np.tensordot(machine_posterior, np.log(self.ranks), 1)
        )
        return expected


@dataclass(frozen=True)
class Evidence:
    """What is believed of the hidden chains, and the lower bound of the log-likelihood."""

    machine: NDArray[np.float64]  # (instances, machine states)
    machine_pairs: NDArray[np.float64]  # expected transitions
    ranks: Expectation
    support: NDArray[np.float64]  # (instances, machine states): log-evidence for the machine state
    bound: float


def evidence(
    chains: Chains,
    log_density: NDArray[np.float64],
    lengths: NDArray[np.int64],
    machine: NDArray[np.float64],
) -> Evidence:
    """One round of structured variational inference from the belief `machine`.

    Belief factorises into the machine's chain and the ranks' chains, each kept whole (Saul & Jordan
    1995; Ghahramani & Jordan 1997). Given the former, ranks are independent; given the latter, what
    speaks for machine state m at instance k is Σ over ranks of E[log ranks[m, i, j]]. With many
    ranks the machine's state is all but certain, and then the factorisation is exact.
    """
    ranks = expectation(log_density, lengths, chains.start, chains.transitions(machine))
    support = np.tensordot(ranks.pairs, np.log(chains.ranks), ((1, 2), (1, 2)))
    repeated = np.broadcast_to(chains.machine, (len(support), *chains.machine.shape))
    one = np.full(1, len(support))
    believed = expectation(support[:, None, :], one, chains.machine_start, repeated)
    bound = believed.log_likelihood + ranks.log_likelihood - float((machine * support).sum())
    return Evidence(believed.posterior[:, 0], believed.pairs.sum(axis=0), ranks, support, bound)


def likelier(believed: Evidence) -> Chains:
    """Return the chains that make what is believed likeliest."""
    pairs = np.tensordot(believed.machine, believed.ranks.pairs, ((0,), (0,)))
    return Chains(
        _normal(believed.machine[0]),
        _normal(believed.machine_pairs),
        _normal(believed.ranks.posterior[0].sum(axis=0)),
        _normal(pairs),
    )


def _normal(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities along the last axis, none of them 0."""
    total = counts.sum(axis=-1, keepdims=True)
    even = np.full_like(counts, 1.0 / counts.shape[-1])
    shares = np.divide(counts, total, out=even, where=total > 0)
    shares = np.maximum(shares, _LEAST)
    normal: NDArray[np.float64] = shares / shares.sum(axis=-1, keepdims=True)
    return normal
