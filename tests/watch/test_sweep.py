"""apps/sweep solves the stated problem, the same for any division, and communicates as Kripke does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from support.applications import Application, counted
from support.mpi import Mpi
from support.programs import Compiler

# Source iteration with diamond differences as apps/sweep defines it, zone after zone, in NumPy.
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


class Row(NamedTuple):
    """A row of a table of traffic; `largest` is a rank's bytes in one iteration."""

    procs: tuple[int, int, int]
    zones: tuple[int, int, int]
    sends: int
    bytes: int
    largest: int

    @property
    def ranks(self) -> int:
        return int(np.prod(self.procs))


# Nansamba et al. (2025), Table IV, Kripke on Tioga
TABLE_IV = [
    Row((2, 2, 2), (32, 64, 64), 15360, 1342177280, 16777216),
    Row((4, 2, 2), (64, 64, 64), 35840, 3355443200, 25165824),
    Row((4, 4, 2), (64, 128, 64), 81920, 7381975040, 29360128),
    Row((4, 4, 4), (64, 128, 128), 184320, 16106127360, 33554432),
]
ITERATIONS = 10


@pytest.fixture(scope="module")
def sweep(compiler: Compiler, any_mpi: Mpi) -> Application:
    return Application.build(compiler, any_mpi, "sweep")


def values(sweep: Application, ranks: int, *arguments: str) -> dict[str, float]:
    """The particle balance."""
    lines = sweep.output(ranks, *arguments)
    names = ("source", "absorption", "leakage", "unscattered", "lost")
    return {name: float(lines[name][0][0]) for name in names}


def moments(sweep: Application, ranks: int, *arguments: str) -> np.ndarray:
    """Of each group: the integral of the flux, and of the flux times x, y and z."""
    lines = sweep.output(ranks, *arguments, "--verbose")["group"]
    return np.array([[float(word) for word in line[1:]] for line in lines])


SMALL = ("--zones", "7,6,5", "--groups", "4", "--quad", "32", "--niter", "3")


@pytest.mark.long
def test_runs_under_every_mpi(mpi: Mpi, compiler: Compiler) -> None:
    program = Application.build(compiler, mpi, "sweep")
    arguments = (*SMALL, "--procs", "2,1,1", "--gset", "2")
    assert abs(values(program, 2, *arguments)["lost"]) < 1e-10


def test_flux_is_that_of_the_definition(sweep: Application) -> None:
    problem = Problem((7, 6, 5), groups=4, polar=2, azimuthal=2)
    flux = solve(problem, 3)
    centre = np.meshgrid(*(np.arange(n) + 0.5 for n in problem.zones), indexing="ij")
    weights = [np.ones(problem.zones), *centre]
    expected = np.einsum("mxyz,xyzg->gm", weights, flux)
    found = moments(sweep, 1, *SMALL, "--procs", "1,1,1", "--gset", "2")
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("ranks", "division"),
    [
        (2, "--procs 1,2,1 --gset 1"),
        (8, "--procs 2,2,2 --gset 4"),
        (6, "--procs 3,1,2 --gset 2 --dset 16"),
        (4, "--procs 1,2,2 --gset 4 --dset 32 --zset 2,1,2"),
        (1, "--procs 1,1,1 --gset 2 --zset 7,3,5"),
    ],
)
def test_flux_does_not_depend_on_the_division(sweep: Application, ranks: int, division: str) -> None:
    alone = moments(sweep, 1, *SMALL, "--procs", "1,1,1", "--gset", "4")
    found = moments(sweep, ranks, *SMALL, *division.split())
    np.testing.assert_allclose(found, alone, rtol=1e-12)


@pytest.mark.parametrize("quad", ["8", "24", "64", "4:8"])
def test_flat_flux_of_an_infinite_medium(sweep: Application, quad: str) -> None:
    arguments = ("--boundary", "equilibrium", "--source", "all", "--niter", "90")
    sets = ("--zones", "4,5,4", "--groups", "6", "--gset", "3", "--quad", quad)
    (line,) = sweep.output(4, *arguments, *sets, "--procs", "1,2,2")["flux"]
    lowest, highest = float(line[0]), float(line[2])
    assert lowest == pytest.approx(1, abs=1e-11)
    assert highest == pytest.approx(1, abs=1e-11)


def test_no_particle_is_lost(sweep: Application) -> None:
    """What a sweep takes in leaves it or is absorbed or scattered, whether converged or not."""
    found = values(sweep, 8, *SMALL, "--gset", "2", "--sigs", "0.09")
    assert found["unscattered"] > 1e-3 * found["source"]
    assert abs(found["lost"]) < 1e-13 * found["source"]


def test_source_is_absorption_and_leakage_when_converged(sweep: Application) -> None:
    found = values(sweep, 8, "--zones", "8,8,8", "--groups", "4", "--gset", "2", "--niter", "60")
    assert found["source"] == 4 * 4**3
    assert found["absorption"] + found["leakage"] == pytest.approx(found["source"], rel=1e-13)
    assert found["leakage"] > 0.1 * found["source"]


