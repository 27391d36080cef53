"""apps/amg solves AMG2023's problems, and talks as the records of hypre, and a paper, say.

The paper is Nansamba and others, "Leveraging Caliper and Benchpark to Analyze MPI Communication Patterns".
"""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from haloscope import ComponentError
from haloscope.base.building import build_application, hypre_options
from haloscope.explain import ensembles, open_all
from support.applications import Application
from support.missing import impossible, missing
from support.mpi import CHECKOUT, Mpi, find
from support.programs import Compiler

Grid = tuple[int, int, int]
ORACLE = CHECKOUT / "tests" / "watch" / "oracle" / "hypre_exchanges.c"
CYCLE = "main/Problem/Solve/BoomerAMGSolve/MatVecComm"
OUTSIDE = "main/Problem/Solve/MatVecComm"

# Table III's grids of ranks and points of a rank, which grow with them; Table IV's most bytes that a rank
# sends in one exchange on the finest level. 34064 is printed as 34604 there.
TIOGA: dict[tuple[Grid, Grid], int] = {
    ((2, 2, 2), (32, 32, 16)): 17032,
    ((4, 2, 2), (64, 32, 16)): 34064,
    ((4, 4, 2), (64, 64, 16)): 68128,
    ((4, 4, 4), (64, 64, 32)): 136256,
}
DANE: dict[tuple[Grid, Grid], int] = {
    ((4, 4, 4), (32, 32, 16)): 35392,
    ((8, 4, 4), (64, 32, 16)): 60992,
    ((8, 8, 4), (64, 64, 16)): 102976,
    ((8, 8, 8), (64, 64, 32)): 136256,
}


def built(mpi: Mpi) -> Application:
    """As `haloscope where` builds it, and shared with that: it takes a while."""
    try:
        hypre_options(mpi.mpicxx)
        return Application(mpi, build_application("amg", quiet=True))
    except ComponentError as error:
        if "was built with" in str(error):
            impossible(f"Debian's hypre is Open MPI's: {error}")
        missing(str(error))


@pytest.fixture(scope="module")
def amg() -> Application:
    return built(find("openmpi-system") or missing("openmpi-system is not installed"))


def words(procs: Grid, points: Grid, *more: str | int) -> list[str]:
    return [str(word) for word in ("-P", *procs, "-n", *points, *more)]


def most_bytes(procs: Grid, points: Grid) -> int:
    """What a rank in the middle sends for 27 points a row: a layer of points to each rank around it."""
    sides = [(0, -1, 1)[: min(p, 3)] for p in procs]  # of two ranks along an axis, each has one side
    layers = [
        np.prod([n if step == 0 else 1 for n, step in zip(points, away, strict=True)])
        for away in product(*sides)
        if any(away)
    ]
    return 8 * int(sum(layers))


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_runs_under_the_mpi_of_its_hypre(mpi: Mpi) -> None:
    lines = built(mpi).output(2, *words((2, 1, 1), (8, 8, 8)))
    assert lines["outcome"] == [["converged"]]


@pytest.mark.parametrize(("problem", "tolerance", "most"), [(1, 1e-12, 16), (2, 1e-8, 16)])
def test_converges_and_says_so_in_the_words_of_amg2023(
    amg: Application, problem: int, tolerance: float, most: int
) -> None:
    done = amg.mpi.run(8, [amg.program, *words((2, 2, 2), (10, 10, 10), "-problem", problem)], status=None)
    number = r"(\d\.\d+e[+-]\d+)"
    (iterations,) = re.findall(r"^Iterations = (\d+)$", done.stdout, re.MULTILINE)
    (residual,) = re.findall(f"^Final Relative Residual Norm = {number}$", done.stdout, re.MULTILINE)
    assert int(iterations) <= most
    assert float(residual) <= tolerance
    solve, weight = ("nnz_AP", "") if problem == 1 else (r"nnz_AP \* iterations", r"3 \* ")
    whole = rf"Figure of Merit \(FOM\): nnz_AP / \(Setup Phase Time \+ {weight}Solve Phase Time\) {number}"
    for line in ("FOM_Setup: nnz_AP / Setup Phase Time: ", f"FOM_Solve: {solve} / Solve Phase Time: "):
        assert re.search(f"^{line}{number}$", done.stdout, re.MULTILINE)
    assert re.search(f"^{whole}$", done.stdout, re.MULTILINE)


