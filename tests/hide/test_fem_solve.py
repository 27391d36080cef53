"""Solvers of matrix-free operators: tests/hide/programs/fem/solve.cpp."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.missing import missing
from support.mpi import REMEDY, find

Fem = Callable[[str], Path]
Lines = dict[str, list[float]]


def run(fem: Fem, ranks: int, cases: str) -> list[str]:
    mpi = find("openmpi-system") or missing(REMEDY["openmpi-system"])
    return mpi.run(ranks, [fem("solve.cpp"), cases]).stdout.splitlines()


def table(lines: list[str]) -> Lines:
    return {words[0]: [float(word) for word in words[1:]] for words in map(str.split, lines)}


@pytest.fixture(scope="module")
def iterations(fem: Fem) -> dict[int, Lines]:
    """Return, by ranks and case, the number of levels, then iterations and residual of GMG-CG."""
    return {ranks: table(run(fem, ranks, "iterations")) for ranks in (1, 3)}


def check_iterations(lines: Lines) -> None:
    assert lines
    for name, (levels, *methods) in lines.items():
        for count, residual in zip(methods[::2], methods[1::2], strict=True):
            assert 2 <= count <= 9, name
            assert residual <= 1.1e-8, name
        assert levels >= 2 or name.startswith("degree-1-"), name


def test_multigrid_iterations_are_few_whatever_the_mesh(iterations: dict[int, Lines]) -> None:
    for lines in iterations.values():
        check_iterations(lines)


@pytest.mark.parametrize("degrees", ["degrees", pytest.param("high-degrees", marks=pytest.mark.long)])
def test_multigrid_iterations_are_few_whatever_the_degree_and_the_method(fem: Fem, degrees: str) -> None:
    """CG and GMRES, also pipelined, on cubes, a jump of 10^6, hanging nodes and deformed elements."""
    lines = table(run(fem, 2, degrees))
    assert {len(values) for values in lines.values()} == {1 + 2 * 4}
    assert len(lines) == 4 * 4
    check_iterations(lines)


def test_multigrid_iterations_do_not_depend_on_h(iterations: dict[int, Lines]) -> None:
    for lines in iterations.values():
        for family in (["uniform-3", "uniform-4", "uniform-5"], ["jump-3", "jump-4"]):
            counts = [lines[name][1] for name in family]
            assert counts[-1] <= counts[0] + 1, family


def test_multigrid_iterations_hardly_depend_on_the_number_of_ranks(iterations: dict[int, Lines]) -> None:
    for name, (_, alone, *_) in iterations[1].items():
        assert abs(iterations[3][name][1] - alone) <= 2, name


@pytest.mark.parametrize("ranks", [1, 3])
def test_all_methods_agree_with_a_direct_solver(fem: Fem, ranks: int) -> None:
    lines = table(run(fem, ranks, "agreement"))
    assert set(lines) >= {"cg", "pipelined", "gmg", "pipelined-gmg", "gamg", "s-step-8"}
    for name, (difference, *_) in lines.items():
        assert difference < 1e-7, name
    check_allreduces(lines, ranks)


def check_allreduces(lines: Lines, ranks: int) -> None:
    """Assert one Allreduce in s iterations, and three more: right-hand side, end, and final check."""
    plain = lines["cg"]
    assert plain[2] >= 3 * plain[1] or ranks == 1  # PETSc calls no Allreduce on one rank
    for steps in (1, 2, 4, 8):
        _, count, counted, blocks, matvecs, allreduces, _ = lines[f"s-step-{steps}"]
        assert counted == allreduces == blocks + 3
        assert count == steps * blocks  # no block was cut short
        assert count <= plain[1] + 2 * steps
        assert steps * (blocks + 1) < matvecs <= steps * (blocks + 1) + 8  # true residuals
    assert lines["pipelined"][2] < 10  # its Allreduces are nonblocking


def test_iterations_of_the_block_system_are_bounded(fem: Fem) -> None:
    lines = table(run(fem, 2, "blocks"))
    counts = {name: values[0] for name, values in lines.items()}
    assert counts["stokes-4"] <= 1.25 * counts["stokes-3"]
    assert max(counts.values()) <= 120, counts


def test_all_ranks_report_errors(fem: Fem) -> None:
    said: dict[str, list[str]] = {}
    for line in run(fem, 2, "errors"):
        name, _, message = line.partition(": ")
        said.setdefault(name, []).append(message)
    expected = {
        "limit": "limit of iterations",
        "limit-s": "limit of iterations",
        "steps": "1 to 16, not 17",
        "degree": "1 to 4, not 9",
        "indefinite": "not positive definite",
        "indefinite-s": "not positive definite",
        "diagonal": "diagonal is not positive",
        "nan": "not finite",
        "nan-s": "not finite",
    }
    assert said.keys() == expected.keys()
    for name, part in expected.items():
        assert len(said[name]) == 2, name
        assert len(set(said[name])) == 1, said[name]
        assert part in said[name][0]
