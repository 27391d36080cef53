"""Cells of the study: a scenario, a solver, a method and the number of a run. A cell's result is one file."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import scenario
from scenario import ELEMENTS

from haloscope.base import paths
from haloscope.base.arrays import AnyArray
from haloscope.base.cache import build_once
from haloscope.base.toolchain import toolchain
from haloscope.hide import build_overlap

HERE = Path(__file__).resolve().parent
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

METHODS: dict[str, dict[str, float]] = {
    "fixed": {"policy": 0},
    "dynamic": {"policy": 1, "partners": 1},
    "test": {"policy": 2},
    "adaptive": {"policy": 3},
    "regimes": {"policy": 4, "partners": 1},
    "gather": {"policy": 1, "consistent": 1, "partners": 1},
}
SOLVERS = ("cg", "gmg")
COARSE = 1e-3  # seconds of the coarse levels, on average
VALUES = ("t_in", "t_out", "input_wait", "output_wait", "alpha", "regime", "latency")
PER_RANK = ("alpha", "mean_alpha", "mean_time", "input_wait", "output_wait", "items", "mirrors", "neighbours")

Arrays = dict[str, AnyArray]


@dataclass(frozen=True)
class Cell:
    """One run of the simulation, with all parameters that determine its result."""

    scenario: str
    solver: str
    method: str
    run: int
    ranks: int
    matvecs: int
    elements: tuple[int, int, int] = ELEMENTS
    kept: int = 128
    more: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the cell's file, without extension."""
        x, y, z = self.elements
        size = f"{self.ranks}ranks-{self.matvecs}matvecs-{x}x{y}x{z}"
        return f"{size}/{self.scenario}-{self.solver}-{self.method}-{self.run}"

    def arguments(self) -> list[str]:
        """Return the arguments of the program `ranks` after its files."""
        words: dict[str, float] = dict(zip(("px", "py", "pz"), grid(self.ranks), strict=True))
        words |= dict(zip(("ex", "ey", "ez"), self.elements, strict=True))
        words |= METHODS[self.method] | {
            "gmg": int(self.solver == "gmg"),
            "coarse": COARSE if self.solver == "gmg" else 0,
            "matvecs": self.matvecs,
            "seed": self.run + 1,
            "kept": self.kept,
            "element": scenario.WORK / scenario.INDEPENDENT,
            "noise": scenario.NOISE,
            "epsilon": scenario.EPSILON,
            "theta": scenario.THETA,
            "input_spread": 0.3,
        }
        # As in the paper, the event occurs only under the method without hiding.
        if self.scenario == "event" and self.method == "fixed":
            words |= dict(zip(("event_from", "event_to", "event_factor"), scenario.EVENT, strict=True))
        return [f"{name}={value:.12g}" for name, value in (words | self.more).items()]


