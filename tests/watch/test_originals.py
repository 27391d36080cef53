"""apps/sweep, cg, amr and hydro compared with Kripke, HPCG, miniAMR and Laghos, whose messages are data here.

Each was run unchanged under `haloscope run`, with the flags next to its counts: Kripke ddcac43, HPCG 114602d
(3.1, `--rt=0`, 50 iterations), miniAMR 635fef2, Laghos 97d75b3; where blocks are refined, with a
communication region around miniAMR's `comm`, put there by the linker. `docs/reference` lists other
similarities and differences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from haloscope.explain import Profile
from support.applications import Application
from support.mpi import Mpi
from support.programs import Compiler

Grid = tuple[int, int, int]
Pairs = dict[tuple[int, int], tuple[int, int]]  # sender and receiver: messages and bytes
Run = Callable[..., Profile]


@pytest.fixture(scope="module")
def run(compiler: Compiler, any_mpi: Mpi, haloscope: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`run("sweep", 8, "--procs 2,2,2")` runs an application under the recorder."""

    def watched(name: str, ranks: int, words: str) -> Profile:
        program = Application.build(compiler, any_mpi, name)
        file = tmp_path_factory.mktemp("originals") / f"{name}.halo"
        return program.watched(haloscope, file, ranks, *words.split())

    return watched


class Original(NamedTuple):
    """What a run of the original sent: by axis, messages and bytes of each pair of neighbours."""

    flags: str
    grid: Grid
    axes: Mapping[str, tuple[int, int]]
    sizes: Mapping[int, int]

    @property
    def ranks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


KRIPKE = [
    Original(
        "--procs 2,2,1 --zones 16,16,16 --groups 32 --quad 64 --gset 16 --dset 8 --zset 1,1,1 --niter 3",
        (2, 2, 1),
        {"x": (192, 3145728), "y": (192, 3145728)},
        {16384: 1536},
    ),
    Original(
        "--procs 3,2,1 --zones 12,8,8 --groups 6 --quad 32 --gset 3 --dset 16 --zset 1,1,1 --niter 2",
        (3, 2, 1),
        {"x": (48, 49152), "y": (48, 49152)},
        {1024: 672},
    ),
    Original(
        "--procs 2,2,2 --zones 12,16,10 --groups 6 --quad 32 --gset 3 --dset 16 --zset 2,1,1 --niter 2",
        (2, 2, 2),
        {"x": (48, 61440), "y": (96, 46080), "z": (96, 73728)},
        {480: 768, 768: 768, 1280: 384},
    ),
]
_STEPS = (
    "--nx 8 --ny 6 --nz 4 --num_vars 10 --num_refine 0 --num_tsteps 4 --stages_per_ts 3 --checksum_freq 2"
)
MINIAMR = [
    Original(
        f"--npx 2 --npy 2 --npz 1 {_STEPS}",
        (2, 2, 1),
        {"x": (12, 23040), "y": (12, 30720)},
        {1920: 48, 2560: 48},
    ),
    Original(
        f"--npx 2 --npy 2 --npz 2 {_STEPS} --init_x 2 --init_z 3 --comm_vars 5",
        (2, 2, 2),
        {"x": (24, 69120), "y": (24, 184320), "z": (24, 92160)},
        {2880: 192, 3840: 192, 7680: 192},
    ),
]


class Refined(NamedTuple):
    """What a run of miniAMR with moving objects sent in its exchanges of faces.

    `pairs` has each pair of ranks once, as both sent each other as much; ranks are amr's, along x first.
    """

    flags: str
    ranks: int
    pairs: Pairs
    sizes: Mapping[int, int]


