"""Least squares of relative errors with coefficients that are not negative, robust to outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["bootstrap", "fit", "spread"]

_HUBER = 1.345
# Of a point's weight: pulls parameters that the points do not determine towards the machine's own.
_PULL = 0.02


def fit(rows: Floats, times: Floats, prior: Floats, rounds: int = 8) -> Floats:
    """Coefficients for which `rows` @ coefficients are `times`, with small relative errors.

    Huber's weights, by iteration. `prior` is where what is left open goes; NaN for nowhere.
    """
    relative = rows / times[:, None]
    scale = np.sqrt((relative**2).mean(axis=0))
    used = scale > 0
    scale[~used] = 1.0
    known = np.flatnonzero(used & (prior > 0))
    strength = _PULL * np.sqrt(len(times))
    pull = np.zeros((len(known), rows.shape[1]))
    pull[np.arange(len(known)), known] = strength / (prior[known] * scale[known])
    wanted = np.concatenate([np.ones(len(times)), np.full(len(known), strength)])
    weights = np.ones(len(times))
    found = np.zeros(rows.shape[1])
    for _ in range(rounds):
        left = np.concatenate([weights[:, None] * relative / scale, pull])
        right = np.concatenate([weights, np.ones(len(known))]) * wanted
        found = nnls(left, right)[0] / scale
        errors = np.abs(relative @ found - 1)
        limit = _HUBER * max(1.4826 * float(np.median(errors)), 1e-6)
        weights = np.sqrt(np.minimum(1, limit / np.maximum(errors, limit)))
    return np.asarray(found)


def spread(rows: Floats, times: Floats, found: Floats) -> float:
    """A sum of relative errors that no outlier rules."""
    errors = np.abs(rows @ found / times - 1)
    return float(np.minimum(errors, 0.5).mean())


def bootstrap(rows: Floats, times: Floats, prior: Floats, resamples: int = 60) -> Floats:
    """Bounds of the coefficients' 95 % intervals, (2, coefficients), by resampling points."""
    random = np.random.default_rng(0)
    drawn = random.integers(0, len(times), (resamples, len(times)))
    found = [fit(rows[take], times[take], prior, 3) for take in drawn]
    return np.asarray(np.percentile(found, [2.5, 97.5], axis=0))
