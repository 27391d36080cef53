"""apps/hydro solves the stated problem, the same on any grid of ranks, and communicates as Laghos does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from support.applications import Application, Counts, counted
from support.mpi import Mpi
from support.programs import Compiler

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


# RK2Avg is the default; conjugate gradients are as exact as can be.
EXACT = ("-cgt", "1e-15")


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
        ("-p 2", "-p must be from 0 to 1, not 2"),
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
