"""apps/cg solves the stated problem, the same on any grid of ranks, and communicates as HPCG does."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from support.applications import Application, counted
from support.mpi import Mpi
from support.programs import Compiler

# The operator and the preconditioner of apps/cg as dense matrices, from their definitions.
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


@pytest.fixture(scope="module")
def cg(compiler: Compiler, any_mpi: Mpi) -> Application:
    return Application.build(compiler, any_mpi, "cg")


def on(size: Grid, procs: Grid) -> list[str]:
    """Arguments for a whole grid of that size on that grid of ranks."""
    local = [str(n // p) for n, p in zip(size, procs, strict=True)]
    grid = ",".join(map(str, procs))
    return ["--nx", local[0], "--ny", local[1], "--nz", local[2], "--procs", grid]


def history(cg: Application, size: Grid, procs: Grid, *arguments: str) -> np.ndarray:
    """Residual and error of each iteration."""
    ranks = int(np.prod(procs))
    lines = cg.output(ranks, *on(size, procs), "--verbose", *arguments)["iteration"]
    return np.array([[float(word) for word in line[1:]] for line in lines])


@pytest.mark.long
def test_runs_under_every_mpi(mpi: Mpi, compiler: Compiler) -> None:
    program = Application.build(compiler, mpi, "cg")
    result = program.output(2, *on((16, 8, 8), (2, 1, 1)), "--iterations", "20")
    assert float(result["error"][0][0]) < 1e-10


@pytest.mark.parametrize("smoother", ["gauss-seidel", "jacobi", "none"])
def test_solution_is_one_everywhere(cg: Application, smoother: str) -> None:
    size = on((32, 32, 16), (2, 2, 1))
    result = cg.output(4, *size, "--smoother", smoother, "--tolerance", "1e-12", "--iterations", "99")
    assert float(result["residual"][0][0]) <= 1e-12
    assert float(result["error"][0][0]) < 1e-10
    assert int(result["iterations"][0][0]) < 99


def test_iterating_beyond_the_smallest_number_harms_nothing(cg: Application) -> None:
    result = cg.output(2, *on((16, 8, 8), (2, 1, 1)), "--iterations", "1000")
    assert float(result["residual"][0][0]) < 1e-100
    assert float(result["error"][0][0]) < 1e-14


@pytest.mark.parametrize("smoother", ["jacobi", "none"])
@pytest.mark.parametrize("procs", [(2, 1, 1), (1, 2, 2), pytest.param((4, 2, 2), marks=pytest.mark.long)])
def test_iterates_do_not_depend_on_the_grid_of_ranks(cg: Application, smoother: str, procs: Grid) -> None:
    size = (32, 32, 16)
    arguments = ("--smoother", smoother, "--iterations", "8")
    alone = history(cg, size, (1, 1, 1), *arguments)
    np.testing.assert_allclose(history(cg, size, procs, *arguments), alone, rtol=1e-9)


def test_gauss_seidel_on_many_ranks_converges_nearly_as_fast_as_on_one(cg: Application) -> None:
    # Between ranks it is a Jacobi iteration, as in HPCG: the iterates are not the same.
    arguments = ("--tolerance", "1e-9", "--iterations", "99")
    alone = len(history(cg, (32, 32, 16), (1, 1, 1), *arguments))
    assert alone <= len(history(cg, (32, 32, 16), (4, 2, 2), *arguments)) <= 1.5 * alone


def test_solvers_with_fewer_reductions_have_the_same_iterates(cg: Application) -> None:
    """Residuals of the pipelined solver after each iteration, of the s-step solver after each block."""
    size, procs, few = (32, 16, 16), (2, 1, 1), ("--iterations", "12")
    classic = history(cg, size, procs, *few)
    pipelined = history(cg, size, procs, *few, "--solver", "pipelined")
    np.testing.assert_allclose(pipelined[:8], classic[:8], rtol=1e-4)
    for steps in (1, 3):
        blocks = history(cg, size, procs, *few, "--solver", "s-step", "--steps", str(steps))
        np.testing.assert_allclose(blocks[: 9 // steps], classic[steps - 1 : 9 : steps], rtol=1e-4)


def products(cg: Application, size: Grid, procs: Grid, smoother: str) -> dict[str, list[float]]:
    ranks = int(np.prod(procs))
    arguments = ("--check", "--iterations", "0", "--smoother", smoother)
    result = cg.output(ranks, *on(size, procs), *arguments)
    return {name: [float(word) for word in result[name][0]] for name in ("operator", "multigrid")}


@pytest.mark.parametrize("smoother", ["gauss-seidel", "jacobi"])
@pytest.mark.parametrize(
    ("size", "procs"),
    [
        ((8, 8, 8), (1, 1, 1)),
        ((16, 8, 8), (2, 1, 1)),
        pytest.param((8, 16, 16), (1, 2, 2), marks=pytest.mark.long),
    ],
)
def test_operator_and_preconditioner_are_those_of_the_definition(
    cg: Application, smoother: str, size: Grid, procs: Grid
) -> None:
    points = int(np.prod(size))
    a, b = scattered(points, 1), scattered(points, 2)
    found = products(cg, size, procs, smoother)
    expected = a @ operator(size) @ b
    assert found["operator"] == pytest.approx([expected, expected], rel=1e-11)
    m = preconditioner(size, procs, smoother)
    np.testing.assert_allclose(m, m.T, atol=1e-15)
    expected = a @ m @ b
    assert found["multigrid"] == pytest.approx([expected, expected], rel=1e-10)


def test_symmetric_on_a_grid_of_ranks_with_edges_and_corners(cg: Application) -> None:
    found = products(cg, (16, 16, 32), (2, 2, 2), "gauss-seidel")
    for first, second in found.values():
        assert first == pytest.approx(second, rel=1e-10)


@pytest.mark.parametrize(("ranks", "grid"), [(1, "1,1,1"), (6, "3,2,1"), (12, "3,2,2")])
def test_grid_of_ranks_is_nearly_a_cube(cg: Application, ranks: int, grid: str) -> None:
    result = cg.output(ranks, "--nx=8", "--ny=8", "--nz=8", "--iterations=0")
    assert result["ranks"] == [[str(ranks), "as", grid]]


def test_messages_have_the_sizes_of_hpcg(cg: Application, compiler: Compiler, tmp_path: Path) -> None:
    rows = counted(compiler, cg.mpi, 8, [cg.program, "--iterations", "1"], tmp_path)
    for row in rows:
        assert set(row.sizes) == {8, 104, 208, 416, 832, 1352, 5408, 21632, 86528}
        # three exchanges on each of the upper levels, one on the lowest, one for each product with
        # the operator: the iteration's and the first residual's
        assert row.sends == (3 * 3 + 1 + 2) * 7
        assert row.sizes[86528] == (3 + 2) * 3
        assert row.sizes[1352] == 3
        assert len(row.partners) == 7
        # three dot products an iteration, the first residual's, and the error at the end
        assert row.collectives == {"Allreduce": (5, 40)}


def test_profile_agrees_with_an_independent_count(
    cg: Application, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    arguments = ("--nx=8", "--ny=16", "--nz=8", "--iterations=3")
    rows = counted(compiler, cg.mpi, 12, [str(cg.program), *arguments], tmp_path)
    profile = cg.watched(haloscope, tmp_path / "cg.halo", 12, *arguments)
    everything = pl.col("region") == "<program>"

    ranks = profile.table("ranks").filter(everything).sort("rank")
    assert ranks["sends"].to_list() == [row.sends for row in rows]
    assert ranks["bytes_sent"].to_list() == [row.bytes for row in rows]
    assert ranks["dest_ranks"].to_list() == [len(row.partners) for row in rows]

    partners = profile.table("partners").filter(everything, pl.col("sends") > 0)
    found = partners.select("rank", "partner", "sends", "bytes_sent").rows()
    assert sorted(found) == sorted(
        (row.rank, partner, *pair) for row in rows for partner, pair in row.partners.items()
    )

    sizes: Counter[int] = Counter()
    for row in rows:
        sizes.update(row.sizes)
    table = profile.table("sizes").filter(everything, pl.col("kind") == "p2p")
    assert dict(table.select("bytes", "messages").rows()) == sizes


def test_profile_has_the_regions_of_the_solver(cg: Application, haloscope: Path, tmp_path: Path) -> None:
    arguments = ("--nx=8", "--ny=8", "--nz=8", "--iterations=3")
    regions = cg.watched(haloscope, tmp_path / "cg.halo", 2, *arguments).table("regions")
    instances = dict(regions.select("path", "instances").rows())
    levels = {f"main/cg/mg_level_{n}": 3 * 2 for n in range(3)} | {"main/cg/mg_level_3": 3}
    exchanges = {f"main/cg/mg_level_{n}/halo_exchange": 3 * 3 for n in range(3)}
    assert instances == {
        "<program>": 1,
        "main": 1,
        "main/cg": 1,
        "main/cg/halo_exchange": 4,
        "main/cg/dot_product": 1 + 3 * 3,
        **levels,
        **exchanges,
        "main/cg/mg_level_3/halo_exchange": 3,
    }


def test_between_7_and_26_partners(cg: Application, compiler: Compiler, tmp_path: Path) -> None:
    command = [str(cg.program), "--nx=8", "--ny=8", "--nz=8", "--iterations=1"]
    rows = counted(compiler, cg.mpi, 27, command, tmp_path)
    partners = [len(row.partners) for row in rows]
    assert (min(partners), max(partners), partners[13]) == (7, 26, 26)
    sent = {(row.rank, to): pair for row in rows for to, pair in row.partners.items()}
    assert all(sent[to, rank] == pair for (rank, to), pair in sent.items())


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--nx", "12"], "multiples of 8"),
        (["--nz", "0"], "multiples of 8"),
        (["--ny", "8x"], "'8x' is not a value for --ny"),
        (["--procs", "2,2,2"], "--procs 2,2,2 is not a grid of the 1 rank that was started"),
        (["--procs", "many"], "'many' is not a value for --procs"),
        (["--smoother", "sor"], "'sor'"),
        (["--iterations", "-1"], "--iterations"),
        (["--depth", "3"], "unknown option '--depth'"),
        (["stray"], "unknown option 'stray'"),
        (["--nx"], "--nx needs a value"),
    ],
)
def test_wrong_usage_is_one_line(cg: Application, arguments: list[str], reason: str) -> None:
    assert reason in cg.complaint(*arguments)


def test_wrong_usage_is_said_once_for_all_ranks(cg: Application) -> None:
    assert "--nx" in cg.complaint("--nx", "9", ranks=3)


def test_help_shows_options_with_defaults(cg: Application) -> None:
    done = cg.mpi.run(1, [cg.program, "--help"])
    assert "--nx N" in done.stdout
    assert "[104]" in done.stdout