def grid(ranks: int) -> tuple[int, int, int]:
    """Return three factors in ascending order, with the smallest largest factor."""
    found = (1, 1, ranks)
    for x in range(1, round(ranks ** (1 / 3)) + 1):
        for y in range(x, int((ranks / x) ** 0.5 + 1e-9) + 1):
            if ranks % (x * y) == 0 and ranks // (x * y) < found[2]:
                found = (x, y, ranks // (x * y))
    return found


def build(name: str, folder: Path = HERE) -> Path:
    """Return the program of NAME.c with the overlap library, from the cache or newly compiled."""
    compiler, include = toolchain().compiler.with_name("mpicc"), paths.root() / "include"
    source, overlap = folder / f"{name}.c", build_overlap()
    text = source.read_bytes() + f"{compiler} {overlap}".encode()
    target = f"{name}-{hashlib.sha256(text).hexdigest()[:16]}"

    def compile_into(directory: Path) -> None:
        subprocess.run(
            [
                str(compiler),
                "-O3",
                "-Wall",
                "-Wextra",
                f"-I{include}",
                str(source),
                str(overlap),
                "-o",
                str(directory / name),
                "-lstdc++",
                "-lm",
            ],
            check=True,
        )

    return build_once(target, compile_into) / name


def read(path: Path) -> Arrays:
    """Read a file of the program `ranks`; the format is in its function `write`."""
    data = path.read_bytes()
    ranks, matvecs, kept, samples, values = (int(n) for n in np.frombuffer(data, "<i8", 5))
    doubles = np.frombuffer(data, "<f8", matvecs + 8 * ranks + 1, 40)
    floats = np.frombuffer(data, "<f4", offset=40 + doubles.nbytes)
    found: Arrays = {"slowest": doubles[:matvecs], "total": doubles[-1:]}
    per_rank = doubles[matvecs:-1].reshape(ranks, 8)
    found |= {f"rank_{name}": per_rank[:, i] for i, name in enumerate(PER_RANK)}
    parts = floats[: kept * matvecs * values].reshape(kept, matvecs, values)
    found |= {name: parts[..., i] for i, name in enumerate(VALUES)}
    found["samples"] = floats[kept * matvecs * values :].reshape(samples, ranks, 2)
    return found


def fingerprint(cell: Cell) -> str:
    """Return a hash of everything that determines the result."""
    record = json.dumps([asdict(cell), cell.arguments(), scenario.SCENARIOS[cell.scenario]().lines()])
    sources = (HERE / "ranks.c").read_bytes()
    return hashlib.sha256(record.encode() + sources).hexdigest()[:16]


def is_done(cell: Cell, results: Path) -> bool:
    """Whether the cell's result exists and is up to date."""
    path = results / f"{cell.name}.npz"
    if not path.is_file():
        return False
    with np.load(path) as loaded:
        return str(loaded["fingerprint"]) == fingerprint(cell)


def simulate(cell: Cell, program: Path, results: Path) -> None:
    """Run the cell and write its file atomically."""
    path = results / f"{cell.name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        latencies, output = Path(name) / "latencies.txt", Path(name) / "out.bin"
        latencies.write_text(scenario.SCENARIOS[cell.scenario]().lines(), "utf-8")
        launch = [str(program), str(latencies), str(output), *cell.arguments()]
        subprocess.run(launch, env=ENVIRONMENT, check=True)
        arrays = read(output)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("wb") as stream:
            np.savez(stream, fingerprint=fingerprint(cell), **arrays)  # type: ignore[arg-type]
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def run_all(todo: Sequence[Cell], results: Path, quiet: bool = False) -> int:
    """Run the cells without a result; return their number."""
    missing = [cell for cell in todo if not is_done(cell, results)]
    if not missing:
        return 0
    program = build("ranks")
    begin = time.monotonic()
    for number, cell in enumerate(missing):
        simulate(cell, program, results)
        if not quiet and sys.stderr.isatty():
            left = (time.monotonic() - begin) / (number + 1) * (len(missing) - number - 1)
            print(f"\r{number + 1} of {len(missing)}, {left:.0f} s left ", end="", file=sys.stderr)
    return len(missing)


def load(cell: Cell, results: Path) -> Arrays:
    """Return a cell's result."""
    with np.load(results / f"{cell.name}.npz") as loaded:
        return {name: loaded[name] for name in loaded.files}


def study(
    scenarios: Sequence[str], solvers: Sequence[str], runs: int, ranks: int, matvecs: int
) -> Iterator[Cell]:
    """Yield all cells of the study, run by run, so that an interrupted study has whole runs."""
    for run in range(runs):
        for name in scenarios:
            for solver in solvers if name == "table1" else solvers[:1]:
                for method in METHODS:
                    # Figures of single ranks pool three runs. Later runs are used for the slowest rank only.
                    kept = 128 if run < 3 else 20
                    yield Cell(name, solver, method, run, ranks, matvecs, kept=kept)


SWEPT_RANKS = (8, 64, 512, 1792, 7168)
SWEPT_EDGES = (8, 12, 16, 20, 26, 32, 48, 64)  # a rank has the cube of it as elements
SWEPT_MATVECS = 400  # α converges in the first half


def sweep() -> Iterator[Cell]:
    """Yield cells for elements per rank × ranks, scenario quiet."""
    for ranks in SWEPT_RANKS:
        for edge in SWEPT_EDGES:
            for method in ("fixed", "dynamic", "test"):
                yield Cell("quiet", "cg", method, 0, ranks, SWEPT_MATVECS, (edge, edge, edge), 1)
