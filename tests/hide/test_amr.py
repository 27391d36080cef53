"""apps/amr: results by their definition on any number of ranks, and messages like those of miniAMR."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from support.applications import Application
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler

FOLDER = CHECKOUT / "apps" / "amr"
# The surface of a sphere that moves through the domain, and a box that grows.
SPHERE = "--object 2 0 0.1 0.2 0.2 0.08 0.06 0.05 0.2 0.25 0.2 0 0 0".split()
BOX = "--object 1 1 0.8 0.8 0.1 0 0.1 0.1 0.05 0.1 0.2 0.01 0 0".split()
CELLS = (4, 2, 6)
SIZE = "--nx 4 --ny 2 --nz 6 --num_vars 3 --max_blocks 3000".split()
STEPS = "--num_refine 2 --refine_freq 2 --num_tsteps 8 --stages_per_ts 2".split()
MOVING = [*SIZE, *SPHERE, *BOX, *STEPS]
RESULTS = ("sum", "drift", "squares", "range", "fingerprint", "checksum")


Triple = tuple[int, int, int]
Bits: TypeAlias = npt.NDArray[np.uint64]


class Block(NamedTuple):
    """A line `block` of the program's output."""

    level: int
    at: Triple
    rank: int

    @classmethod
    def parse(cls, words: Sequence[str]) -> Block:
        level, at, rank = words
        x, y, z = map(int, at.split(","))
        return cls(int(level), (x, y, z), int(rank))


