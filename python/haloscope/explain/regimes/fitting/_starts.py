"""First guesses: timings in order are cut into parts, or a regime of a model is split in two."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._kernels import Chain
from haloscope.explain.regimes.fitting._chains import Parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from haloscope.explain.regimes.emissions._emissions import Emission
    from haloscope.explain.regimes.fitting._sequences import Sequences

    Floats = NDArray[np.float64]

__all__ = ["splits", "starts"]

_MOST_VALUES = 1 << 14
_STAYING = 0.9
_ROUNDS = 50
_NARROWEST = 0.02  # of the distance of the quartiles, for a state to grow from
_STAYS = 0.9  # of what stayed in the split regime, in the same half
# Where the halves lie and how wide they are, in deviations of the split regime: beside each other,
# or a narrow one within a wide one.
_HALVES = (((-0.6, 0.6), (0.7, 0.7)), ((-0.2, 0.2), (0.4, 1.4)))


def starts(
    sequences: Sequences, emission: type[Emission], regimes: int, number: int, seed: int | None
) -> Iterator[Parameters]:
    """Yield `number` guesses, the same ones for the same seed.

    The first has equally many timings in each part; the second cuts where clusters of the
    logarithms meet (k-means), the third where those of the timings meet; all others at random
    quantiles. Few timings among many count as many.
    """
    random = np.random.default_rng(seed)
    values = sequences.inside
    values = np.sort(values[:: len(values) // _MOST_VALUES + 1])
    for guess in range(number):
        if guess == 0:
            cuts = np.arange(1, regimes) * len(values) // regimes
        elif guess == 1 and values[0] > 0:
            cuts = _clusters(np.log(values), regimes)
        elif guess <= 2:
            cuts = _clusters(values, regimes)
        else:
            cuts = np.sort(random.integers(1, max(len(values), 2), regimes - 1))
        yield Parameters(alike(regimes), _cut(values, cuts, emission))


def _clusters(values: Floats, regimes: int) -> NDArray[np.intp]:
    """Where sorted values are cut by k-means, from clusters of equal width between quantiles."""
    low, high = values[int(0.01 * len(values))], values[int(0.99 * (len(values) - 1))]
    centres = low + (high - low) * (np.arange(regimes) + 0.5) / regimes
    sums = np.concatenate([[0.0], np.cumsum(values)])
    cuts = np.zeros(0, dtype=np.intp)
    for _ in range(_ROUNDS):
        new = np.searchsorted(values, (centres[1:] + centres[:-1]) / 2)
        if np.array_equal(new, cuts):
            break
        cuts = new
        edges = np.concatenate([[0], cuts, [len(values)]])
        sizes = np.diff(edges)
        means = np.diff(sums[edges]) / np.maximum(sizes, 1)
        centres = np.where(sizes > 0, means, centres)
    return cuts


def _cut(values: Floats, cuts: NDArray[np.intp], emission: type[Emission]) -> Emission:
    """A state for each part; one of which nothing is left takes the timing at the cut."""
    edges = np.concatenate([[0], cuts, [len(values)]]).tolist()
    parts = [
        values[begin:end] if begin < end else values[min(begin, len(values) - 1) :][:1]
        for begin, end in pairwise(edges)
    ]
    means = np.array([part.mean() for part in parts])
    low, high = np.quantile(values, [0.25, 0.75])
    stds = np.array([max(part.std(), _NARROWEST * (high - low)) for part in parts])
    return emission.from_moments(means, stds, values)


def alike(regimes: int) -> Chain:
    """Return a chain whose regimes all last ten instances."""
    others = (1 - _STAYING) / max(regimes - 1, 1)
    transition = np.full((regimes, regimes), others)
    np.fill_diagonal(transition, _STAYING if regimes > 1 else 1.0)
    return Chain(np.full(regimes, 1 / regimes), transition)


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
