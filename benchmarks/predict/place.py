"""Effect of `haloscope place`: the share of a 7-point halo's bytes that are sent between nodes.

Grids do not wrap. Shares are computed from patterns for ranks in order and for the proposal. For the smallest
grid they are also recorded in runs of 64 ranks on 8 emulated nodes, with and without the proposal. The ratio
is that of the shares. Its interval is a point, because counts have no noise.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from common import emit, estimate

from haloscope.predict.placement import Proposal, propose
from support.cluster import cluster, obstacle
from support.mpi import Mpi, find
from support.placed import halo

Dims = tuple[int, int, int]
# Ranks, zones per rank, nodes, and the aim for the ratio of shares.
PATTERNS: dict[str, tuple[Dims, Dims, int, float]] = {
    "4³ ranks of 32³ zones on 8 nodes": ((4, 4, 4), (32, 32, 32), 8, 0.444 / 0.333),
    "8³ ranks of 32³ zones on 16 nodes": ((8, 8, 8), (32, 32, 32), 16, 0.381 / 0.28),
    "8³ ranks of 16×32×64 zones on 16 nodes": ((8, 8, 8), (16, 32, 64), 16, 1.0),
    "16×8×8 ranks of 32³ zones on 32 nodes": ((16, 8, 8), (32, 32, 32), 32, 0.465 / 0.298),
}
WHAT = "bytes between nodes, 7-point halo"
RUN = f"{WHAT}, 64 ranks on 8 emulated nodes, recorded with `place` and without"
CASES = (*(f"{WHAT}, {name}" for name in PATTERNS), RUN)
HERE = Path(__file__).resolve().parent
HALOSCOPE = Path(sys.executable).with_name("haloscope")
GRID, ZONES, TIMES, NODES = (4, 4, 4), 32, 3, 8


def measure() -> None:
    """Print the rows."""
    with tempfile.TemporaryDirectory(prefix="haloscope-place-") as directory:
        for name, (dims, zones, nodes, aim) in PATTERNS.items():
            ranks = int(np.prod(dims))
            hosts = [f"n{rank * nodes // ranks}" for rank in range(ranks)]
            found = propose(halo(dims, zones, hosts).write(Path(directory) / "pattern.halo"))
            _row(f"{WHAT}, {name}", found, aim)
        mpi = find("openmpi-system")
        reason = obstacle() or ("" if mpi else "no Open MPI")
        if reason or mpi is None:
            print(f"bench-predict: no emulated nodes: {reason}", file=sys.stderr)
            return
        _recorded(mpi, Path(directory))


def _row(case: str, found: Proposal, aim: float) -> None:
    """Print a row. Without a proposal the share is unchanged."""
    after = found.bytes_after if found.is_worth_it else found.bytes_before
    _emit(case, found.bytes_before / found.traffic.total, after / found.traffic.total, aim)


def _emit(case: str, before: float, after: float, aim: float) -> None:
    emit(
        "predict",
        case,
        ours=100 * after,
        peer=100 * before,
        peer_name="ranks as they come",
        unit="%",
        ratio=estimate([before / after]),
        target=aim,
    )


def _recorded(mpi: Mpi, directory: Path) -> None:
    program = directory / "faces"
    subprocess.run([mpi.mpicc, "-O2", HERE / "faces.c", "-o", program], check=True)
    launch: list[str | Path] = [*mpi.launch(int(np.prod(GRID))), program, *map(str, (*GRID, ZONES, TIMES))]
    first, second = (directory / name for name in ("first.halo", "second.halo"))
    watched: list[str | Path] = [HALOSCOPE, "run", "--quiet", "-o"]
    with cluster(nodes=NODES, slots=int(np.prod(GRID)) // NODES) as nodes:
        for command in (
            [*watched, first, "--", *launch],
            [HALOSCOPE, "place", first, "--", *watched, second, "--", *launch],
        ):
            nodes.run(mpi, command)
    before, after = propose(first), propose(second)
    shares = [one.bytes_before / one.traffic.total for one in (before, after)]
    _emit(RUN, shares[0], shares[1], 0.444 / 0.333)
