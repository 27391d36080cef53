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

_STAYS = 0.9  # of what stayed in the split regime, in the same half
# Where the halves lie and how wide they are, in deviations of the split regime: beside each other,
# or a narrow one within a wide one.
_HALVES = (((-0.6, 0.6), (0.7, 0.7)), ((-0.2, 0.2), (0.4, 1.4)))


def splits(fitted: Parameters, sequences: Sequences) -> list[Parameters]:
    """Return two guesses for each regime of a model, with one regime more than it has."""
    values = sequences.inside
    return [
        _split(fitted, state, values, np.array(places), np.array(widths))
        for state in range(len(fitted.chain.start))
        for places, widths in _HALVES
    ]


def _split(
    fitted: Parameters,
    state: int,
    values: NDArray[np.float64],
    places: NDArray[np.float64],
    widths: NDArray[np.float64],
) -> Parameters:
    chain, emission = fitted.chain, fitted.emission
    mean, std = emission.means[state], emission.stds[state]
    halves = np.array([state, len(chain.start)])
    means, stds = np.append(emission.means, 0.0), np.append(emission.stds, 0.0)
    means[halves] = np.maximum(mean + places * std, (mean + values.min()) / 2)
    stds[halves] = widths * std
    origin = np.append(np.arange(len(chain.start)), state)
    shares = np.where(origin == state, 0.5, 1.0)
    transition = chain.transition[np.ix_(origin, origin)] * shares
    stays = chain.transition[state, state]
    transition[np.ix_(halves, halves)] = stays * (1.0 - _STAYS)
    transition[halves, halves] = stays * _STAYS
    start = chain.start[origin] * shares
    return Parameters(Chain(start, transition), type(emission).from_moments(means, stds, values))
