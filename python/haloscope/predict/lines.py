"""Lines through measured times: one for all sizes, or several with their boundaries.

The fit minimises relative errors, so that small messages count as much as large ones. Latency and time per
byte are not negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from haloscope.base.arrays import Floats

Interval = tuple[float, float]


# Smallest number of points of a line.
_FEWEST = 3
_MOST_PIECES = 8


@dataclass(frozen=True)
class Line:
    """`alpha` + size × `beta`, with 95 % intervals from the residuals."""

    alpha: float
    beta: float
    alpha_interval: Interval
    beta_interval: Interval

    def __call__(self, size: float) -> float:
        return self.alpha + self.beta * size


@dataclass(frozen=True)
class Piece:
    """A line for sizes from `first` on; `before` is the last size of the previous line."""

    first: int
    before: int
    alpha: float
    beta: float


def fit_line(sizes: ArrayLike, times: ArrayLike) -> Line:
    """Return the least-squares line for relative errors, through two sizes or more."""
    size, time = _as_floats(sizes), _as_floats(times)
    design = np.column_stack([1 / time, size / time])
    alpha, beta = _solve(design)
    residuals = 1 - design @ [alpha, beta]
    free = len(size) - 2
    if free < 1:
        return Line(alpha, beta, (0.0, float("inf")), (0.0, float("inf")))
    from scipy.stats import t as student

    covariance = np.linalg.pinv(design.T @ design) * (residuals @ residuals) / free
    alpha_half, beta_half = student.ppf(0.975, free) * np.sqrt(np.diag(covariance))
    return Line(
        alpha,
        beta,
        (max(alpha - float(alpha_half), 0.0), alpha + float(alpha_half)),
        (max(beta - float(beta_half), 0.0), beta + float(beta_half)),
    )


def fit_pieces(sizes: Sequence[int], times: ArrayLike, tolerance: float = 0.05) -> list[Piece]:
    """Return the fewest lines that describe the times to a relative error of about `tolerance`.

    The cost of a division is the sum of (relative error / tolerance)² plus three times the logarithm of the
    number of sizes per further line, as in the Bayesian information criterion (two parameters and the
    boundary). Dynamic programming finds the global optimum.
    """
    order = np.argsort(sizes)
    size, time = _as_floats(sizes)[order], _as_floats(times)[order]
    count = len(size)
    penalty = 3 * float(np.log(max(count, 2)))
    fits = _fit_runs(size, time, tolerance)
    # best[n][end]: cost of the first `end` sizes with n lines, and the begin of the last line.
    best = [{0: (0.0, 0)}]
    for _ in range(min(_MOST_PIECES, max(count // _FEWEST, 1))):
        best.append(_extend(best[-1], fits, count, penalty))
    number = min((n for n in range(1, len(best)) if count in best[n]), key=lambda n: best[n][count][0])
    starts = [count]
    for n in range(number, 0, -1):
        starts.append(best[n][starts[-1]][1])
    found = []
    for start, end in zip(starts[:0:-1], starts[-2::-1], strict=True):
        _, alpha, beta = fits[start, end]
        first, before = (int(size[start]), int(size[start - 1])) if start else (0, 0)
        found.append(Piece(first, before, alpha, beta))
    return found


def _extend(
    before: dict[int, tuple[float, int]],
    fits: dict[tuple[int, int], tuple[float, float, float]],
    count: int,
    penalty: float,
) -> dict[int, tuple[float, int]]:
    extended: dict[int, tuple[float, int]] = {}
    for start, (cost, _) in before.items():
        for end in range(start + 1, count + 1):
            if (start, end) in fits:
                total = cost + fits[start, end][0] + penalty
                if end not in extended or total < extended[end][0]:
                    extended[end] = (total, start)
    return extended


def _fit_runs(
    size: Floats, time: Floats, tolerance: float
) -> dict[tuple[int, int], tuple[float, float, float]]:
    """Return cost, α and β of the line through each run of at least `_FEWEST` sizes."""
    fits = {}
    count = len(size)
    for start in range(count):
        for end in range(start + 1, count + 1):
            if end - start >= _FEWEST or (start, end) == (0, count):
                design = np.column_stack([1 / time[start:end], size[start:end] / time[start:end]])
                alpha, beta = _solve(design)
                errors = (1 - design @ [alpha, beta]) / tolerance
                fits[start, end] = (float(errors @ errors), alpha, beta)
    return fits


def _solve(design: Floats) -> tuple[float, float]:
    """Return the non-negative least-squares solution of design × (α, β) = 1."""
    (a, b), (_, d) = design.T @ design
    right = design.sum(axis=0)
    determinant = a * d - b * b
    if determinant > 1e-12 * a * d:
        alpha = (d * right[0] - b * right[1]) / determinant
        beta = (a * right[1] - b * right[0]) / determinant
        if alpha >= 0 and beta >= 0:
            return float(alpha), float(beta)
    # The solution is on the boundary: the better of the two lines with one parameter.
    level, slope = right[0] / a, right[1] / d if d else 0.0
    flat_error = float(np.square(1 - design[:, 0] * level).sum())
    steep_error = float(np.square(1 - design[:, 1] * slope).sum())
    return (float(level), 0.0) if flat_error <= steep_error else (0.0, float(slope))


def _as_floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