def test_without_scattering_one_sweep_is_all(sweep: Application) -> None:
    once = (*SMALL, "--gset", "2", "--sigs", "0")
    assert values(sweep, 8, *once)["unscattered"] == 0
    np.testing.assert_allclose(
        moments(sweep, 8, *once[:-4], "--gset", "2", "--sigs", "0", "--niter", "1"),
        moments(sweep, 8, *once),
        rtol=1e-13,
    )


def arguments_of(row: Row, shrink: int = 1) -> list[str]:
    """A row's command line; `shrink` divides its zones along each axis."""
    zones = ",".join(str(n // shrink) for n in row.zones)
    return ["--procs", ",".join(map(str, row.procs)), "--zones", zones]


def partners_of(row: Row) -> tuple[int, int]:
    """Fewest and most: a rank at a face of the grid has one less along that axis."""
    return 3, 3 + sum(n > 2 for n in row.procs)


@pytest.mark.parametrize(
    "row",
    [TABLE_IV[0], TABLE_IV[1], *(pytest.param(row, marks=pytest.mark.long) for row in TABLE_IV[2:])],
    ids=lambda row: f"{row.ranks}-ranks",
)
def test_traffic_of_each_grid_of_ranks(
    sweep: Application, compiler: Compiler, tmp_path: Path, row: Row
) -> None:
    # An eighth of the zones along each axis: the same number of messages, each a sixty-fourth of the bytes.
    command = [str(sweep.program), *arguments_of(row, shrink=8)]
    ranks = counted(compiler, sweep.mpi, row.ranks, command, tmp_path)
    assert sum(rank.sends for rank in ranks) == row.sends
    assert sum(rank.bytes for rank in ranks) == row.bytes // 64
    # all iterations are alike
    assert max(rank.bytes for rank in ranks) == row.largest // 64 * ITERATIONS
    partners = [len(rank.partners) for rank in ranks]
    assert (min(partners), max(partners)) == partners_of(row)
    assert {pair[0] for rank in ranks for pair in rank.partners.values()} == {64 * ITERATIONS}


@pytest.mark.parametrize(
    ("row", "shrink"),
    [
        (TABLE_IV[0], 8),
        pytest.param(TABLE_IV[0], 1, marks=pytest.mark.long),
        *(pytest.param(row, 8, marks=pytest.mark.long) for row in TABLE_IV[1:]),
    ],
    ids=["8-ranks", "8-ranks-whole", "16-ranks", "32-ranks", "64-ranks"],
)
def test_profile_shows_the_published_table(
    sweep: Application, haloscope: Path, tmp_path: Path, row: Row, shrink: int
) -> None:
    profile = tmp_path / "sweep.halo"
    watched = sweep.watched(haloscope, profile, row.ranks, *arguments_of(row, shrink))
    (region,) = watched.table("regions", region="sweep_comm").to_dicts()
    assert region["instances"] == ITERATIONS
    assert region["sends_total"] == region["recvs_total"] == row.sends
    assert region["bytes_sent_total"] * shrink**2 == row.bytes
    assert region["bytes_sent_instance_max"] * shrink**2 == row.largest
    assert region["mean_message"] * shrink**2 == pytest.approx(row.bytes / row.sends)
    assert (region["dest_ranks_min"], region["dest_ranks_max"]) == partners_of(row)
    assert (region["src_ranks_min"], region["src_ranks_max"]) == partners_of(row)


def test_sets_of_zones_send_smaller_messages(sweep: Application, compiler: Compiler, tmp_path: Path) -> None:
    command = [str(sweep.program), "--procs", "2,1,1", "--zones", "8,8,8", "--zset", "2,4,1"]
    rows = counted(compiler, sweep.mpi, 2, command, tmp_path)
    assert [row.sizes for row in rows] == [{2 * 8 * 8 * 8 * 2: 4 * 64 * ITERATIONS}] * 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("--procs 2,2,2", "--procs 2,2,2 is not a grid of the 1 rank that was started"),
        ("--procs 1,1", "'1,1' is not a value for --procs"),
        ("--groups 30", "--gset 16 does not divide 30 groups"),
        ("--groups 0", "--groups must be positive"),
        ("--quad 60", "--quad 60"),
        ("--quad 3:4", "--quad 3:4"),
        ("--dset 12", "--dset 12"),
        ("--quad 24 --dset 16", "--dset 16"),
        ("--zones 4,4,4 --zset 5,1,1", "--zones 4,4,4 are fewer"),
        ("--sigs 0.2", "--sigs"),
        ("--source none", "'none'"),
        ("--boundary mirror", "'mirror'"),
        ("--niter -1", "--niter"),
        ("--pset 3", "unknown option '--pset'"),
    ],
)
def test_wrong_usage_is_one_line(sweep: Application, arguments: str, reason: str) -> None:
    first = () if "--procs" in arguments else ("--procs", "1,1,1")
    assert reason in sweep.complaint(*first, *arguments.split())


def test_help_shows_options_with_defaults(sweep: Application) -> None:
    assert "[32,64,64]" in sweep.mpi.run(1, [sweep.program, "--help"]).stdout
