"""Predictions of scaling models for an unmeasured number of ranks, with leave-one-out variants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.explain.ensembles.scaling_laws import FEWEST_POINTS, ScalingLaws, fit_laws

__all__ = ["FEWEST_POINTS", "Beyond", "extrapolate_laws"]


@dataclass(frozen=True)
class Beyond:
    """Predictions of the scaling models of rows of values for one number of ranks.

    `value` has shape (rows,). The others have shape (rows, points), from models that were fitted without each
    point: `without` is their prediction for the number of ranks, `omitted` that for the omitted point.
    """

    laws: ScalingLaws
    value: Floats
    without: Floats
    omitted: Floats


def extrapolate_laws(points: Sequence[float], values: Floats, ranks: float) -> Beyond:
    """Extrapolate rows of values to a number of ranks.

    The term is selected again without each point, so the spread of the predictions includes the uncertainty
    of the selection. Predictions may be negative.

    Args:
        points: Numbers of ranks, `FEWEST_POINTS` or more.
        values: Values with shape (rows, points).
        ranks: Number of ranks to predict for.
    """
    x = np.asarray(points, dtype=np.float64)
    y = np.atleast_2d(np.asarray(values, dtype=np.float64))
    laws = fit_laws(x, y, bounded=True)
    fewer = [
        fit_laws(np.delete(x, left), np.delete(y, left, axis=1), bounded=True).at(np.array([ranks, x[left]]))
        for left in range(len(x))
    ]
    without = np.array(fewer)  # (points, rows, 2)
    return Beyond(laws, laws.at(np.array([float(ranks)]))[:, 0], without[:, :, 0].T, without[:, :, 1].T)
