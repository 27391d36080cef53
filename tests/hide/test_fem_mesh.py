"""Forests, nodes, hierarchies and transfers: programs of tests/hide/programs/fem on 1 and 3 ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.missing import missing
from support.mpi import REMEDY, find
from support.processes import run_program

RANKS = [1, 3]  # with three ranks on a forest of one element, too
ROUNDING = 1e-13
Fem = Callable[[str], Path]
Rows = dict[tuple[str, int], dict[str, str]]


def lines(executable: Path, ranks: int, *arguments: str) -> list[list[str]]:
    mpi = find("openmpi-system") or missing(REMEDY["openmpi-system"])
    done = run_program([*mpi.launch(ranks), str(executable), *arguments], env=mpi.environment())
    return [line.split() for line in done.stdout.splitlines()]


def table(rows: list[list[str]]) -> Rows:
    """Parse lines `name degree key value key value …`."""
    return {(row[0], int(row[1])): dict(zip(row[2::2], row[3::2], strict=True)) for row in rows}


@pytest.fixture(scope="module")
def meshes(fem: Fem) -> dict[int, Rows]:
    program = fem("mesh.cpp")
    return {ranks: table(lines(program, ranks)) for ranks in RANKS}


@pytest.fixture(scope="module")
def hierarchies(fem: Fem) -> dict[int, Rows]:
    program = fem("transfer.cpp")
    return {ranks: table(lines(program, ranks)) for ranks in RANKS}


def each(results: dict[int, Rows], *keys: str) -> list[tuple[str, ...]]:
    found = [tuple(row[key] for key in keys) for rows in results.values() for row in rows.values()]
    assert len(found) > 20 * len(results)
    return found


def test_the_number_of_nodes(meshes: dict[int, Rows]) -> None:
    """The count adds vertices, edges, faces and interiors that no larger element contains."""
    assert all(nodes == counted for nodes, counted in each(meshes, "nodes", "counted"))


def test_the_mesh_does_not_depend_on_the_number_of_ranks(meshes: dict[int, Rows]) -> None:
    keys = ("elements", "hanging", "nodes", "boundary")
    one, *others = (
        {case: [row[key] for key in keys] for case, row in rows.items()} for rows in meshes.values()
    )
    assert all(other == one for other in others)
    assert int(one["ball", 1][1]) > 100, "nothing hangs"
    assert one["uniform", 4][2] == str(33**3)
    assert one["uniform", 4][3] == str(33**3 - 31**3)


def test_polynomials_are_continuous(meshes: dict[int, Rows]) -> None:
    """Polynomials of full degree are continuous across hanging faces and edges, up to degree 8."""
    assert ("corner", 8) in meshes[1]
    assert max(float(gap) for (gap,) in each(meshes, "discontinuity")) < ROUNDING


def test_neighbours_agree_on_shared_nodes(meshes: dict[int, Rows]) -> None:
    assert max(float(gap) for (gap,) in each(meshes, "mismatch")) < ROUNDING
    assert set(each(meshes, "wrong_sums", "wrong_mirrors", "wrong_boundary")) == {("0", "0", "0")}


def test_transfer_of_polynomials(hierarchies: dict[int, Rows]) -> None:
    """A polynomial on the coarse level is the same on the fine level."""
    assert max(float(error) for (error,) in each(hierarchies, "interpolation")) < ROUNDING


def test_restriction_is_the_transpose(hierarchies: dict[int, Rows]) -> None:
    assert max(float(error) for (error,) in each(hierarchies, "transpose")) < ROUNDING
    assert any(float(error) > 0 for (error,) in each(hierarchies, "transpose")), "nothing summed"


def test_aligned_levels_are_those_of_one_rank(hierarchies: dict[int, Rows]) -> None:
    """Aligned levels equal those of one rank, and the imbalance stays within its limit."""
    alone = hierarchies[1]
    deep = 0
    for ranks, rows in hierarchies.items():
        for case, row in rows.items():
            count = 1 + int(row["aligned"])
            # A mesh with several degrees counts once.
            sizes, expected = (
                list(dict.fromkeys(one[case]["elements"].split(",")[:-1])) for one in (rows, alone)
            )
            assert sizes[:count] == expected[: min(count, len(sizes))], (ranks, case)
            deep = max(deep, min(count, len(sizes)) if ranks > 1 else 0)
            elements = int(sizes[0])
            allowed = 1 if case[0].endswith("-cut") else 1.1
            most = allowed * -(-elements // ranks)
            assert float(row["imbalance"]) * elements / ranks <= most + 0.1, (ranks, case)
    assert deep >= 3


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("degree", "degree 9 of finite elements is not in 1…8"),
        ("level", "level 19 of a forest is not in 0…18"),
        ("trees", "a forest needs at least one tree in each direction"),
        ("unbalanced", "differ by more than one level: call balance() first"),
        ("inverted", "inverts the element whose lower corner was (0.500000, 0.500000, 0.750000)"),
        ("permutation", "renumbering needs a permutation of the owned nodes"),
        ("predicate", "the predicate of refinement failed: no such place"),
        ("transfer", "a transfer is between a forest and its coarsened(), and these are others"),
    ],
)
def test_errors_are_seen_by_all_ranks(errors: dict[str, list[str]], case: str, message: str) -> None:
    assert len(errors[case]) == 3
    assert all(message in line for line in errors[case]), errors[case]


@pytest.fixture(scope="module")
def errors(fem: Fem) -> dict[str, list[str]]:
    """The message that each rank caught, by case."""
    caught: dict[str, list[str]] = {}
    for case, *words in lines(fem("errors.cpp"), 3):
        caught.setdefault(case, []).append(" ".join(words))
    return caught
