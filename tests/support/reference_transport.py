"""Source iteration with diamond differences as apps/sweep defines it, zone after zone, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["Problem", "solve"]

Array = NDArray[np.float64]
SPHERE = 4 * np.pi


@dataclass(frozen=True)
class Problem:
    """Zones of edge 1 with a source in the lower corner, vacuum around."""

    zones: tuple[int, int, int]
    groups: int
    polar: int  # angles of one octant
    azimuthal: int
    total: float = 0.1
    scattering: float = 0.05


def _quadrature(p: Problem) -> tuple[Array, Array]:
    """Cosines (direction × axis) and weights of one octant."""
    nodes, weights = np.polynomial.legendre.leggauss(2 * p.polar)
    step = np.pi / 2 / p.azimuthal
    angles = (np.arange(p.azimuthal) + 0.5) * step
    cosines, result = [], []
    for node, weight in zip(nodes[p.polar :], weights[p.polar :], strict=True):
        for angle in angles:
            sine = np.sqrt(1 - node**2)
            cosines.append([sine * np.cos(angle), sine * np.sin(angle), node])
            result.append(weight * step)
    return np.array(cosines), np.array(result)


def _scattered(p: Problem, flux: Array) -> Array:
    """What a flux (zones × group) emits a unit of volume, the source included."""
    scale = 1 + np.arange(p.groups) / p.groups
    within = 0.75 * p.scattering * scale
    within[-1] = p.scattering * scale[-1]
    emitted = within * flux
    emitted[..., 1:] += (p.scattering * scale - within)[:-1] * flux[..., :-1]
    x, y, z = (slice(0, (n + 1) // 2) for n in p.zones)
    emitted[x, y, z] += 1
    return emitted


def _walk(zones: int, forward: bool) -> Iterator[int]:
    return iter(range(zones) if forward else reversed(range(zones)))


def _sweep(p: Problem, emission: Array) -> Array:
    cosines, weights = _quadrature(p)
    streaming = 2 * cosines.T[:, :, None]  # axis × direction × 1
    total = p.total * (1 + np.arange(p.groups) / p.groups)
    nx, ny, nz = p.zones
    flux = np.zeros((*p.zones, p.groups))
    for fx, fy, fz in product([True, False], repeat=3):
        shape = (len(weights), p.groups)
        x = np.zeros((ny, nz, *shape))
        y = np.zeros((nx, nz, *shape))
        z = np.zeros((nx, ny, *shape))
        for k in _walk(nz, fz):
            for j in _walk(ny, fy):
                for i in _walk(nx, fx):
                    entering = np.array([x[j, k], y[i, k], z[i, j]])
                    gained = emission[i, j, k] + (streaming * entering).sum(axis=0)
                    psi = gained / (total + streaming.sum(axis=0))
                    x[j, k], y[i, k], z[i, j] = 2 * psi - entering
                    flux[i, j, k] += weights @ psi
    return flux


def solve(p: Problem, iterations: int) -> Array:
    """The scalar flux, x × y × z × group."""
    flux = np.zeros((*p.zones, p.groups))
    for _ in range(iterations):
        flux = _sweep(p, _scattered(p, flux) / SPHERE)
    return flux
