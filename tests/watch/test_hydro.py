"""apps/hydro solves the stated problem, the same on any grid of ranks, and communicates as Laghos does."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from numpy.polynomial import legendre

from support.applications import Application, Counts, counted
from support.mpi import Mpi
from support.programs import Compiler

# What apps/hydro defines, in NumPy, by dense matrices on one process: no sums are factorised.
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
    """A cube of n³ zones with an edge of 1; `problem` 0 is the vortex, 1 the blast.

    3 is the triple point: a box whose 4 · 2 · 2 zones are cut in n along each axis.
    """

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
        box = ((0.0, 1.0, 3.0, 5.0, 7.0), (0.0, 1.5, 3.0), (0.0, 1.5, 3.0))
        coarse = box if self.problem == 3 else ((0.0, 1.0),) * 3
        edges = [np.interp(np.arange(n * (len(c) - 1) + 1) / n, np.arange(len(c)), c) for c in coarse]
        zones = [range(len(e) - 1) for e in edges]
        sides = [k * len(z) + 1 for z in zones]
        index = np.arange(int(np.prod(sides))).reshape(sides[::-1])
        at = [(x, y, z) for z in zones[2] for y in zones[1] for x in zones[0]]
        self.dofs = np.array(
            [
                index[k * z : k * z + k + 1, k * y : k * y + k + 1, k * x : k * x + k + 1].ravel()
                for x, y, z in at
            ]
        )
        lines = [
            np.concatenate([[0.0], *[e[i] + (e[i + 1] - e[i]) * lobatto(k)[1:] for i in range(len(e) - 1)]])
            for e in edges
        ]
        z, y, x_ = np.meshgrid(*lines[::-1], indexing="ij")
        self.x = np.stack([x_.ravel(), y.ravel(), z.ravel()], axis=1)
        self.sides = (self.x == 0) | (np.abs(self.x - [e[-1] for e in edges]) < 1e-12)
        self.widths = np.array([[e[i + 1] - e[i] for e, i in zip(edges, zone, strict=True)] for zone in at])
        self.length = float(np.cbrt(self.widths.prod(axis=1).mean())) / k
        self.v = np.zeros_like(self.x)
        self.e = np.zeros((len(at), k**3))
        self.gamma = np.full((len(at), 1), 1.4 if self.problem == 1 else 5 / 3)
        rho = np.ones(len(at))
        if self.problem == 1:
            self.e[0, 0] = self.energy / 8 * (k * n) ** 3
        elif self.problem == 3:
            rho = self._triple_point()
        else:
            self._vortex()
        self.mass = np.outer(rho * self.widths.prod(axis=1), self.weights)  # of zones, points

    def _triple_point(self) -> Floats:
        """Set pressures of 1 and 0.1, and return the densities, by where the middle of a zone is."""
        x, y, z = self.x[self.dofs].mean(axis=1).T
        rho = np.where((x > 1) & ((y > 1.5) == (z > 1.5)), 0.125, 1.0)
        self.gamma = np.where((x > 1) & (y < 1.5), 1.4, 1.5)[:, None]
        self.e[:] = np.where(x < 1, 1, 0.1)[:, None] / rho[:, None] / (self.gamma - 1)
        return rho

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
        matrix = np.zeros((len(self.x),) * 2)
        for dofs, mass in zip(self.dofs, self.mass, strict=True):
            matrix[np.ix_(dofs, dofs)] += self.phi.T @ (mass[:, None] * self.phi)
        return matrix

    def jacobians(self, field: Floats) -> Floats:
        """Derivatives along a zone's axes: zones, points, components, axes."""
        found: Floats = np.einsum("gqa,eac->eqcg", self.slopes, field[self.dofs])
        return found

    def density(self, x: Floats) -> Floats:
        """At the points of all zones."""
        found: Floats = self.mass / self.weights / np.linalg.det(self.jacobians(x))
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
        if self.problem != 0:
            rate = self.jacobians(v) @ inverse
            rate = (rate + np.swapaxes(rate, -1, -2)) / 2
            values, vectors = np.linalg.eigh(rate)
            least, direction = values[..., 0], vectors[..., 0]
            deformed = j / self.widths[:, None, None, :]
            h = self.length * np.linalg.norm(np.einsum("eqij,eqj->eqi", deformed, direction), axis=-1)
            t = np.clip((least - 2e-12 + 1e-12) / 2e-12, 0, 1)
            viscous = 2 * rho * h**2 * np.abs(least) + rho * h * sound / 2 * (1 - (3 - 2 * t) * t**2)
            stress = stress + viscous[..., None, None] * rate
        thin = np.linalg.svd(j, compute_uv=False)[..., -1] / self.order
        steps = self.cfl / (sound / thin + 2.5 * viscous / rho / thin**2 + 1e-300)
        scale = self.weights * np.linalg.det(j)
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
        local = np.einsum("qa,eq,qb->eab", self.psi, self.mass, self.psi)
        return dx, dv, np.linalg.solve(local, power[..., None])[..., 0]

    def run(self, steps: int) -> float:
        """Take a number of steps of RK2Avg; a step that is too long is repeated. Return the time."""
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
        rest = [self.density(self.x), self.pressure(self.x, self.e), self.mass]
        rows: Floats = np.concatenate([where, speed, np.stack(rest, axis=-1)], axis=-1).reshape(-1, 9)
        return rows

    def energies(self) -> Floats:
        """Kinetic and internal."""
        kinetic = np.einsum("ac,ab,bc->", self.v, self.velocity_mass, self.v) / 2
        return np.array([kinetic, ((self.e @ self.psi.T) * self.mass).sum()])


