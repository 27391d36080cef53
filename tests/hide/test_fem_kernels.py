"""The kernels' plans against dense reference elements, whose quadrature rules come from NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial import legendre

from support.processes import run_program


def rule(degree: int) -> str:
    """Return the degree, Gauss-Lobatto nodes, Gauss points and weights on [0, 1] as text."""
    inner = np.sort(legendre.legroots(legendre.legder([0] * degree + [1])))
    nodes = (1 + np.array([-1, *inner, 1])) / 2
    points, weights = legendre.leggauss(degree + 1)
    rows = [nodes, (1 + points) / 2, weights / 2]
    return "\n".join([str(degree), *(" ".join(repr(float(x)) for x in row) for row in rows)])


@pytest.mark.parametrize(
    "degree", [*range(1, 6), *(pytest.param(k, marks=pytest.mark.long) for k in range(6, 9))]
)
def test_plans_equal_dense_elements(fem: Callable[[str], Path], degree: int) -> None:
    """Random coefficients, vertices, masks, mirrors and ranges of items, and hanging faces and edges."""
    done = run_program([str(fem("kernels.cpp")), "7"], text=rule(degree))
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) > 20
    wrong = [line for line in lines if not float(line[1]) < 1e-13]
    assert not wrong