_MOVING = (
    "--nx 8 --ny 6 --nz 4 --num_vars 10 --num_tsteps 8 --stages_per_ts 2 --checksum_freq 0 --lb_opt 0 "
    "--max_blocks 4000 --block_change 1"
)
REFINED = [
    # A sphere's surface, three levels that follow it one at a time.
    Refined(
        f"--npx 2 --npy 2 {_MOVING} --num_refine 3 --refine_freq 2 "
        "--num_objects 1 --object 2 0 0.2 0.2 0.5 0.05 0.05 0 0.2 0.2 0.2 0 0 0",
        4,
        {(0, 1): (16, 721920), (0, 2): (16, 962560), (1, 3): (16, 471040), (2, 3): (16, 353280)},
        {7680: 16, 10240: 16, 19200: 8, 25600: 8, 30720: 16}
        | {40960: 16, 53760: 16, 65280: 8, 71680: 16, 87040: 8},
    ),
    # A solid spheroid that bounces and grows, and a box.
    Refined(
        f"--npx 2 --npy 2 --npz 2 {_MOVING} --num_refine 2 --refine_freq 1 "
        "--num_objects 2 --object 3 1 0.8 0.8 0.3 0.15 0.1 -0.2 0.2 0.1 0.15 0.01 0 0 "
        "--object 1 0 0.3 0.5 0.6 0 0.05 0 0.1 0.2 0.1 0 0 0.02",
        8,
        {(0, 1): (16, 99840), (0, 2): (16, 256000), (0, 4): (16, 384000), (1, 3): (16, 133120)}
        | {(1, 5): (16, 199680), (2, 3): (16, 157440), (2, 6): (16, 844800), (3, 7): (16, 337920)}
        | {(4, 5): (16, 122880), (4, 6): (16, 348160), (5, 7): (16, 163840), (6, 7): (16, 203520)},
        {1920: 8, 2560: 8, 3840: 8, 7680: 100, 10240: 88, 13440: 8, 15360: 76}
        | {19200: 8, 25600: 28, 30720: 4, 38400: 16, 40960: 4, 61440: 28},
    ),
]


def at(rank: int, grid: Grid) -> Grid:
    return rank % grid[0], rank // grid[0] % grid[1], rank // grid[0] // grid[1]


def offset(one: int, other: int, grid: Grid) -> Grid:
    """How far two ranks are from each other along each axis; the applications count ranks along x first."""
    x, y, z = (abs(a - b) for a, b in zip(at(one, grid), at(other, grid), strict=True))
    return x, y, z


def sent(profile: Profile, region: str = "<program>") -> Pairs:
    rows = profile.table("partners", region=region).filter(pl.col("sends") > 0)
    return {(row[0], row[1]): row[2:] for row in rows.select("rank", "partner", "sends", "bytes_sent").rows()}


def messages(profile: Profile, region: str = "<program>") -> Counter[int]:
    rows = profile.table("sizes", region=region).filter(pl.col("kind") == "p2p", pl.col("messages") > 0)
    return Counter(dict(rows.select("bytes", "messages").rows()))


def calls(profile: Profile) -> dict[str, int]:
    rows = profile.table("calls", region="<program>")
    return dict(rows.group_by("call").agg(pl.col("calls").sum()).rows())


def check_neighbours(profile: Profile, original: Original) -> None:
    axes = {(1, 0, 0): "x", (0, 1, 0): "y", (0, 0, 1): "z"}
    expected = {}
    for rank in range(original.ranks):
        for other in range(original.ranks):
            axis = axes.get(offset(rank, other, original.grid))
            if axis:
                expected[rank, other] = original.axes[axis]
    assert sent(profile) == expected
    assert messages(profile) == original.sizes


@pytest.mark.parametrize("original", KRIPKE, ids=lambda original: f"{original.ranks}-ranks")
def test_sweep_sends_what_kripke_sends(run: Run, original: Original) -> None:
    profile = run("sweep", original.ranks, original.flags)
    check_neighbours(profile, original)
    iterations = int(original.flags.split()[-1])
    found = calls(profile)
    assert found["MPI_Isend"] == found["MPI_Irecv"] == sum(original.sizes.values())
    assert found["MPI_Waitall"] == iterations * original.ranks
    # Kripke: one of 8 B an iteration. There is one more at the end.
    assert found["MPI_Allreduce"] == (iterations + 1) * original.ranks


@pytest.mark.parametrize("original", MINIAMR, ids=lambda original: f"{original.ranks}-ranks")
def test_amr_sends_what_miniamr_sends(run: Run, original: Original) -> None:
    profile = run("amr", original.ranks, original.flags)
    check_neighbours(profile, original)
    found = calls(profile)
    receives = sum(original.sizes.values())
    assert found["MPI_Isend"] == found["MPI_Irecv"] == found["MPI_Waitany"] == receives


@pytest.mark.parametrize("original", REFINED, ids=lambda original: f"{original.ranks}-ranks")
def test_amr_sends_what_miniamr_sends_of_refined_blocks(run: Run, original: Refined) -> None:
    profile = run("amr", original.ranks, original.flags)
    both = {
        (sender, other): sum_ for (a, b), sum_ in original.pairs.items() for sender, other in ((a, b), (b, a))
    }
    assert sent(profile, "comm") == both
    assert messages(profile, "comm") == original.sizes


class Hpcg(NamedTuple):
    """A whole run of HPCG, with 157 preconditioners and 188 products; by offset: bytes of a pair."""

    points: Grid
    grid: Grid
    sizes: Mapping[int, int]
    offsets: Mapping[Grid, int]


