"""Memory of the shm library does not grow with unused partners, and helpers visit near ranks first."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler
from support.shm import Shm

SCALE = CHECKOUT / "benchmarks" / "halo" / "scale.cpp"
Rows = list[list[float]]


@pytest.fixture(scope="module")
def nearness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("nearness") / "nearness"
    sources = ["tests/hide/programs/shm/nearness.cpp", "src/hide/shm/nearness.cpp"]
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{CHECKOUT / 'src'}"]
    subprocess.run(["g++", *flags, *(str(CHECKOUT / one) for one in sources), "-o", str(made)], check=True)
    return made


def said(program: Path, *words: str) -> list[int]:
    return [int(word) for word in run_program([str(program), *words]).stdout.split()]


def test_the_nearest_are_visited_first(nearness: Path) -> None:
    chance = random.Random(5)
    for ranks in (1, 2, 3, 64, 65, 130):
        places = [(chance.choice([-1, 0, 1]), chance.choice([-1, 0, 1, 2, 3])) for _ in range(ranks)]
        me = chance.randrange(ranks)
        words = [f"{rank}:{socket}:{numa}" for rank, (socket, numa) in enumerate(places)]

        def distance(rank: int, places: list[tuple[int, int]] = places, me: int = me) -> tuple[int, int]:
            socket, numa = places[me]
            near = numa >= 0 and places[rank][1] == numa
            beside = socket >= 0 and places[rank][0] == socket
            return (0 if near else 1 if beside else 2), rank

        expected = sorted((rank for rank in range(ranks) if rank != me), key=distance)
        assert said(nearness, "order", str(me), *words) == expected


def test_places_of_processors(nearness: Path, tmp_path: Path) -> None:
    """Two sockets of two NUMA nodes of two processors each; one processor has no directory."""
    for processor in range(8):
        folder = tmp_path / f"cpu{processor}"
        (folder / "topology").mkdir(parents=True)
        (folder / "topology" / "physical_package_id").write_text(f"{processor // 4}\n")
        (folder / f"node{processor // 2}").mkdir()
        (folder / "nodes").mkdir()
    for processors, found in (
        (["5"], [1, 2]),
        (["2", "3"], [0, 1]),
        (["4", "7"], [1, -1]),
        ([str(i) for i in range(8)], [-1, -1]),
        (["9"], [-1, -1]),
    ):
        assert said(nearness, "where", str(tmp_path), *processors) == found


def rows(shm: Shm, compiler: Compiler, ranks: int) -> Rows:
    """Return the program's columns per rank."""
    program = compiler(shm.mpi, SCALE, ["-std=c++20"])
    # A message that is not received in time would need its own memory.
    done = shm.run(ranks, program, "65536", "8", settings={"patience": "1000", "measure": "off"})
    found = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert len(found) == ranks
    return found


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_memory_does_not_grow_with_unused_partners(mpi: Mpi, shm: Shm, compiler: Compiler) -> None:
    """In a ring a rank has two partners; rank 0 of the node stores the masks of all ranks."""
    few, many = rows(shm, compiler, 4), rows(shm, compiler, 12)
    arena, touched = 3, 4
    for found in (few, many):
        assert all(1 <= row[touched] <= 3 for row in found), found
        assert all(row[arena] > 0 for row in found)
    assert min(row[arena] for row in many) <= min(row[arena] for row in few) + 64
