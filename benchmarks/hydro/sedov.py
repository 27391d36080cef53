"""Sedov's blast in a uniform medium, in closed form: Kamm and Timmes (2007), the standard case."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DIMENSIONS = 3


def _profile(gamma: float, points: int = 20000) -> tuple[Floats, Floats, Floats, Floats]:
    """Return radius, density, speed and pressure behind the shock, relative to their values at the shock."""
    j = DIMENSIONS
    first, last = 2 / ((j + 2) * gamma), 4 / ((j + 2) * (gamma + 1))
    # small steps at the centre: the radius is a small power of the distance to it
    v = first + (last - first) * np.geomspace(1e-40, 1, points)
    steepness = (2 + j * (gamma - 1)) / 2
    inner = (gamma + 1) / (gamma - 1) * np.geomspace(1e-40, 1, points) * (j + 2) * gamma / 2 * (last - first)
    a = (j + 2) * (gamma + 1)
    outer = a / (a - 4 * steepness) * (1 - steepness * v)
    end = (gamma + 1) / (gamma - 1) * (1 - (j + 2) / 2 * v)
    a2 = -(gamma - 1) / (2 * (gamma - 1) + j)
    a1 = (j + 2) * gamma / (2 * steepness) * (2 * j * (2 - gamma) / (gamma * (j + 2) ** 2) - a2)
    a3, a4, a5 = j / (2 * (gamma - 1) + j), a1 * (j + 2) / (2 - gamma), -2 / (2 - gamma)
    x = a / 4 * v
    radius = x ** (-2 / (j + 2)) * inner**-a2 * outer**-a1
    density = inner**a3 * outer**a4 * end**a5
    pressure = x ** (2 * j / (j + 2)) * outer ** (a4 - 2 * a1) * end ** (1 + a5)
    return radius, density, x * radius, pressure


@dataclass(frozen=True)
class Blast:
    """The blast of an energy that is released at a point of a medium of density 1, after some time."""

    energy: float
    time: float
    gamma: float = 1.4

    @property
    def alpha(self) -> float:
        """Return the energy over the fifth power of the shock's radius and density, by time squared."""
        radius, density, speed, pressure = _profile(self.gamma)
        shock = 2 / (DIMENSIONS + 2)  # its speed at radius 1 and time 1
        density = density * (self.gamma + 1) / (self.gamma - 1)
        kinetic = density * (2 * shock / (self.gamma + 1) * speed) ** 2 / 2
        internal = 2 * shock**2 / (self.gamma + 1) * pressure / (self.gamma - 1)
        return float(np.trapezoid((kinetic + internal) * 4 * np.pi * radius**2, radius))

    @property
    def radius(self) -> float:
        """Return the radius of the shock."""
        return float((self.energy * self.time**2 / self.alpha) ** (1 / (DIMENSIONS + 2)))

    def densities(self) -> tuple[Floats, Floats]:
        """Return radii from the centre to the shock, and their densities."""
        radius, density, _, _ = _profile(self.gamma)
        return radius * self.radius, density * (self.gamma + 1) / (self.gamma - 1)
