"""What apps/hydro defines, in NumPy, by dense matrices on one process: no sums are factorised."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.polynomial import legendre

__all__ = ["Reference"]

Floats = npt.NDArray[np.float64]


def lobatto(order: int) -> Floats:
    """Points on [0, 1]."""
    inner = legendre.Legendre.basis(order).deriv().roots()
    points: Floats = (np.concatenate([[-1.0], np.sort(np.real(inner)), [1.0]]) + 1) / 2
    return points


def gauss(points: int) -> tuple[Floats, Floats]:
    """Points and weights on [0, 1]."""
    x, w = legendre.leggauss(points)
    return (x + 1) / 2, w / 2


def lagrange(nodes: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Values and derivatives, points by functions, of polynomials that are 1 at one node and 0 at others."""
    powers = np.arange(len(nodes))
    inverse = np.linalg.inv(nodes[:, None] ** powers)
    slopes = powers * np.where(powers > 0, x[:, None] ** np.maximum(powers - 1, 0), 0.0)
    return x[:, None] ** powers @ inverse, slopes @ inverse


def bernstein(order: int, x: Floats) -> Floats:
    """Values, points by functions."""
    k = np.arange(order + 1)
    binomials = np.cumprod(np.concatenate([[1.0], (order - k[:-1]) / (k[:-1] + 1)]))
    values: Floats = binomials * x[:, None] ** k * (1 - x[:, None]) ** (order - k)
    return values


def tensor(x: Floats, y: Floats, z: Floats) -> Floats:
    """The product of three tables, x fastest."""
    product: Floats = np.kron(z, np.kron(y, x))
    return product


