"""Forward-backward and Viterbi of ranks whose transitions vary in time, the same for all ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain._kernels import library

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Expectation", "expectation", "survivors", "viterbi"]


@dataclass(frozen=True)
class Expectation:
    """What one forward-backward pass knows; T instances, P ranks, K states."""

    log_likelihood: float
    posterior: NDArray[np.float64]  # (T, P, K), 0 after a rank's last instance
    pairs: NDArray[np.float64]  # (T, K, K): expected transitions into instance k, over ranks


def expectation(
    log_density: NDArray[np.float64],
    lengths: NDArray[np.int64],
    start: NDArray[np.float64],
    transitions: NDArray[np.float64],
) -> Expectation:
    """Forward-backward of (T, P, K) log-densities with transitions (T, K, K) into each instance.

    The rows of `transitions` need not add up to 1; `transitions[0]` is not used.
    """
    instances, ranks, states = log_density.shape
    density, posterior = log_density.astype(np.float64, order="C"), np.zeros(log_density.shape)
    pairs, after = np.zeros((instances, states, states)), np.ones((ranks, states))
    given = [
        np.ascontiguousarray(lengths, np.int64),
        *(np.ascontiguousarray(array, np.float64) for array in (start, transitions)),
    ]
    likelihood = library().haloscope_coupled(
        instances, ranks, states, *(array.ctypes.data for array in (*given, density, posterior, pairs, after))
    )
    return Expectation(float(likelihood), posterior, pairs)


def viterbi(
    log_density: NDArray[np.float64], start: NDArray[np.float64], transitions: NDArray[np.float64]
) -> NDArray[np.uint8]:
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
    log_density: NDArray[np.float64],
    lengths: NDArray[np.int64],
    shared: tuple[NDArray[np.float64], NDArray[np.float64]],
    start: NDArray[np.float64],
    ranks: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return machine states (T,) that explain (T, P, K) log-densities well.

    `shared` are start and transition of the machine, `ranks` (M, K, K) a rank's transitions in each
    of its states. Viterbi over the machine's states in which each survivor carries what is known of
    all ranks on its own path, which is exact for that path (per-survivor processing, Raheli,
    Polydoros & Tzou 1995).
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


def _normal(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    normal: NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True)
    return normal
