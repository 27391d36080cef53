"""Expectation-maximisation: from a first guess to the nearest maximum of the likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._kernels import Chain
from haloscope.explain.regimes._chains import Expected, Parameters, Work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Climb", "Rules", "climb"]

# No transition is less likely: with one that is impossible the kernels take the slow way.
_RAREST = 1e-30
_ROUNDING = 1e-12  # of a log likelihood: a smaller gain may be none


@dataclass(frozen=True)
class Rules:
    """When to stop, and what the chain may be.

    Without `memory` each instance's regime is drawn anew (a mixture). `stickiness` is the number of
    instances a regime that are taken to have stayed, beside those seen.
    """

    max_iter: int
    tol: float
    memory: bool
    stickiness: float


@dataclass(frozen=True)
class Climb:
    """Where it ended: after so many steps, and whether higher would be little higher."""

    parameters: Parameters
    log_likelihood: float
    weight: Floats
    steps: int
    converged: bool

    def ordered(self, order: NDArray[np.intp]) -> Climb:
        """The same with states in another order."""
        return replace(self, parameters=self.parameters.ordered(order), weight=self.weight[order])


def climb(work: Work, parameters: Parameters, rules: Rules) -> Climb:
    """Take steps until what is still to be gained, per instance, is below `rules.tol`.

    What is to be gained is extrapolated from the last two gains as a geometric series (Aitken; see
    Böhning et al. 1994, doi 10.1007/BF01720593). A negative `tol` takes all steps.
    """
    if not rules.memory:
        parameters = Parameters(_mixture(parameters.chain.start), parameters.emission)
    last, gain, weight = -np.inf, np.inf, np.zeros(len(parameters.chain.start))
    steps, converged = 0, False
    while steps < rules.max_iter:
        expected = work.expected(parameters)
        weight = expected.weight
        reached = expected.log_likelihood + _prior(parameters.chain, rules)
        before, gain, last = gain, reached - last, reached
        if rules.tol >= 0 and _remaining(before, gain, last) <= rules.tol * work.sequences.points:
            converged = True
            break
        steps += 1
        parameters = Parameters(_chain(expected, parameters.chain, rules), expected.emission)
    if converged:
        return Climb(parameters, expected.log_likelihood, weight, steps, converged)
    likelihood = float(work.log_likelihoods(parameters).sum())
    return Climb(parameters, likelihood, weight, steps, converged)


def _prior(chain: Chain, rules: Rules) -> float:
    """The log density of the Dirichlet prior that stickiness is, but for a constant."""
    if not rules.stickiness or not rules.memory:
        return 0.0
    with np.errstate(divide="ignore"):
        return rules.stickiness * float(np.log(np.diag(chain.transition)).sum())


def _remaining(before: float, gain: float, log_likelihood: float) -> float:
    if gain <= _ROUNDING * abs(log_likelihood):
        return 0.0
    if not np.isfinite(before):
        return np.inf
    return gain * gain / (before - gain) if before > gain else np.inf


def _chain(expected: Expected, old: Chain, rules: Rules) -> Chain:
    if not rules.memory:
        return _mixture(expected.weight / expected.weight.sum())
    counts = expected.transition + rules.stickiness * np.eye(len(expected.start))
    left = counts.sum(axis=1, keepdims=True)
    transition = np.where(left > 0, counts / np.where(left > 0, left, 1), old.transition)
    return Chain(expected.start / expected.start.sum(), np.maximum(transition, _RAREST))


def _mixture(shares: Floats) -> Chain:
    """A chain without memory."""
    return Chain(shares, np.tile(np.maximum(shares, _RAREST), (len(shares), 1)))
