"""Errors of predictions of whole programs at unmeasured numbers of ranks.

    python benchmarks/predict/program.py [FILE.csv [0|1]]   # with it: the table (program.csv)

cg, sweep and amr grow with the number of ranks (weak scaling) on a simulated torus. Profiles of 8 to 64
ranks are known. Profiles of 128, 256 and 512 ranks are predicted from them, and then simulated. There are two
kinds of runs. Without computing, simulated times are exact and consist of messages and waiting only. With
computing, it is timed on this machine during the simulation, the default of `simulate`, on an idle machine.
Regions of at least 1 % of the run count, including nested regions.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import emit_allowed, write_rows

import haloscope
from haloscope.predict.simulate import Simulation

# Nearly cubes, as (x, y, z).
KNOWN = ((2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3), (4, 3, 3), (4, 4, 3), (4, 4, 4))
# Predicted grids, and factors of the bandwidth of the profiles' network.
HELD_OUT = (((8, 4, 4), 1.0), ((8, 8, 4), 1.0), ((8, 8, 8), 1.0), ((8, 8, 4), 0.02))
COMPUTING = (0.0, 1.0)  # factor of the computing times of this machine
AIM = 0.15  # of a region's time
LEAST = 0.01  # of the run's time
PLATFORM, COLLECTIVES = "torus", "smpi"
PROGRAMS = ("cg", "sweep", "amr")


def words_of(program: str, grid: tuple[int, int, int]) -> list[str]:
    """Return the command on a grid of ranks."""
    x, y, z = grid
    if program == "cg":
        return ["cg", *"--nx 8 --ny 8 --nz 8 --iterations 1".split()]
    if program == "sweep":
        sizes = f"--procs {x},{y},{z} --zones {4 * x},{4 * y},{4 * z}"
        return ["sweep", *f"{sizes} --groups 8 --gset 1 --quad 8 --niter 2".split()]
    sizes = f"--npx {x} --npy {y} --npz {z} --init_x 2 --init_y 2 --init_z 2 --nx 4 --ny 4 --nz 4"
    steps = "--num_vars 2 --num_tsteps 2 --stages_per_ts 4 --num_refine 1 --refine_freq 2"
    sphere = "--object 2 0 0.5 0.5 0.5 0 0 0 0.35 0.35 0.35 0 0 0"
    return ["amr", *f"{sizes} {steps} {sphere}".split()]


def simulated(
    program: str, grid: tuple[int, int, int], output: Path, compute: float, factor: float = 1.0
) -> Path:
    """Simulate the program itself on a grid of ranks; return its profile."""
    begun = time.perf_counter()
    ranks = int(np.prod(grid))
    simulation = Simulation(
        words_of(program, grid),
        PLATFORM,
        ranks,
        collectives=COLLECTIVES,
        bandwidth_factor=factor,
        compute_factor=compute,
    )
    simulation.run(output)
    took = time.perf_counter() - begun
    print(f"program: {program} on {ranks} ranks, {took:.0f} s", file=sys.stderr, flush=True)
    return output


def times_of(profile: Path) -> pl.DataFrame:
    """Return path and time of each region, mean over all ranks of the run."""
    with haloscope.open(profile) as opened:
        ranks = opened.info["ranks"]
        return opened.table("regions").select("path", truth=pl.col("time_mean") * pl.col("ranks") / ranks)


@dataclass(frozen=True)
class Judged:
    """Regions of one program at one number of ranks: predicted and simulated times."""

    program: str
    compute: float
    ranks: int
    factor: float
    rows: pl.DataFrame

    @property
    def errors(self) -> pl.Series:
        """Relative errors of the regions that count."""
        return self.rows.select((pl.col("time") / pl.col("truth") - 1).abs()).to_series()

    @property
    def whole(self) -> float:
        """Relative error of the whole program."""
        row = self.rows.row(by_predicate=pl.col("path") == "<program>", named=True)
        return float(abs(row["time"] / row["truth"] - 1))

    @property
    def held(self) -> int:
        """Number of intervals that contain the simulated time."""
        holds = self.rows.select((pl.col("low") <= pl.col("truth")) & (pl.col("truth") <= pl.col("high")))
        return int(holds.to_series().sum())

    @property
    def swapped(self) -> int:
        """Number of pairs of regions in the wrong order, among those that differ by more than the aim."""
        predicted, truth = self.rows["time"].to_numpy(), self.rows["truth"].to_numpy()
        is_longer = truth[:, None] > truth[None, :] * (1 + AIM)
        return int((is_longer & (predicted[:, None] <= predicted[None, :])).sum())


def judge(program: str, compute: float, folder: Path) -> Iterator[Judged]:
    """Predict and simulate one program."""
    known = [
        simulated(program, grid, folder / f"{program}-{int(np.prod(grid))}.halo", compute) for grid in KNOWN
    ]
    for grid, factor in HELD_OUT:
        ranks = int(np.prod(grid))
        asked = Simulation(known, PLATFORM, ranks, collectives=COLLECTIVES, bandwidth_factor=factor)
        predicted = asked.prediction(folder / "predicted.halo")
        truth = times_of(simulated(program, grid, folder / "truth.halo", compute, factor))
        rows = predicted.join(truth, on="path")
        whole = rows.filter(path="<program>")["truth"][0]
        one = Judged(program, compute, ranks, factor, rows.filter(pl.col("truth") >= LEAST * whole))
        print(row_of(one), file=sys.stderr, flush=True)
        yield one


def results(computing: Sequence[float] = COMPUTING) -> list[Judged]:
    """Return the results of all programs."""
    if not (shutil.which("smpirun") and shutil.which("smpicxx")):
        raise RuntimeError("no SimGrid: apt-get install libsimgrid-dev")
    with tempfile.TemporaryDirectory() as name:
        cases = [(program, compute) for compute in computing for program in PROGRAMS]
        return [one for case in cases for one in judge(*case, Path(name))]


def row_of(one: Judged) -> dict[str, object]:
    """Return a row of the table: errors in per cent."""
    return {
        "computing": "timed" if one.compute else "none",
        "program": one.program,
        "ranks": one.ranks,
        "bandwidth_factor": f"{one.factor:g}",
        "regions": len(one.rows),
        "error_mean": _percent(one.errors.mean()),
        "error_worst": _percent(one.errors.max()),
        "worst_region": one.rows["path"][one.errors.arg_max() or 0],
        "error_whole": _percent(one.whole),
        "held": one.held,
        "swapped": one.swapped,
    }


def _percent(share: object) -> str:
    assert isinstance(share, float)
    return f"{100 * share:.3g}"


KINDS = {0.0: "no computing", 1.0: "computing"}
CASES = tuple(
    f"{program}, {kind}: regions at unseen ranks, {what}"
    for program in PROGRAMS
    for kind in KINDS.values()
    for what in ("mean", "worst")
)


def measure() -> None:
    """Print two rows for each program and kind, and all results on standard error."""
    judged = results()
    for program in PROGRAMS:
        for compute, kind in KINDS.items():
            own = [one.errors for one in judged if (one.program, one.compute) == (program, compute)]
            errors = pl.concat(own)
            for what, share in (("mean", errors.mean()), ("worst", errors.max())):
                assert isinstance(share, float)
                case = f"{program}, {kind}: regions at unseen ranks, {what}"
                emit_allowed("predict", case, 100 * share, 100 * AIM, "%")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        chosen = [float(word) for word in sys.argv[2:]] or COMPUTING
        write_rows(Path(sys.argv[1]), map(row_of, results(chosen)))
    else:
        measure()