def scatter(bits: Bits) -> Bits:
    """The finaliser of SplitMix64."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: Bits = bits ^ bits >> np.uint64(31)
    return mixed


def initial(cells: npt.NDArray[np.int64], variable: int) -> npt.NDArray[np.float64]:
    """Return the initial value in [0, 1) of cells of unrefined blocks, given rows of coordinates."""
    bits = scatter(np.zeros(len(cells), np.uint64)) + np.uint64(variable)
    for axis in range(3):
        bits = scatter(bits) + cells[:, axis].astype(np.uint64)
    values: npt.NDArray[np.float64] = (scatter(bits) >> np.uint64(11)).astype(float) * 2.0**-53
    return values


@dataclass(frozen=True)
class Mesh:
    """All blocks of a domain, on a grid of blocks of the finest level."""

    blocks: list[Block]
    roots: Triple
    cells: Triple

    @property
    def finest(self) -> int:
        return max(block.level for block in self.blocks)

    def painted(self, cells: Triple) -> np.ndarray:
        """Return the number of the cell at each place of the grid, with `cells` per block."""
        finest = self.finest
        shape = [n * c << finest for n, c in zip(self.roots, cells, strict=True)]
        grid, times = np.full(shape, -1), np.zeros(shape, int)
        count = int(np.prod(cells))
        numbers = np.arange(count).reshape(cells)
        for n, block in enumerate(self.blocks):
            width = 1 << finest - block.level
            fine = np.kron(numbers, np.ones((width,) * 3, int)) + n * count
            place = tuple(
                slice(at * c * width, (at + 1) * c * width) for at, c in zip(block.at, cells, strict=True)
            )
            grid[place] = fine
            times[place] += 1
        assert (times == 1).all()
        return grid

    def touching(self, cells: Triple, axis: int) -> np.ndarray:
        """Return pairs of cells that touch along an axis, each pair once, the lower number first."""
        grid = np.moveaxis(self.painted(cells), axis, 0)
        pairs = np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1)
        return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)

    def integrals(self, variable: int, steps: int) -> tuple[float, float]:
        """Return the integrals of the field and of its square after some steps.

        In a step, a seventh of the difference flows between touching cells, times the smaller volume.
        """
        count = int(np.prod(self.cells))
        levels = np.repeat([block.level for block in self.blocks], count)
        volume = 8.0**-levels
        field = initial(self._root_cells(), variable)
        pairs = np.concatenate([self.touching(self.cells, axis) for axis in range(3)])
        low, high = pairs.T
        weight = np.minimum(volume[low], volume[high]) / 7
        for _ in range(steps):
            flow = weight * (field[high] - field[low])
            gain = np.bincount(low, flow, len(field)) - np.bincount(high, flow, len(field))
            field = field + gain / volume
        return float(volume @ field), float(volume @ field**2)

    def _root_cells(self) -> np.ndarray:
        """Return the cell of an unrefined block that contains each cell."""
        local = np.stack(np.unravel_index(np.arange(np.prod(self.cells)), self.cells), axis=1)
        rows = [(local + np.multiply(b.at, self.cells)) >> b.level for b in self.blocks]
        return np.concatenate(rows)

    def messages(self, variables: int) -> Counter[int]:
        """Return the sizes of the messages of one exchange: one per axis and pair of ranks."""
        sizes: Counter[int] = Counter()
        for axis in range(3):
            face = int(np.prod(self.cells)) // self.cells[axis]
            together: Counter[tuple[int, int]] = Counter()
            for n, m in self.touching((1, 1, 1), axis):
                a, b = self.blocks[n], self.blocks[m]
                values = face if a.level == b.level else face // 4
                if a.rank != b.rank:
                    together[a.rank, b.rank] += values
                    together[b.rank, a.rank] += values
            sizes.update(8 * variables * values for values in together.values())
        return sizes

    def steepest(self) -> int:
        """Return the largest difference of levels between touching blocks."""
        levels = np.array([block.level for block in self.blocks])
        found = [np.abs(np.diff(levels[self.touching((1, 1, 1), axis)])) for axis in range(3)]
        return max(int(differences.max(initial=0)) for differences in found)


def build(compiler: Compiler, mpi: Mpi) -> Application:
    """Build it as one compilation unit, which is faster."""
    others = [p for p in sorted(FOLDER.glob("*.cpp")) if p.name != "main.cpp"]
    flags = ["-std=c++20", "-g0", "-Wall", "-Wextra", "-Werror"]
    included = [word for path in others for word in ("-include", str(path))]
    return Application(mpi, compiler(mpi, FOLDER / "main.cpp", [*flags, *included]))


@pytest.fixture(scope="module")
def amr(compiler: Compiler, any_mpi: Mpi) -> Application:
    return build(compiler, any_mpi)


@pytest.fixture(scope="module")
def alone(amr: Application) -> dict[str, list[list[str]]]:
    """The moving objects on one rank."""
    return amr.output(1, *MOVING, "--init_x", "4", "--init_y", "3", "--init_z", "2", "--verbose")


def blocks(output: dict[str, list[list[str]]]) -> list[Block]:
    return [Block.parse(words) for words in output["block"]]


def counts(found: list[Block], ranks: int) -> np.ndarray:
    return np.bincount([block.rank for block in found], minlength=ranks)


@pytest.mark.parametrize(
    ("ranks", "division", "others"),
    [
        (2, "--npx 2 --init_x 2 --init_y 3 --init_z 2", "--comm_vars 2"),
        (3, "--npy 3 --init_x 4 --init_z 2", "--lb_opt 2 --memory malloc"),
        (4, "--npx 2 --npz 2 --init_x 2 --init_y 3", "--lb_opt 0"),
        pytest.param(8, "--npx 4 --npz 2 --init_y 3", "--comm_vars 1", marks=pytest.mark.long),
    ],
)
def test_results_do_not_depend_on_the_division(
    amr: Application, alone: dict[str, list[list[str]]], ranks: int, division: str, others: str
) -> None:
    found = amr.output(ranks, *MOVING, *division.split(), *others.split(), "--verbose")
    for name in RESULTS:  # to the last bit
        assert found[name] == alone[name]
    tree = [(block.level, block.at) for block in blocks(found)]
    assert tree == [(block.level, block.at) for block in blocks(alone)]
    shares = counts(blocks(found), ranks)
    if "--lb_opt 0" not in others:
        assert shares.max() - shares.min() <= 1


def test_nothing_is_lost_when_blocks_refine_and_coarsen(alone: dict[str, list[list[str]]]) -> None:
    assert int(alone["blocks"][0][4]) == 5  # at the start, and after each second step
    assert float(alone["drift"][0][0]) < 1e-13
    assert len(alone["checksum"]) == 3
    low, _, high = alone["range"][0]
    assert 0 < float(low) < float(high) < 1


def test_neighbours_are_at_most_one_level_apart(alone: dict[str, list[list[str]]]) -> None:
    mesh = Mesh(blocks(alone), (4, 3, 2), CELLS)
    assert mesh.finest == 2
    assert mesh.steepest() == 1


def test_uniform_field_stays_uniform(amr: Application) -> None:
    division = "--npx 4 --init_y 3 --init_z 2 --initial uniform".split()
    low, _, high = amr.output(4, *MOVING, *division)["range"][0]
    assert low == high == f"{0.7:.17g}"


STATIC = [*SIZE, *SPHERE, *BOX, *"--num_refine 2 --refine_freq 0 --num_tsteps 1".split()]


def test_the_field_follows_its_definition(amr: Application) -> None:
    division = "--npx 2 --init_y 2 --init_z 2".split()
    found = amr.output(2, *STATIC, *division, "--stages_per_ts", "7", "--verbose")
    mesh = Mesh(blocks(found), (2, 2, 2), CELLS)
    assert {block.level for block in mesh.blocks} == {0, 1, 2}
    expected = [mesh.integrals(variable, 7) for variable in range(3)]
    sums = [float(value) for _, value in found["checksum"]]
    np.testing.assert_allclose(sums, [sum_ for sum_, _ in expected], rtol=1e-12)
    squares = float(found["squares"][0][0])
    assert squares == pytest.approx(sum(square for _, square in expected), rel=1e-12)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ("--object 3 0 0.5 0.5 0.5 0 0 0 1 1 1 0 0 0", 8**3),  # covers the cube
        ("--object 2 0 0.5 0.5 0.5 0 0 0 1 1 1 0 0 0", 1),  # its surface is outside
        ("--object 0 0 0 0 0 0 0 0 0.05 0.05 0.05 0 0 0", 1 + 3 * 7),  # only one corner
        ("--object 3 0 0 0 0 0.6 0 0 0.4 0.4 0.4 0 0 0", 1),  # leaves
        ("--object 3 1 0.5 0.5 0.5 0.75 0 0 0.9 0.9 0.9 0 0 0", 8**3),  # comes back
        ("--object 3 0 0.5 0.5 0.5 0 0 0 0.4 0.4 0.4 -0.2 0 0", 1),  # shrinks to nothing
        ("--uniform_refine 1", 8**3),
        ("", 1),
    ],
)
def test_blocks_are_where_objects_are(amr: Application, objects: str, expected: int) -> None:
    steps = "--num_refine 3 --num_tsteps 4 --refine_freq 1 --stages_per_ts 0 --max_blocks 600"
    command = [str(amr.program), *SIZE, *objects.split(), *steps.split()]
    # without a launcher, which is faster
    done = subprocess.run(command, env=amr.mpi.environment(), stdout=subprocess.PIPE, check=True)
    assert f"\nblocks       {expected} in the end" in done.stdout.decode()


def test_profile_has_the_predicted_sizes(amr: Application, haloscope: Path, tmp_path: Path) -> None:
    """There is one message per axis and pair of ranks, with the size of the faces between them."""
    arguments = [*STATIC, *"--npx 3 --init_x 1 --init_y 2 --init_z 2 --stages_per_ts 4".split()]
    mesh = Mesh(blocks(amr.output(3, *arguments, "--verbose")), (3, 2, 2), CELLS)
    profile = amr.watched(haloscope, tmp_path / "amr.halo", 3, *arguments)
    rows = profile.table("sizes").filter(pl.col("region") == "comm", pl.col("kind") == "p2p")
    expected = Counter({size: 4 * n for size, n in mesh.messages(3).items()})
    assert dict(rows.select("bytes", "messages").rows()) == expected
    regions = dict(profile.table("regions").select("path", "instances").rows())
    assert regions["main/timestep/comm"] == regions["main/timestep/stencil"] == 4
    assert regions["main/refine"] == regions["main/refine/load_balance"] == 1


@pytest.mark.parametrize(("cells", "variables"), [(32, 20), (16, 10)])
def test_messages_grow_with_variables_and_grid(
    amr: Application, haloscope: Path, tmp_path: Path, cells: int, variables: int
) -> None:
    size = [f"--{name}={cells}" for name in ("nx", "ny", "nz")]
    few = "--npx 2 --num_refine 0 --num_tsteps 1 --stages_per_ts 2".split()
    arguments = [*size, f"--num_vars={variables}", *few]
    profile = amr.watched(haloscope, tmp_path / "amr.halo", 2, *arguments)
    (comm,) = profile.table("regions", region="comm").to_dicts()
    assert comm["mean_message"] == 8 * cells**2 * variables
    assert comm["sends_total"] == 2 * 2


@pytest.mark.parametrize("buffers", [["--null-buffers"], []], ids=["lent", "own"])
def test_the_shm_library_changes_nothing(
    amr: Application, alone: dict[str, list[list[str]]], haloscope: Path, tmp_path: Path, buffers: list[str]
) -> None:
    division = "--npx 2 --npy 3 --init_x 2 --init_z 2".split()
    record = tmp_path / "shm.csv"
    shm = [str(haloscope), "shm", "-o", str(record), "--"]
    command = [*amr.mpi.launch(6), str(amr.program), *MOVING, *division, *buffers]
    env = amr.mpi.environment({"HALOSCOPE_SHM_THRESHOLD": "1024"})
    done = run_program([*shm, *command], env=env)
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert lines["fingerprint"] == alone["fingerprint"][0]
    rows = pl.read_csv(record)
    assert rows.filter(pl.col("protocol") != "BELOW")["messages"].sum() > 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("--nx 7", "must be even"),
        ("--num_vars 0", "--num_vars must be from 1"),
        ("--comm_vars 41", "--comm_vars must be from 0 to 40, not 41"),
        ("--num_vars 2000 --nx 256 --ny 256 --nz 256", "too large for one message"),
        ("--num_refine 19 --init_x 2", "--num_refine 19 would make more"),
        ("--num_objects 1", "--object is given 0 times"),
        ("--object 1 0 0.5", "--object needs a value"),
        ("--object 20 0 1 1 1 0 0 0 1 1 1 0 0 0", "is not a value for --object"),
        ("--object 3 0 0.5 0.5 0.5 0 0 0 1 1 1 0 0 0 --max_blocks 63", "--max_blocks is 63"),
        ("--memory shared", "'shared'"),
        ("--null-buffers", "MPIX_Get_recv_buf"),
    ],
)
def test_wrong_usage_is_one_line(amr: Application, arguments: str, reason: str) -> None:
    assert reason in amr.complaint(*arguments.split())


def test_a_wrong_grid_is_one_line_for_all_ranks(amr: Application) -> None:
    assert "1,2,1, which are not the 3 ranks" in amr.complaint("--npy", "2", ranks=3)


@pytest.mark.long
@pytest.mark.parametrize("mpi", ["mpich-system"], indirect=True)
def test_the_same_with_another_mpi(mpi: Mpi, compiler: Compiler, alone: dict[str, list[list[str]]]) -> None:
    division = "--npx 2 --init_x 2 --init_y 3 --init_z 2".split()
    assert build(compiler, mpi).output(2, *MOVING, *division)["squares"] == alone["squares"]