Lines = dict[str, list[list[str]]]
Grid = tuple[int, int, int]


@pytest.fixture(scope="module")
def hydro(compiler: Compiler, any_mpi: Mpi) -> Application:
    return Application.build(compiler, any_mpi, "hydro")


def cube(zones: int, *, order: int = 2) -> list[str]:
    """Arguments for a cube of zones³."""
    edges = [word for axis in "xyz" for word in (f"-n{axis}", str(zones))]
    return [*edges, "-rs", "0", "-ok", str(order), "-ot", str(order - 1)]


def on(grid: Grid) -> list[str]:
    return ["-procs", ",".join(map(str, grid))]


def number(lines: Lines, name: str, word: int = 0) -> float:
    return float(lines[name][0][word].rstrip(","))


def points(file: Path) -> np.ndarray:
    """Place, velocity, density, pressure and mass of each point, ordered by place."""
    with file.open() as text:
        header, *rows = csv.reader(text)
    assert header == "x,y,z,u,v,w,density,pressure,mass".split(",")
    return by_place(np.array(rows, float))


def by_place(rows: np.ndarray) -> np.ndarray:
    return rows[np.lexsort(np.round(rows[:, :3], 7).T)]


# RK2Avg is the default; conjugate gradients are as exact as can be.
EXACT = ("-cgt", "1e-15")


@pytest.mark.parametrize(
    ("zones", "problem", "order", "steps", "grid"),
    [
        (2, 1, 2, 6, (1, 1, 1)),
        (2, 1, 2, 6, (2, 2, 2)),
        (2, 0, 2, 4, (1, 2, 1)),
        pytest.param(3, 1, 2, 4, (2, 1, 2), marks=pytest.mark.long),
        pytest.param(3, 1, 1, 4, (1, 1, 1), marks=pytest.mark.long),
        (2, 1, 3, 3, (1, 1, 2)),
        (1, 3, 2, 3, (2, 1, 1)),
    ],
    ids=str,
)
def test_agrees_with_dense_matrices(
    hydro: Application, tmp_path: Path, zones: int, problem: int, order: int, steps: int, grid: Grid
) -> None:
    reference = Reference(zones, problem, order, cfl=0.25)
    time = reference.run(steps)
    file = tmp_path / "points.csv"
    words = ["-p", str(problem), "-ms", str(steps), "-cfl", "0.25", *on(grid), "-points", str(file)]
    mesh = ["-rs", "0"] if problem == 3 else cube(zones, order=order)
    found = hydro.output(int(np.prod(grid)), *mesh, *words, *EXACT)
    assert [found["steps"][0][word] for word in (0, 4)] == [str(steps), str(reference.repeated)]
    assert number(found, "steps", 3) == pytest.approx(time, abs=1e-6)
    expected = by_place(reference.points())
    np.testing.assert_allclose(points(file), expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())
    energies = [number(found, "energy", word) for word in (2, 4)]
    np.testing.assert_allclose(energies, reference.energies(), atol=2e-12)


@pytest.mark.parametrize(("problem", "order"), [("0", 2), ("1", 1), ("1", 2), ("1", 4)])
def test_energy_is_conserved_to_rounding(hydro: Application, problem: str, order: int) -> None:
    until = {1: "0.8", 2: "0.4", 4: "0.05"}[order]
    found = hydro.output(1, "-p", problem, *cube(2, order=order), "-tf", until, *EXACT)
    assert abs(number(found, "change")) < 1e-13
    assert number(found, "energy", 2) > 1e-3  # there is motion
    assert number(found, "steps") > 5


