"""What laws say of one number of ranks that was not measured, and how that changes without each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.explain.ensembles.scaling_laws import FEWEST_POINTS, ScalingLaws, fit

__all__ = ["FEWEST_POINTS", "Beyond", "extrapolate_laws"]


@dataclass(frozen=True)
class Beyond:
    """What the laws of rows of values say of so many ranks.

    `value` has the shape (rows,). The others have (rows, points), of laws that were fitted without each
    point: `without` is what they say of so many ranks, `left_out` what they say of the point itself.
    """

    laws: ScalingLaws
    value: Floats
    without: Floats
    left_out: Floats


def extrapolate_laws(points: Sequence[float], values: Floats, ranks: float) -> Beyond:
    """Return what laws of rows of values at `points`, shape (rows, points), say of `ranks`.

    There are `FEWEST_POINTS` or more. The term is chosen anew without each point, so that how much the
    answers differ says how sure the choice is, too. They may be below 0.
    """
    x = np.asarray(points, dtype=np.float64)
    y = np.atleast_2d(np.asarray(values, dtype=np.float64))
    laws = fit(x, y, bounded=True)
    fewer = [
        fit(np.delete(x, left), np.delete(y, left, axis=1), bounded=True).at(np.array([ranks, x[left]]))
        for left in range(len(x))
    ]
    without = np.array(fewer)  # (points, rows, 2)
    return Beyond(laws, laws.at(np.array([float(ranks)]))[:, 0], without[:, :, 0].T, without[:, :, 1].T)
