"""Further first guesses: a fitted model with one of its regimes split in two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._kernels import Chain
from haloscope.explain.regimes._chains import Parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain.regimes._sequences import Sequences

__all__ = ["splits"]

_APART = 0.6  # deviations of the split regime between it and each half
_NARROWER = 0.7
_STAYS = 0.9  # of what stayed in the split regime, in the same half


def splits(fitted: Parameters, sequences: Sequences) -> list[Parameters]:
    """Return a guess for each regime of a model, with one regime more than it has."""
    values = sequences.inside
    return [_split(fitted, state, values) for state in range(len(fitted.chain.start))]


def _split(fitted: Parameters, state: int, values: NDArray[np.float64]) -> Parameters:
    chain, emission = fitted.chain, fitted.emission
    mean, std = emission.means[state], emission.stds[state]
    low = max(mean - _APART * std, (mean + values.min()) / 2)
    means = np.append(emission.means, mean + _APART * std)
    stds = np.append(emission.stds, _NARROWER * std)
    means[state], stds[state] = low, _NARROWER * std
    origin = np.append(np.arange(len(chain.start)), state)
    shares = np.where(origin == state, 0.5, 1.0)
    transition = chain.transition[np.ix_(origin, origin)] * shares
    halves = np.array([state, len(origin) - 1])
    stays = chain.transition[state, state]
    transition[np.ix_(halves, halves)] = stays * (1.0 - _STAYS)
    transition[halves, halves] = stays * _STAYS
    start = chain.start[origin] * shares
    return Parameters(Chain(start, transition), type(emission).from_moments(means, stds, values))