def test_classical_method_conserves_energy_less_well(hydro: Application) -> None:
    arguments = ("-p", "0", *cube(2), "-tf", "0.3", *EXACT)
    averaged, classical = (abs(number(hydro.output(1, *arguments, "-s", s), "change")) for s in ("7", "4"))
    assert averaged < 1e-14 < classical < 1e-6


@pytest.mark.long
def test_reference_value_of_laghos(hydro: Application) -> None:
    """What its README lists for `-p 0 -m data/cube01_hex.mesh -rs 1 -tf 0.75 -pa`: steps, dt and |e|."""
    found = hydro.output(1, *"-p 0 -rs 1 -tf 0.75 -pa -s 4".split())
    assert found["steps"][0][0] == "1041"
    assert round(number(found, "steps", 7), 6) == 0.000121
    assert found["norm"] == [["3.3909635545e+03"]]


def test_shock_follows_sedovs_solution(hydro: Application, script: Callable[..., Any]) -> None:
    blast = script("sedov", "benchmarks/hydro").Blast
    for energy, until in ((1, 0.2), (1, 0.6), (0.25, 0.6)):
        found = hydro.output(1, *cube(3), "-E0", str(energy), "-tf", str(until))
        exact = blast(energy, until).radius
        assert number(found, "shock", 2) == pytest.approx(exact, rel=1e-5)
        assert number(found, "shock") == pytest.approx(exact, abs=1 / 3 / 2)  # half a zone


@cache
def on_one_rank(hydro: Application, arguments: tuple[str, ...]) -> Lines:
    return hydro.output(1, *arguments)


@pytest.mark.parametrize(
    ("ranks", "grid"),
    [
        *((2, "auto"), (3, "1,3,1"), (8, "2,2,2")),
        *(pytest.param(*case, marks=pytest.mark.long) for case in ((2, "1,1,2"), (4, "2,2,1"))),
    ],
)
def test_results_do_not_depend_on_the_grid_of_ranks(hydro: Application, ranks: int, grid: str) -> None:
    arguments = (*cube(3 if ranks == 3 else 4), "-ms", "6", *EXACT)
    if ranks == 8:
        arguments = (*cube(2), "-ms", "6", *EXACT)
    alone = on_one_rank(hydro, arguments)
    found = hydro.output(ranks, *arguments, "-procs", grid)
    for name, word in (("norm", 0), ("energy", 0), ("energy", 2), ("steps", 7), ("shock", 0)):
        assert number(found, name, word) == pytest.approx(number(alone, name, word), rel=1e-9)
    assert found["steps"][0][0] == alone["steps"][0][0] == "6"


def owned(zones: int, parts: int, position: int) -> tuple[int, int]:
    """Nodes of order 2 that a rank has along an axis, and that it owns: the lower rank owns shared ones."""
    count = zones * (position + 1) // parts - zones * position // parts
    nodes = 2 * count + 1
    return nodes, nodes - (position > 0)