@dataclass
class Reference:
    """A cube of n³ zones with an edge of 1; `problem` 0 is the vortex, 1 the blast."""

    n: int
    problem: int = 1
    order: int = 2
    energy: float = 1.0
    cfl: float = 0.5
    repeated: int = 0

    def __post_init__(self) -> None:
        k, n = self.order, self.n
        x, w = gauss((4 * k - 2) // 2 + 1)
        b, g = lagrange(lobatto(k), x)
        self.phi = tensor(b, b, b)
        self.slopes = np.stack([tensor(g, b, b), tensor(b, g, b), tensor(b, b, g)])
        p = bernstein(k - 1, x)
        self.psi = tensor(p, p, p)
        self.weights = tensor(w, w, w)
        self.mass = self.weights / n**3  # of each zone: the density is 1
        side = k * n + 1
        index = np.arange(side**3).reshape(side, side, side)
        self.dofs = np.array(
            [
                index[k * z : k * z + k + 1, k * y : k * y + k + 1, k * x : k * x + k + 1].ravel()
                for z in range(n)
                for y in range(n)
                for x in range(n)
            ]
        )
        line = np.concatenate([[0.0], *[(zone + lobatto(k)[1:]) / n for zone in range(n)]])
        z, y, x_ = np.meshgrid(line, line, line, indexing="ij")
        self.x = np.stack([x_.ravel(), y.ravel(), z.ravel()], axis=1)
        self.sides = (self.x == 0) | (np.abs(self.x - 1) < 1e-12)
        self.v = np.zeros_like(self.x)
        self.e = np.zeros((n**3, k**3))
        self.gamma = 1.4 if self.problem == 1 else 5 / 3
        if self.problem == 1:
            self.e[0, 0] = self.energy / 8 * (k * n) ** 3
        else:
            self._vortex()

    def _vortex(self) -> None:
        x, y, z = np.pi * self.x.T
        self.v[:, 0] = np.sin(x) * np.cos(y) * np.cos(z)
        self.v[:, 1] = -np.cos(x) * np.sin(y) * np.cos(z)
        self.v[self.sides] = 0
        points = gauss(self.order)[0]
        p = bernstein(self.order - 1, points)
        b = lagrange(lobatto(self.order), points)[0]
        where = np.einsum("qa,eac->eqc", tensor(b, b, b), self.x[self.dofs])
        c = np.cos(2 * np.pi * where)
        e = 1.5 * (100 + ((c[..., 2] + 2) * (c[..., 0] + c[..., 1]) - 2) / 16)
        self.e = np.linalg.solve(tensor(p, p, p), e.T).T

    @cached_property
    def velocity_mass(self) -> Floats:
        """Of one component, before any side is held."""
        local = self.phi.T @ (self.mass.ravel()[:, None] * self.phi)
        matrix = np.zeros((len(self.x),) * 2)
        for dofs in self.dofs:
            matrix[np.ix_(dofs, dofs)] += local
        return matrix

    def jacobians(self, field: Floats) -> Floats:
        """Derivatives along a zone's axes: zones, points, components, axes."""
        found: Floats = np.einsum("gqa,eac->eqcg", self.slopes, field[self.dofs])
        return found

    def density(self, x: Floats) -> Floats:
        """At the points of all zones."""
        found: Floats = self.mass.ravel() / self.weights.ravel() / np.linalg.det(self.jacobians(x))
        return found

    def pressure(self, x: Floats, e: Floats) -> Floats:
        """At the points of all zones."""
        found: Floats = (self.gamma - 1) * self.density(x) * (e @ self.psi.T)
        return found

    def stresses(self, x: Floats, v: Floats, e: Floats) -> tuple[Floats, float]:
        """What the force matrix is made of, and the longest time step."""
        j = self.jacobians(x)
        inverse, rho = np.linalg.inv(j), self.density(x)
        heat = np.maximum(e @ self.psi.T, 0)
        sound = np.sqrt(self.gamma * (self.gamma - 1) * heat)
        stress = -((self.gamma - 1) * rho * heat)[..., None, None] * np.eye(3)
        viscous = np.zeros_like(rho)
        if self.problem == 1:
            rate = self.jacobians(v) @ inverse
            rate = (rate + np.swapaxes(rate, -1, -2)) / 2
            values, vectors = np.linalg.eigh(rate)
            least, direction = values[..., 0], vectors[..., 0]
            stretched = np.linalg.norm(np.einsum("eqij,eqj->eqi", j * self.n, direction), axis=-1)
            h = stretched / self.n / self.order
            t = np.clip((least - 2e-12 + 1e-12) / 2e-12, 0, 1)
            viscous = 2 * rho * h**2 * np.abs(least) + rho * h * sound / 2 * (1 - (3 - 2 * t) * t**2)
            stress = stress + viscous[..., None, None] * rate
        thin = np.linalg.svd(j, compute_uv=False)[..., -1] / self.order
        steps = self.cfl / (sound / thin + 2.5 * viscous / rho / thin**2 + 1e-300)
        scale = self.weights.ravel() * np.linalg.det(j)
        return scale[..., None, None] * stress @ np.swapaxes(inverse, -1, -2), float(steps.min())

    def rates(self, s: Floats, v: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        """Of position, velocity and energy, in a stage of RK2Avg that started with velocity `v`."""
        force = np.zeros_like(self.x)
        np.add.at(force, self.dofs, -np.einsum("eqcg,gqa->eac", s, self.slopes))
        dv = np.zeros_like(force)
        for axis in range(3):
            free = ~self.sides[:, axis]
            dv[free, axis] = np.linalg.solve(self.velocity_mass[np.ix_(free, free)], force[free, axis])
        dx = v + step / 2 * dv
        power = np.einsum("eqcg,eqcg,qb->eb", s, self.jacobians(dx), self.psi)
        local = self.psi.T @ (self.mass.ravel()[:, None] * self.psi)
        return dx, dv, np.linalg.solve(local, power.T).T

    def run(self, steps: int) -> float:
        """Take so many steps of RK2Avg; one that turns out too long is repeated. Return the time."""
        time, taken = 0.0, 0
        s, step = self.stresses(self.x, self.v, self.e)
        while taken < steps:
            x, v, e = self.x, self.v, self.e
            dx, dv, de = self.rates(s, v, step)
            half, first = self.stresses(x + step / 2 * dx, v + step / 2 * dv, e + step / 2 * de)
            dx, dv, de = self.rates(half, v, step)
            after = x + step * dx, v + step * dv, e + step * de
            end, second = self.stresses(*after)
            if min(first, second) < step:
                step *= 0.85
                self.repeated += 1
                continue
            (self.x, self.v, self.e), s = after, end
            time, taken = time + step, taken + 1
            step *= 1.02 if min(first, second) > 1.25 * step else 1
        return time

    def points(self) -> Floats:
        """Place, velocity, density, pressure and mass of all quadrature points, a row each."""
        where = np.einsum("qa,eac->eqc", self.phi, self.x[self.dofs])
        speed = np.einsum("qa,eac->eqc", self.phi, self.v[self.dofs])
        mass = np.broadcast_to(self.mass.ravel(), where.shape[:2])
        rest = [self.density(self.x), self.pressure(self.x, self.e), mass]
        rows: Floats = np.concatenate([where, speed, np.stack(rest, axis=-1)], axis=-1).reshape(-1, 9)
        return rows

    def energies(self) -> Floats:
        """Kinetic and internal."""
        kinetic = np.einsum("ac,ab,bc->", self.v, self.velocity_mass, self.v) / 2
        return np.array([kinetic, (self.e @ self.psi.T @ self.mass.ravel()).sum()])