def places(procs: Grid, points: Grid) -> np.ndarray:
    """Where in the grid each row is, shape (rows, 3): a rank's rows follow each other, x fastest."""
    blocks = [np.array([*product(*map(range, reversed(size)))])[:, ::-1] for size in (procs, points)]
    first, inner = blocks[0] * np.array(points), blocks[1]
    return np.vstack([start + inner for start in first])


def printed(directory: Path, name: str, ranks: int) -> np.ndarray:
    """hypre's file of a matrix or vector, without its first lines, which have the ranges of ranks."""
    parts = [directory / f"IJ.out.{name}.{rank:05}" for rank in range(ranks)]
    return np.vstack([np.loadtxt(part, skiprows=1, ndmin=2) for part in parts])


@pytest.mark.parametrize(("problem", "entries"), [(1, [26, -4, -0.15, -0.0125]), (2, [6.0, -1.0, 0.0, 0.0])])
def test_matrix_and_solution_are_those_of_the_definition(
    amg: Application, tmp_path: Path, problem: int, entries: list[float]
) -> None:
    procs, points = (2, 1, 3), (3, 4, 2)
    command: list[str | Path] = [amg.program, *words(procs, points, "-problem", problem, "-print")]
    amg.mpi.run(6, command, cwd=tmp_path)
    where = places(procs, points)
    apart = np.abs(where[:, None] - where[None])
    matrix = np.where(apart.max(axis=2) <= 1, np.array(entries)[np.minimum(apart.sum(axis=2), 3)], 0)
    written = np.zeros_like(matrix)
    rows, columns, values = printed(tmp_path, "A", 6).T
    written[rows.astype(int), columns.astype(int)] = values
    np.testing.assert_array_equal(written, matrix)
    solution = np.linalg.solve(matrix, np.ones(len(matrix)))
    np.testing.assert_allclose(printed(tmp_path, "x", 6)[:, 1], solution, rtol=1e-6)


def counted_inside(
    compiler: Compiler, amg: Application, ranks: int, arguments: list[str], to: Path
) -> pl.DataFrame:
    """A row for each rank, level and place (in the cycle, or outside), by hypre's own records."""
    flags = ["-shared", "-fPIC", *hypre_options(amg.mpi.mpicxx)]
    library = compiler(amg.mpi, ORACLE, flags)
    variables = [f"LD_PRELOAD={library}", f"EXCHANGES_FILE={to}"]
    amg.mpi.run(ranks, ["env", *variables, amg.program, *arguments])
    return pl.DataFrame([json.loads(line) for line in to.read_text().splitlines()])


@pytest.mark.parametrize("problem", [1, pytest.param(2, marks=pytest.mark.long)])
def test_recorder_agrees_with_the_records_of_hypre(
    amg: Application, compiler: Compiler, haloscope: Path, tmp_path: Path, problem: int
) -> None:
    arguments = words((3, 2, 2), (9, 6, 7), "-problem", problem)
    inside = counted_inside(compiler, amg, 12, arguments, tmp_path / "exchanges.json")
    profile = amg.watched(haloscope, tmp_path / "amg.halo", 12, *arguments)
    part = pl.when(pl.col("in_cycle") == 1).then(pl.lit(CYCLE)).otherwise(pl.lit(OUTSIDE))
    inside = inside.with_columns(pl.format("{}/level {}", part, pl.col("level")).alias("region"))
    names = ["region", "rank", "instances", "sends", "bytes_sent", "bytes_sent_instance_max", "dest_ranks"]
    ranks = profile.table("ranks").filter(pl.col("region").is_in(inside["region"].implode()))
    expected = inside.select(names).sort("region", "rank")
    assert ranks.select(names).sort("region", "rank").rows() == expected.rows()
    assert {0, 1, 2} <= set(inside["level"])
    # All that is sent while it is solved is in there, but for what the coarsest level is solved with.
    total = profile.table("regions").filter(pl.col("path") == "main/Problem/Solve")["sends_total"].item()
    assert total == inside["sends"].sum()


def test_regions_are_those_of_amg2023(amg: Application, haloscope: Path, tmp_path: Path) -> None:
    profile = amg.watched(haloscope, tmp_path / "amg.halo", 2, *words((2, 1, 1), (6, 6, 6)))
    instances = dict(profile.table("regions").select("path", "instances").rows())
    phases = ("main", "main/Hypre init", "main/Problem", "main/Problem/Setup", "main/Problem/Solve")
    assert [instances[path] for path in phases] == [1] * 5
    assert instances["main/Problem/Setup/BoomerAMGSetup"] == 1