def broadcast(zones: int, grid: Grid) -> dict[tuple[int, int], int]:
    """Bytes from owner to neighbour, for each pair of ranks that share nodes of the owner's."""
    sizes = {}
    for rank in range(int(np.prod(grid))):
        coordinates = [rank % grid[0], rank // grid[0] % grid[1], rank // grid[0] // grid[1]]
        for offset in np.ndindex(2, 2, 2):
            there = np.add(coordinates, offset)
            if not any(offset) or (there >= grid).any():
                continue
            mine = [owned(zones, grid[axis], coordinates[axis])[1] for axis in range(3) if not offset[axis]]
            to = int(there[0] + grid[0] * (there[1] + grid[1] * there[2]))
            sizes[rank, to] = 8 * int(np.prod(mine))
    return sizes


@pytest.mark.parametrize(
    ("zones", "grid"), [(4, (2, 2, 2)), (4, (3, 1, 1)), (3, (1, 2, 2)), (2, (1, 1, 1))], ids=str
)
def test_messages_are_those_of_group_communication(
    hydro: Application, compiler: Compiler, tmp_path: Path, zones: int, grid: Grid
) -> None:
    """Each solution takes two exchanges each way and one more an iteration; sums: two an iteration."""
    output = tmp_path / "output"
    arguments = [*cube(zones), "-ms", "3", *on(grid)]
    ranks = int(np.prod(grid))
    command = ["sh", "-c", '"$0" "$@" >> ' + str(output), str(hydro.program), *arguments]
    rows = counted(compiler, hydro.mpi, ranks, command, tmp_path)
    lines: Lines = {}
    for line in output.read_text().splitlines():
        lines.setdefault(line.split()[0], []).append(line.split()[1:])
    velocity, energy = (int(lines["iterations"][0][word]) for word in (0, 3))
    steps, repeated = int(lines["steps"][0][0]), int(lines["steps"][0][4])
    stages = 2 * (steps + repeated)
    exchanges = velocity + 2 * 3 * stages
    expected: Counter[tuple[int, int]] = Counter()
    for (owner, other), size in broadcast(zones, grid).items():
        expected[owner, other] += exchanges * size
        expected[other, owner] += (exchanges + 1) * size  # one more: the diagonal, at the start
    assert {(row.rank, to): pair[1] for row in rows for to, pair in row.partners.items()} == dict(expected)
    check_sums(rows, velocity, energy, stages, 1 + steps + repeated)


def check_sums(rows: list[Counts], velocity: int, energy: int, stages: int, estimates: int) -> None:
    """Of one number each, but for the last three: the shells' two, and the costs."""
    solutions = (3 * stages + 2 * velocity) + (stages + 2 * energy)
    outside = 2 * 2 + 1 + 1 + 3  # energies before and after, norms at the start and end, what is printed
    for row in rows:
        assert row.collectives["Allreduce"][0] == solutions + estimates + outside
        assert set(row.collectives) == {"Allreduce", "Barrier"}


def test_profile_has_the_regions_of_the_paper(hydro: Application, haloscope: Path, tmp_path: Path) -> None:
    profile = hydro.watched(haloscope, tmp_path / "hydro.halo", 2, *cube(2), "-ms", "3")
    regions = profile.table("regions")
    instances = dict(regions.select("path", "instances").rows())
    solve = "main/timestep/velocity_solve"
    assert instances["main"] == 1
    assert instances["main/timestep"] == 3
    assert instances[solve] == 3 * 2 * 3
    assert instances[f"{solve}/broadcast/halo_exchange"] == instances[f"{solve}/reduction/halo_exchange"] > 18
    assert instances["main/timestep/time_step_estimate"] == 3
    exchanges = regions.filter(pl.col("region") == "halo_exchange")
    assert set(exchanges["largest_message"].to_list()) == {8 * 5 * 5}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("-p 2", "-p 2: there are 0 (Taylor-Green vortex), 1 (Sedov blast) and 3 (triple point)"),
        ("-p 4", "-p must be from 0 to 3, not 4"),
        ("-p 3 -nx 3", "-p 3 has a mesh of its own: leave out -nx"),
        ("-dim 2", "-dim must be 3, not 2"),
        ("-nx 0", "-nx must be from 1"),
        ("-rs 11", "-rs must be from 0 to 10"),
        ("-rs 10", "more than 1024 zones"),
        ("-ok 9", "-ok must be from 1 to 8"),
        ("-ok 2 -ot 3", "-ot must be from 0 to 2"),
        ("-s 3", "4 (RK4) and 7 (RK2Avg)"),
        ("-tf -1", "-tf must be positive"),
        ("-tf nan", "-tf must be positive"),
        ("-E0 many", "'many' is not a value for -E0"),
        ("-procs 2,2,2", "-procs 2,2,2 is not a grid of the 1 rank that was started"),
        ("-procs many", "'many' is not a value for -procs"),
        ("-m data/cube01_hex.mesh", "unknown option '-m'"),
        ("--rs 1", "unknown option '--rs'"),
        ("-rs", "-rs needs a value"),
        (
            "-nx 1 -ny 1 -nz 1 -rs 0 -ms 0 -points /nowhere/points.csv",
            "/nowhere/points.csv cannot be written",
        ),
    ],
)
def test_wrong_usage_is_one_line(hydro: Application, arguments: str, reason: str) -> None:
    assert reason in hydro.complaint(*arguments.split())


def test_too_many_ranks_are_said_once(hydro: Application) -> None:
    assert "3,1,1 ranks is finer than the 2,2,2 zones" in hydro.complaint("-rs", "0", ranks=3)


def test_help_shows_options_with_defaults(hydro: Application) -> None:
    done = hydro.mpi.run(1, [hydro.program, "--help"])
    assert "-rs N" in done.stdout
    assert "[0.6]" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("mpi", ["mpich-system"], indirect=True)
def test_the_same_with_another_mpi(mpi: Mpi, compiler: Compiler, hydro: Application) -> None:
    arguments = (*cube(2), "-ms", "3", *EXACT)
    # Compiled sooner, and fast enough for three steps.
    other = Application.build(compiler, mpi, "hydro", ["-O0"]).output(2, *arguments)
    assert number(other, "norm") == pytest.approx(number(hydro.output(2, *arguments), "norm"), rel=1e-9)
