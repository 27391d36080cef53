"""Fitting coupled chains: variational EM, and leaps out of where it came to rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain.regimes._coupled import Chains, Evidence, evidence, likelier
from haloscope.explain.regimes._passes import survivors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain.regimes._emissions import Emission
    from haloscope.explain.regimes._grid import Grid

__all__ = ["Place", "climbed", "fitted", "settled", "started"]

_LEAPS = 10
_SURE = 0.98  # belief in a path that was found: what it rules out may come back


@dataclass(frozen=True)
class Place:
    """Parameters, what is believed with them, and the bounds on the way there."""

    chains: Chains
    emission: Emission
    belief: NDArray[np.float64]
    bounds: tuple[float, ...] = (-np.inf,)
    converged: bool = False


def fitted(place: Place, grid: Grid, max_iter: int, tol: float) -> Place:
    """Return the best place that climbs and leaps from `place` lead to.

    A climb is variational EM. Its belief in the machine's path confirms itself: at the end of a
    slowdown, ranks that are taken for slow speak for a slow machine. So the path that explains all
    ranks without such a belief is looked for with the parameters found, and another climb begins
    there, until that gains nothing.
    """
    best = climbed(place, grid, max_iter, tol)
    for _ in range(_LEAPS):
        density = grid.log_density(best.emission)
        belief = _path(best.chains, density, grid.lengths)
        believed = _about(evidence(best.chains, density, grid.lengths, belief), belief)
        leap = replace(best, chains=likelier(believed), belief=belief)
        leap = climbed(leap, grid, max_iter, tol)
        if leap.bounds[-1] - best.bounds[-1] < tol * abs(best.bounds[-1]):
            break
        best = leap
    return best


def climbed(place: Place, grid: Grid, max_iter: int, tol: float) -> Place:
    """Return where variational EM comes to rest; the bound does not fall on the way."""
    chains, emission, belief = place.chains, place.emission, place.belief
    bounds: list[float] = []
    for _ in range(max_iter):
        believed = evidence(chains, grid.log_density(emission), grid.lengths, belief)
        belief = believed.machine
        bounds.append(believed.bound)
        if len(bounds) > 1 and bounds[-1] - bounds[-2] < tol * abs(bounds[-1]):
            return Place(chains, emission, belief, tuple(bounds), converged=True)
        chains = likelier(believed)
        emission = emission.updated(grid.values, believed.ranks.posterior[grid.active])
    return Place(chains, emission, belief, tuple(bounds))


def settled(
    chains: Chains, density: NDArray[np.float64], lengths: NDArray[np.int64], rounds: int = 20
) -> Evidence:
    """Return what is believed of the chains when their parameters stay."""
    belief = _path(chains, density, lengths)
    for _ in range(rounds):
        believed = evidence(chains, density, lengths, belief)
        change = float(np.abs(believed.machine - belief).max())
        belief = believed.machine
        if change < 1e-6:
            break
    return believed


def started(chains: Chains, grid: Grid, emission: Emission, belief: NDArray[np.float64]) -> Place:
    """Return where to begin with a belief in the machine's states."""
    believed = evidence(chains, grid.log_density(emission), grid.lengths, belief)
    return Place(likelier(_about(believed, belief)), emission, belief)


def _path(
    chains: Chains, density: NDArray[np.float64], lengths: NDArray[np.int64]
) -> NDArray[np.float64]:
    shared = (chains.machine_start, chains.machine)
    path = survivors(density, lengths, shared, chains.start, chains.ranks)
    states = len(chains.machine)
    belief: NDArray[np.float64] = np.eye(states)[path] * _SURE + (1.0 - _SURE) / states
    return belief


def _about(believed: Evidence, belief: NDArray[np.float64]) -> Evidence:
    """Return the evidence with another belief in the machine's states."""
    return replace(believed, machine=belief, machine_pairs=belief[:-1].T @ belief[1:])
