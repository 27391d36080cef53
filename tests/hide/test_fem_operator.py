"""The matrix-free operator on 1 to 8 ranks, against plain quadrature; `poisson`, and its build."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import haloscope as library
from haloscope import ComponentError
from haloscope.base import toolchain
from haloscope.hide import build_fem
from haloscope.markov import read_timings
from support.mpi import Mpi
from support.processes import run_program

ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
Fem = Callable[[str], Path]
Lines = list[list[str]]


def lines(mpi: Mpi, ranks: int, *command: str | Path) -> Lines:
    """The words of each line that a program printed."""
    return [line.split() for line in mpi.run(ranks, command).stdout.splitlines()]


def numbers(found: Lines, first: str) -> dict[str, list[float]]:
    """The numbers of the lines that begin with `first`, by the second word."""
    return {line[1]: list(map(float, line[2:])) for line in found if line[0] == first}


@ONE
def test_random_operators_equal_their_matrices_on_any_number_of_ranks(mpi: Mpi, fem: Fem) -> None:
    program = fem("operator.cpp")
    runs = {ranks: lines(mpi, ranks, program, "random", "0", "8") for ranks in (1, 2, 5)}
    for run in runs.values():
        matrices = numbers(run, "matrix")
        assert len(matrices) == 8
        for difference, diagonal, asymmetry, _ in matrices.values():
            assert max(difference, diagonal, asymmetry) < 1e-13
        assert sum(hanging > 0.2 for *_, hanging in matrices.values()) >= 5
        # Results are bit-identical for all policies, alphas, timings, and with consistent vectors.
        policies = numbers(run, "policies")
        assert len(policies) == 4
        assert all(differing == [0] for differing in policies.values())
    first = numbers(runs[1], "sameness")
    for run in runs.values():
        for seed, (nodes, *products) in numbers(run, "sameness").items():
            assert nodes == first[seed][0]
            assert products == pytest.approx(first[seed][1:], rel=1e-11)


@ONE
def test_solutions_converge_at_full_order(mpi: Mpi, fem: Fem) -> None:
    orders = {
        (name, int(degree)): math.log2(float(coarse) / float(fine))
        for _, name, degree, coarse, fine in lines(mpi, 2, fem("operator.cpp"), "converge")
    }
    assert len(orders) == 10
    assert {degree for _, degree in orders} == {1, 2, 3, 4}
    for (name, degree), order in orders.items():
        assert order > degree + 1 - 0.25, (name, degree)


@ONE
def test_bad_input_is_refused_on_all_ranks(mpi: Mpi, fem: Fem) -> None:
    done = mpi.run(3, [fem("operator.cpp"), "bad"])
    words = {
        "negative": "is -1",
        "not-a-number": "nan",
        "epsilon": "epsilon is 0",
        "theta": "theta is 2",
        "inverted": "invert",
        "unbalanced": "balance",
        "consistent": "consistent",
    }
    for name, word in words.items():
        said = [x for x in done.stdout.splitlines() if x.startswith(f"refused {name}:")]
        assert len(said) == 3
        assert any(word in line for line in said), said
        assert not any(line.endswith(": nothing") for line in said), said
    assert "volume 1.0000000" in done.stdout  # one element for three ranks


@pytest.fixture(scope="module")
def poisson(fem: Fem) -> Path:  # skips if a component is missing
    return build_fem(quiet=True).poisson


@ONE
def test_poisson_is_a_series_of_products(mpi: Mpi, poisson: Path, haloscope: Path, tmp_path: Path) -> None:
    table, profile = tmp_path / "times.csv", tmp_path / "poisson.halo"
    arguments = "--level 3 --refine ball --jump 10 --policy dynamic --epsilon 1e-6 --runs 2 --csv".split()
    watch: list[str | Path] = [haloscope, "run", "--quiet", "--series", "matvec", "-o", profile, "--"]
    done = run_program([*watch, *mpi.launch(2), poisson, *arguments, table], env=mpi.environment())
    said = {words[0]: words[1:] for line in done.stdout.splitlines() if (words := line.split())}
    assert float(said["residual"][0]) < 1e-8
    assert float(said["error"][0]) < 0.02
    rows = list(csv.DictReader(table.read_text().splitlines()))
    with library.open(profile) as opened:
        # Sorted by time: PETSc's functions around a product are regions, too, so there are several paths.
        series = opened.table("series", region="matvec").sort("rank", "start")
    assert len(rows) == len(series) == 2 * int(said["products"][0])
    assert [int(row["rank"]) for row in rows] == series["rank"].to_list()
    alphas = [float(row["alpha"]) for row in rows]
    assert alphas == pytest.approx(series["alpha"].to_list(), abs=1e-6)
    assert alphas[0] == 0.5  # how it goes on depends on which rank waits
    # For regimes, the instances of all these paths are one series.
    merged = read_timings(profile, "matvec")
    assert merged.others["alpha"].ravel().tolist() == series["alpha"].to_list()
    assert merged.durations.ravel().tolist() == series["duration"].to_list()
    assert {row["run"] for row in rows} == {"1", "2"}


@ONE
def test_a_run_has_as_many_iterations_as_asked_for(mpi: Mpi, poisson: Path) -> None:
    """The residual of multigrid's recurrence underflows long before."""
    done = mpi.run(2, [poisson, *"--level 2 --solver gmg --iterations 400 --tolerance 0".split()])
    said = {words[0]: words[1] for line in done.stdout.splitlines() if (words := line.split(None, 1))}
    assert said["iterations"] == "400"
    assert float(said["residual"]) < 1e-10
    assert "limit of iterations" in said["outcome"]