@pytest.mark.parametrize(("case", "bytes_sent"), [*TIOGA.items(), *DANE.items()])
def test_bytes_of_the_paper_by_arithmetic(case: tuple[Grid, Grid], bytes_sent: int) -> None:
    assert most_bytes(*case) == bytes_sent


@pytest.mark.long
def test_bytes_of_the_paper_in_a_run_of_its_first_row(
    amg: Application, haloscope: Path, tmp_path: Path
) -> None:
    ((procs, points), bytes_sent), *_ = TIOGA.items()
    profile = amg.watched(haloscope, tmp_path / "amg.halo", 8, *words(procs, points))
    finest = profile.table("regions").filter(pl.col("path") == f"{OUTSIDE}/level 0")
    assert finest["bytes_sent_instance_max"].item() == bytes_sent == 17032
    assert finest["dest_ranks_max"].item() == 7
    # GMRES needs the same number as AMG2023 for these sizes.
    assert finest["instances"].item() == 12 + 2


@pytest.mark.parametrize(
    "procs",
    [
        pytest.param((3, 3, 3), marks=pytest.mark.long),
        (4, 2, 2),
        pytest.param((4, 4, 2), marks=pytest.mark.long),
        (4, 3, 1),
    ],
)
def test_arithmetic_is_that_of_a_product_with_the_matrix(
    amg: Application, haloscope: Path, tmp_path: Path, procs: Grid
) -> None:
    points, ranks = (5, 3, 2), int(np.prod(procs))
    profile = amg.watched(haloscope, tmp_path / "p.halo", ranks, *words(procs, points, "-products", 3))
    row = profile.table("regions").filter(pl.col("path") == "main/Products/MatVecComm")
    assert row["instances"].item() == 3
    assert row["bytes_sent_instance_max"].item() == most_bytes(procs, points)


def test_levels_are_a_family(amg: Application, haloscope: Path, tmp_path: Path) -> None:
    for procs in ((2, 1, 1), (2, 2, 1)):
        ranks = int(np.prod(procs))
        amg.watched(haloscope, tmp_path / f"amg-{ranks}.halo", ranks, *words(procs, (8, 8, 8)))
    runs = open_all(str(tmp_path / "amg-*.halo"))
    family = f"{CYCLE}/level #"
    assert family in ensembles.families(runs)["family"].to_list()
    frame = ensembles.levels(runs, family, "most_bytes").frame
    assert {0, 1, 2} <= set(frame["level"])
    assert set(frame["run_ranks"]) == {2, 4}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-P", "2", "2", "2"], "-P 2,2,2 is not a grid of the 1 rank that was started"),
        (["-n", "8", "8", "0"], "-n 8,8,0: a rank needs a point along each axis"),
        (["-n", "8", "8"], "-n needs a value"),
        (["-n", "8", "8", "many"], "'8,8,many' is not a value for -n"),
        (["-problem", "3"], "-problem is 1 or 2, not 3"),
        (["-n", "4096", "4096", "4096"], "than this hypre can count"),
        (["-interptype", "999"], "-interptype 999: hypre knows no such number"),
        (["-k", "0"], "-k must be positive"),
        (["-Pmx", "-1"], "must not be negative"),
        (["-dev_pool_size", "4"], "unknown option '-dev_pool_size'"),
    ],
)
def test_wrong_usage_is_one_line(amg: Application, arguments: list[str], reason: str) -> None:
    assert reason in amg.complaint(*arguments)


def test_wrong_usage_is_said_once_for_all_ranks(amg: Application) -> None:
    assert "-rlx 12345: hypre knows no such number" in amg.complaint("-rlx", "12345", ranks=3)


def test_help_and_what_is_so_anyway(amg: Application) -> None:
    done = amg.mpi.run(1, [amg.program, "-help"])
    assert "-n X Y Z" in done.stdout
    done = amg.mpi.run(1, [amg.program, "-keepT", "-memory_host", "-exec_host", "-printallstats"])
    assert "Num levels" in done.stdout or "BoomerAMG SETUP" in done.stdout


def test_missing_hypre_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HYPRE_DIR", str(tmp_path))
    with pytest.raises(ComponentError, match="libhypre-dev"):
        build_application("amg")
