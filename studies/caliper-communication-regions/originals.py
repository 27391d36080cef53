"""Table IV by Kripke and AMG2023 themselves, on the numbers of processes that this machine can hold.

    .venv/bin/python studies/caliper-communication-regions/originals.py kripke|amg

Runs the executable that `haloscope study --with NAME=PATH` named, in the current directory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from original_runs import Ended, Original, Run, fitting, library_version, record, write_originals

Grid = tuple[int, int, int]

KRIPKE = Original("kripke", "Kripke", r"Version (\S+)[\s\S]*Author: Adam J. Kunen", ("1.2",))
AMG = Original("amg", "AMG2023", r"FOM_Setup: nnz_AP / Setup Phase Time:[\s\S]*FOM_Solve:")

GRIDS = ((2, 2, 2), (4, 2, 2), (4, 4, 2), (4, 4, 4), (8, 4, 4), (8, 8, 4), (8, 8, 8))
ITERATIONS = 10  # of Kripke, which all have the same messages: one is run
GROUPS, DIRECTIONS, MOMENTS = 32, 64, 25
ZONES: dict[str, Grid] = {"Tioga": (16, 32, 32), "Dane": (8, 16, 16)}  # of a process
# Points of a process of AMG2023: the first number of processes has the first of them.
POINTS = ((32, 32, 16), (64, 32, 16), (64, 64, 16), (64, 64, 32))
POINT_BYTES = 3200  # of AMG2023, all levels and the Krylov method's vectors
RANK_GB = 0.03  # a process without its problem


def product(grid: Grid) -> int:
    """Return the number of processes of a grid, or of zones."""
    return grid[0] * grid[1] * grid[2]


def systems() -> Iterator[tuple[str, Sequence[Grid]]]:
    """Yield the paper's systems with the grids of processes on each."""
    yield "Tioga", GRIDS[:4]
    yield "Dane", GRIDS[3:]


def kripke_runs() -> list[Run]:
    """Return Kripke's runs in the paper."""
    fields = 8 * GROUPS * (2 * DIRECTIONS + 2 * MOMENTS)  # bytes of a zone: two fluxes, two sets of moments
    runs = []
    for system, grids in systems():
        for grid in grids:
            zones = [size * count for size, count in zip(ZONES[system], grid, strict=True)]
            procs, sizes = (",".join(map(str, numbers)) for numbers in (grid, zones))
            words = (
                f"--procs {procs} --zones {sizes} --groups {GROUPS} --quad {DIRECTIONS} --gset 16 --dset 8"
            )
            memory = 1e-9 * fields * product(ZONES[system]) + RANK_GB
            ranks = product(grid)
            runs.append(Run(f"Kripke {system} {ranks}", ranks, f"{words} --niter 1", ranks * memory))
    return runs


def amg_runs() -> list[Run]:
    """Return AMG2023's runs in the paper."""
    runs = []
    for system, grids in systems():
        for grid, points in zip(grids, POINTS, strict=True):
            words = f"-P {' '.join(map(str, grid))} -n {' '.join(map(str, points))} -problem 1 -keepT"
            ranks, memory = product(grid), 1e-9 * POINT_BYTES * product(points) + RANK_GB
            runs.append(Run(f"AMG2023 {system} {ranks}", ranks, words, ranks * memory))
    return runs


def kripke(ended: Ended) -> dict[str, float]:
    """Return a row of Table IV: the messages of one iteration, times their number."""
    whole = ended.profile.table("regions").row(0, named=True)
    sent, sends = (ITERATIONS * whole[name] for name in ("bytes_sent_total", "sends_total"))
    return row(sent, sends, whole["bytes_sent_max"])


def amg(ended: Ended) -> dict[str, float]:
    """Return a row of Table IV: exchanges of the cycles; the largest is one of the finest level.

    hypre's annotations mark them, also in a program without Caliper.
    """
    regions, path = ended.profile.table("regions"), pl.col("path")
    cycles = regions.filter(path.str.ends_with("BoomerAMGSolve/MatVecComm"))
    finest = regions.filter(path.str.ends_with("MatVecComm/level 0") & ~path.str.contains("BoomerAMGSetup"))
    if cycles.is_empty():
        sys.exit("amg: no exchange of hypre was recorded: link it with a shared libHYPRE")
    sent, sends = cycles.select("bytes_sent_total", "sends_total").sum().row(0)
    return row(sent, sends, finest["bytes_sent_instance_max"].max())


def row(sent: float, sends: float, largest: object) -> dict[str, float]:
    """Return the four numbers of a row of Table IV."""
    assert isinstance(largest, int | float)
    return {"bytes": sent, "sends": sends, "largest": largest, "average": sent / sends}


def main(name: str) -> None:
    """Run one program, and write its numbers."""
    values: dict[str, float] = {}
    original, runs, count = (KRIPKE, kripke_runs(), kripke) if name == KRIPKE.name else (AMG, amg_runs(), amg)
    for run in fitting(original, runs):
        ended = record(original, run)
        values |= {f"{run.row}: {key}": value for key, value in count(ended).items()}
    version = ended.version or f"with {library_version(original.program, 'libHYPRE') or 'unknown hypre'}"
    write_originals(f"original-{name}", original, version, values)


if __name__ == "__main__":
    main(sys.argv[1])