@ONE
@pytest.mark.parametrize("problem", [["--jump", "1000"], ["--pointwise"]])
def test_no_right_hand_side_is_an_eigenvector(mpi: Mpi, poisson: Path, problem: list[str]) -> None:
    """An eigenvector as right-hand side would be solved in one iteration, with useless times to solution."""
    done = mpi.run(1, [poisson, "--level", "4", "--solver", "cg", "--jacobi", *problem])
    said = dict(line.split()[:2] for line in done.stdout.splitlines())
    assert int(said["iterations"]) > 12
    assert 0 < float(said["error"]) < 0.1


@ONE
def test_poisson_refuses_in_one_line(mpi: Mpi, poisson: Path, tmp_path: Path) -> None:
    def complaint(*arguments: str) -> str:
        done = run_program([str(poisson), *arguments], env=mpi.environment(), cwd=tmp_path, status=2)
        (line,) = done.stderr.splitlines()
        return line

    assert "--policy is one of" in complaint("--policy", "perfect")
    assert "coefficient: is -3" in complaint("--level", "1", "--jump", "-3")
    assert "theta is 2" in complaint("--level", "1", "--theta", "2")
    few = ["--level", "1", "--solver", "matvec", "--iterations", "1"]
    assert "none/x.csv: cannot be written" in complaint(*few, "--csv", "none/x.csv")
    assert not list(tmp_path.iterdir())


def test_where_and_doctor_know_them(poisson: Path, haloscope: Path) -> None:
    def said(*words: str) -> str:
        command = [str(haloscope), *words]
        return run_program(command).stdout

    assert Path(said("where", "poisson").strip()) == poisson
    assert Path(said("where", "fem").strip()).name == "libhaloscope-fem.a"
    assert re.search(r"^ok +p4est and PETSc .*libpetsc", said("doctor"), re.MULTILINE)


def test_missing_components_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("P4EST_DIR", str(tmp_path))
    with pytest.raises(ComponentError, match="libp4est-dev"):
        toolchain.find_p4est()
    monkeypatch.setenv("PETSC_DIR", str(tmp_path))
    with pytest.raises(ComponentError, match="libpetsc-real-dev"):
        toolchain.find_petsc()
    (tmp_path / "arch" / "include").mkdir(parents=True)
    configured = tmp_path / "arch" / "include" / "petscconf.h"
    configured.write_text("#define PETSC_USE_COMPLEX 1\n#define PETSC_HAVE_MPICH_NUMVERSION 4\n")
    monkeypatch.setenv("PETSC_ARCH", "arch")
    with pytest.raises(ComponentError, match="complex"):
        toolchain.find_petsc()
    configured.write_text("#define PETSC_HAVE_MPICH_NUMVERSION 4\n")
    assert toolchain.find_petsc().abi == "mpich"


@ONE
@pytest.mark.usefixtures("fem")
def test_petsc_of_another_mpi_is_refused(mpi: Mpi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", mpi.environment()["PATH"])
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "petscconf.h").write_text("#define PETSC_HAVE_MPICH_NUMVERSION 4\n")
    monkeypatch.setenv("PETSC_DIR", str(tmp_path))
    with pytest.raises(ComponentError, match=r"built with mpich, but .* is of openmpi"):
        build_fem(quiet=True)
