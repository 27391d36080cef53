"""The operator and the preconditioner of apps/cg as dense matrices, from their definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["operator", "preconditioner", "scattered"]

Matrix = NDArray[np.float64]
Grid = tuple[int, int, int]


def _places(size: Grid) -> NDArray[np.int64]:
    """x, y, z of each point, x fastest."""
    nx, ny, nz = size
    return np.array([(x, y, z) for z, y, x in product(range(nz), range(ny), range(nx))])


def operator(size: Grid) -> Matrix:
    """26 on the diagonal, −1 for each of the points around."""
    places = _places(size)
    distance = np.abs(places[:, None, :] - places[None, :, :]).max(axis=2)
    return np.where(distance == 0, 26.0, np.where(distance == 1, -1.0, 0.0))


def _rank_of_point(size: Grid, procs: Grid) -> NDArray[np.int64]:
    x, y, z = (_places(size) // (np.array(size) // np.array(procs))).T
    return np.asarray(x + procs[0] * (y + procs[1] * z))


def _smoother(a: Matrix, owner: NDArray[np.int64], name: str) -> Matrix:
    """S such that one smoothing is x += S (b − A x)."""
    if name == "jacobi":
        return 0.8 / 26.0 * np.eye(len(a))
    # symmetric Gauss-Seidel on each rank's points, Jacobi between ranks
    block = np.where(owner[:, None] == owner[None, :], a, 0.0)
    lower, upper = np.tril(block), np.triu(block)
    return np.asarray(np.linalg.inv(lower @ np.diag(1 / np.diag(a)) @ upper))


def preconditioner(size: Grid, procs: Grid, smoother: str, levels: int = 4) -> Matrix:
    """One V-cycle, as a matrix."""
    a = operator(size)
    s = _smoother(a, _rank_of_point(size, procs), smoother)
    if levels == 1:
        return s
    chosen = np.flatnonzero((_places(size) % 2 == 0).all(axis=1))
    injection = np.eye(len(a))[chosen]
    coarse = preconditioner((size[0] // 2, size[1] // 2, size[2] // 2), procs, smoother, levels - 1)
    eye = np.eye(len(a))
    before = s
    corrected = before + injection.T @ coarse @ injection @ (eye - a @ before)
    return np.asarray(corrected + s @ (eye - a @ corrected))


def scattered(points: int, seed: int) -> Matrix:
    """The vector that `cg --check` uses: a hash of each point's number, in [−1, 1)."""
    wide = (1 << 64) - 1

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & wide
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & wide
        return z ^ (z >> 31)

    return np.array([(mix(mix(n + 1) + seed & wide) >> 11) * 2.0**-52 - 1 for n in range(points)])
