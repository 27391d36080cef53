"""False and true findings under noise: how often `findings` reports imbalance.

Profiles are synthetic. All ranks have the same work, or one rank has more. They synchronise once per slice of
a second. Noise multiplies a rank's time by a factor per process, which is constant during the run (such as
the location of its memory), and by a factor that drifts. It adds times in which the system takes the CPU
away. `--real RUNS` instead runs bundled programs whose ranks have the same work, and LAMMPS, on two ranks.
Run it on an idle machine. `--busy RUNS` instead runs equal.c next to one busy process per core, with the MPI
whose mpicc is first on PATH. Prints one JSON object per line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from common import HALOSCOPE, MPI_ENVIRONMENT, SHARED_CORES, Estimate, compile_c, emit, melt_of, profiling
from scipy.stats import binomtest

from haloscope.base.launcher import report_toolchain
from haloscope.explain.findings import findings
from support.profiles import Draft, draft, path_rows, process_rows

FALSE, FOUND = 0.05, 0.95  # the aims
WANDERS, LASTS = 0.02, 5.0  # standard deviation and correlation length (slices) of the drifting factor
BLAMING = ("imbalance", "slow_place")  # rules that state more work, or a slow core
DETOURS, DETOUR = 0.2, 0.02  # interruptions by the system: number per second, mean duration (s)


@dataclass(frozen=True)
class Case:
    """Ranks, seconds, standard deviation of the constant factor, additional work of one rank, repetitions."""

    ranks: int
    seconds: int
    kept: float
    more: float = 0.0
    again: int = 0

    def __str__(self) -> str:
        what = f"one has {self.more:.0%} more work" if self.more else "equal work"
        again = f", {self.again} repetitions" if self.again else ""
        return f"{self.ranks} ranks, {self.seconds} s{again}, processes differ by {self.kept:.0%}: {what}"


CASES = (
    *(Case(ranks, seconds, 0.02) for ranks in (2, 8, 64) for seconds in (1, 10, 60)),
    *(Case(2, seconds, 0.08) for seconds in (1, 10, 60)),
    *(Case(ranks, 10, 0.02, 0.5) for ranks in (2, 8, 64)),
    *(Case(ranks, 10, 0.02, 0.2) for ranks in (8, 64)),
    *(Case(2, 10, kept, 0.0, 4) for kept in (0.02, 0.08)),
    *(Case(2, 10, kept, 0.2, 4) for kept in (0.02, 0.08)),
    Case(2, 10, 0.08, 0.2, 9),
)


def noisy_run(random: np.random.Generator, case: Case) -> Draft:
    """Return a run whose ranks compute in `solve`, and synchronise at the end of each slice."""
    shape = (case.ranks, case.seconds)
    drift = np.exp(-1 / LASTS)
    wanders = np.zeros(shape)
    wanders[:, 0] = random.normal(0, WANDERS, case.ranks)
    for time in range(1, case.seconds):
        fresh = random.normal(0, WANDERS * np.sqrt(1 - drift**2), case.ranks)
        wanders[:, time] = drift * wanders[:, time - 1] + fresh
    times = 0.8 * np.exp(random.normal(0, case.kept, case.ranks)[:, None] + wanders)
    times[1] *= 1 + case.more
    times += random.poisson(DETOURS, shape) * random.exponential(DETOUR, shape)
    waits = times.max(axis=0) - times
    rows, slices = [], []
    for rank in range(case.ranks):
        computes, waited = float(times[rank].sum()), float(waits[rank].sum())
        rows += [
            {"path": 0, "rank": rank, "instances": 1, "time": computes + waited},
            {"path": 1, "rank": rank, "instances": case.seconds, "time": computes},
            {
                "path": 2,
                "rank": rank,
                "instances": case.seconds,
                "time": waited,
                "coll_time": waited,
                "wait_time": waited,
                "colls": case.seconds,
            },
        ]
        slices += [
            {
                "rank": rank,
                "slice": time,
                "start": float(time),
                "duration": float(times[:, time].max()),
                "coll_time": float(waits[rank, time]),
                "wait_time": float(waits[rank, time]),
            }
            for time in range(case.seconds)
        ]
    hosts = process_rows(*("alpha",) * case.ranks)
    return draft(
        {"ranks": case.ranks}, paths=path_rows("solve", "reduce"), processes=hosts, ranks=rows, slices=slices
    )


def report(case: str, hits: int, trials: int, *, wanted: bool) -> None:
    """Print how often findings were reported; the ratio is the share of correct results."""
    right = hits if wanted else trials - hits
    interval = binomtest(right, trials).proportion_ci(method="exact")
    emit(
        "explain-alarms",
        case,
        ours=hits,
        peer=trials,
        peer_name="runs",
        unit="found" if wanted else "wrong",
        ratio=Estimate(right / trials, interval.low, interval.high),
        target=FOUND if wanted else 1 - FALSE,
    )


def synthetic(trials: int, seed: int) -> None:
    """Print a row per case."""
    with tempfile.TemporaryDirectory() as directory:
        for case in CASES:
            random = np.random.default_rng(seed)
            found = 0
            for _ in range(trials):
                runs = [
                    noisy_run(random, case).write(Path(directory) / f"run-{number}.halo")
                    for number in range(1 + case.again)
                ]
                reported = findings(runs[0], repeats=runs[1:])
                found += any(one.rule in BLAMING for one in reported)
            report(str(case), found, trials, wanted=bool(case.more))


def real(trials: int) -> None:
    """Print a row per program whose ranks have the same work."""

    def where(name: str) -> str:
        done = subprocess.run([HALOSCOPE, "where", name], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    with tempfile.TemporaryDirectory() as directory:
        melt = Path(directory) / "in.melt"
        melt.write_text(melt_of(500))
        programs: dict[str, Sequence[str]] = {
            "sweep": [where("sweep"), *"--procs 2,1,1 --zones 32,32,32".split()],
            "cg": [where("cg"), *"--nx 72 --ny 72 --nz 72 --iterations 40".split()],
        }
        if shutil.which("lmp"):
            programs["LAMMPS"] = ["lmp", "-log", "none", "-in", str(melt)]
        for name, words in programs.items():
            false = 0
            for _ in range(trials):
                output = Path(directory) / "run.halo"
                launch = [str(report_toolchain().launcher), "--bind-to", "none", "-n", "2", *words]
                command = profiling(output, launch)
                subprocess.run(
                    command, check=True, env=MPI_ENVIRONMENT, timeout=300, stdout=subprocess.DEVNULL
                )
                reported = findings(output)
                false += bool(reported)
                sentences = [one.sentence for one in reported]
                print(json.dumps({"program": name, "findings": sentences}), flush=True)
            report(f"{name}, two ranks, real runs", false, trials, wanted=False)


def busy(trials: int) -> None:
    """Print how often a rank is blamed for more work: ranks have equal work, but no core of their own."""
    tools = report_toolchain()
    with tempfile.TemporaryDirectory() as directory:
        program, output = Path(directory) / "equal", Path(directory) / "run.halo"
        compile_c(Path(__file__).with_name("equal.c"), program)
        command = profiling(output, [str(tools.launcher), "-n", "2", str(program), "20"])
        others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
        blamed = 0
        try:
            for _ in range(trials):
                subprocess.run(command, check=True, env=SHARED_CORES, timeout=300)
                reported = findings(output)
                blamed += any(one.rule in BLAMING for one in reported)
                print(json.dumps({"findings": [one.sentence for one in reported]}), flush=True)
        finally:
            for process in others:
                process.kill()
                process.wait()
        report(f"equal work next to busy processes, {tools.launcher}", blamed, trials, wanted=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200, help="synthetic runs per case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", type=int, metavar="RUNS")
    parser.add_argument("--busy", type=int, metavar="RUNS")
    options = parser.parse_args()
    if options.busy:
        busy(options.busy)
    elif options.real:
        real(options.real)
    else:
        synthetic(options.trials, options.seed)


if __name__ == "__main__":
    main()