PRECONDITIONERS, PRODUCTS = 157, 188
MESSAGES_OF_A_PAIR = 1758
HPCG = [
    Hpcg(
        (16, 32, 24),
        (2, 3, 1),
        {24: 1256, 48: 5024, 96: 4710, 192: 9040, 384: 2826, 768: 3768, 1536: 2826, 3072: 5272, 6144: 3954},
        {(1, 0, 0): 4968288, (0, 1, 0): 2484144, (1, 1, 0): 198120},
    ),
    Hpcg(
        (16, 16, 16),
        (2, 2, 2),
        {8: 14064, 16: 3768, 32: 15072, 64: 11304, 128: 27120, 512: 11304, 2048: 15816},
        {
            **dict.fromkeys(((1, 0, 0), (0, 1, 0), (0, 0, 1)), 1656096),
            **dict.fromkeys(((1, 1, 0), (1, 0, 1), (0, 1, 1)), 132080),
            (1, 1, 1): 14064,
        },
    ),
]


@pytest.mark.parametrize("original", HPCG, ids=lambda original: f"{original.grid}")
def test_cg_sends_what_hpcg_sends(run: Run, original: Hpcg) -> None:
    """One iteration, and the difference to two, has a preconditioner's messages, and a product's; HPCG sent
    as much."""
    size = " ".join(f"--n{axis} {n}" for axis, n in zip("xyz", original.points, strict=True))
    words = f"{size} --procs {','.join(map(str, original.grid))} --iterations"
    ranks = original.grid[0] * original.grid[1] * original.grid[2]
    once, twice = (run("cg", ranks, f"{words} {iterations}") for iterations in (1, 2))

    def whole(first: int, second: int) -> int:
        iteration = second - first  # a preconditioner and a product, of which one more comes at the start
        product = first - iteration
        return PRECONDITIONERS * (iteration - product) + PRODUCTS * product

    sizes = messages(once), messages(twice)
    assert {size: whole(sizes[0][size], sizes[1][size]) for size in sizes[1]} == original.sizes
    pairs = sent(once), sent(twice)
    assert {pair: tuple(map(whole, pairs[0][pair], pairs[1][pair])) for pair in pairs[1]} == {
        (rank, other): (MESSAGES_OF_A_PAIR, original.offsets[offset(rank, other, original.grid)])
        for rank in range(ranks)
        for other in range(ranks)
        if offset(rank, other, original.grid) in original.offsets
    }
    # HPCG: three Allreduces an iteration and one before. There is one more at the end.
    sums = [calls(profile)["MPI_Allreduce"] for profile in (once, twice)]
    assert sums == [ranks * (3 + 1 + 1), ranks * (2 * 3 + 1 + 1)]


def test_cg_converges_as_hpcg_does(compiler: Compiler, any_mpi: Mpi) -> None:
    """The residual that HPCG prints after 50 iterations on 2 x 2 x 1 ranks of 16³ points: 6.2037e-25."""
    program = Application.build(compiler, any_mpi, "cg")
    found = program.output(4, *"--nx 16 --ny 16 --nz 16 --procs 2,2,1 --iterations 50".split())
    assert float(found["residual"][0][0]) == pytest.approx(6.2037e-25, rel=2e-4)


class Laghos(NamedTuple):
    """The messages of three time steps of Laghos: by size, and the number per pair of ranks."""

    pairs: int
    sizes: Mapping[int, int]
    sums: int


LAGHOS = {
    2: Laghos(2, {648: 822}, 1650),
    4: Laghos(10, {72: 822, 288: 1644, 360: 1644}, 3300),
    8: Laghos(38, {8: 822, 32: 2466, 40: 2466, 128: 2466, 160: 4932, 200: 2466}, 6600),
}


@pytest.mark.parametrize(
    "ranks", [ranks if ranks == 4 else pytest.param(ranks, marks=pytest.mark.long) for ranks in LAGHOS]
)
def test_hydro_sends_what_laghos_sends(run: Run, ranks: int) -> None:
    """Steps 4 to 6: what six send, less what three do."""
    words = "-p 1 -dim 3 -rs 1 -tf 0.6 -pa -s 7 -vs 1000 -ms"
    three, six = (run("hydro", ranks, f"{words} {steps}") for steps in (3, 6))
    assert messages(six) - messages(three) == LAGHOS[ranks].sizes
    before, after = sent(three), sent(six)
    assert {after[pair][0] - before[pair][0] for pair in after} == {411}
    assert len(after) == LAGHOS[ranks].pairs
    assert calls(six)["MPI_Allreduce"] - calls(three)["MPI_Allreduce"] == LAGHOS[ranks].sums
