"""Recorded runs of apps/poisson on two ranks, under injected latencies.

Rank 0 owns the nodes that both ranks share, so rank 0 sends input and rank 1 sends contributions. Every
message has a short latency. As in the paper's Figure 5, contributions are late: messages of rank 1 have one
of three further delays. Half of the work hides the first, all of it the second, and nothing the third. Delays
change after `STAY` messages on average. They depend on the number of the run only, so all methods have the
same ones. The work is measured before the first run, without latencies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from cells import ENVIRONMENT, Arrays

from haloscope.base.files import write_whole
from haloscope.base.toolchain import toolchain
from haloscope.hide import build_fem
from haloscope.markov import Timings, read_timings

HALOSCOPE = Path(sys.executable).with_name("haloscope")
RANKS, LEVEL, DEFORM = 2, 5, 0.01  # 16384 elements per rank; the paper has 18720
ITERATIONS = {"cg": 1000, "gmg": 200}  # of five products each with multigrid
# An upper bound of the messages of rank 1 in an iteration.
MESSAGES = {"cg": 2, "gmg": 100}
STAY = {"cg": 12, "gmg": 400}
SHORT, SPREAD = 0.1, 0.3  # of all messages: median in units of the work, deviation of the logarithm
DELAYS = (0.0, 0.65, 1.9)  # further ones of contributions, in units of the work
EVENT = (0.45, 0.62, 10.0)  # begin and end as shares of the messages; delay in units of the work
EPSILON, THETA = 0.1, 0.05  # in units of the work; θ is not in the paper
VALUES = {
    "t_in": "input_block",
    "t_out": "output_block",
    "input_wait": "input_wait",
    "output_wait": "output_wait",
    "alpha": "alpha",
}
SAMPLES = 10  # parts of a run


@dataclass(frozen=True)
class Run:
    """One run of a solver with a method.

    With the event, an extreme slowdown happens in it. A `calm` run has no delay that nothing hides: in the
    paper's Figure 13, the sums of the methods without the event are nearly straight lines.
    """

    solver: str
    method: str
    number: int
    event: bool = False
    calm: bool = False

    @property
    def name(self) -> str:
        """Name of the profile, without extension."""
        more = "-event" * self.event + "-calm" * self.calm
        return f"{self.solver}-{self.method}-{self.number}{more}"

    def delays(self, work: float) -> list[str]:
        """Return the delays of rank 1's messages, in the form of `--once`."""
        random = np.random.default_rng(self.number)
        most, stay = ITERATIONS[self.solver] * MESSAGES[self.solver], STAY[self.solver]
        delays = DELAYS[:-1] if self.calm else DELAYS
        level, first, found = int(random.integers(len(delays))), 0, []
        while first < most:
            count = int(random.integers(stay // 2, stay + stay // 2 + 1))
            if delays[level] > 0:
                found.append(_once(first, delays[level] * work, count))
            first += count
            level = (level + int(random.integers(1, len(delays)))) % len(delays)
        if self.event:
            begin, end = (int(share * ITERATIONS[self.solver]) for share in EVENT[:2])
            found.append(_once(begin, EVENT[2] * work, end - begin))
        return found


def _once(first: int, seconds: float, count: int) -> str:
    return f"1:{first}:{1e6 * seconds:.3f}us:{count}"


def poisson(*words: object) -> list[str]:
    """Return the command that runs the application on two ranks."""
    program = [str(toolchain().launcher), "-n", str(RANKS), str(build_fem().poisson)]
    return [*program, "--level", str(LEVEL), "--deform", str(DEFORM), "--tolerance", "0", *map(str, words)]


def work(folder: Path) -> float:
    """Return the seconds of a MatVec's independent elements without latencies; measured once."""
    kept = folder / "work.json"
    if not kept.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as name:
            table = Path(name) / "times.csv"
            _run(poisson("--solver", "matvec", "--iterations", 200, "--csv", table))
            blocks = pl.read_csv(table).select(pl.col("input_block") + pl.col("output_block"))
        write_whole(kept, json.dumps({"seconds": blocks.to_series().median()}) + "\n", "measured work")
    return float(json.loads(kept.read_text("utf-8"))["seconds"])


def record(run: Run, folder: Path) -> Path:
    """Return the profile of a run; run it if the profile is missing."""
    profile, seconds = folder / f"{run.name}.halo", work(folder)
    if profile.exists():
        return profile
    print(run.name, flush=True)
    inject = [str(HALOSCOPE), "inject", "--quiet", "--no-collectives", "--seed", str(run.number)]
    inject += ["--latency", f"lognormal:{1e6 * SHORT * seconds:.3f}us,{SPREAD}"]
    for delay in run.delays(seconds):
        inject += ["--once", delay]
    words: list[object] = ["--solver", run.solver, "--policy", run.method]
    words += [
        "--iterations",
        ITERATIONS[run.solver],
        "--epsilon",
        f"{EPSILON * seconds:.4g}",
        "--theta",
        THETA,
    ]
    series = [str(HALOSCOPE), "run", "--quiet", "--series", "matvec", "-o", str(profile)]
    _run([*inject, "--", *series, "--", *poisson(*words)])
    return profile


def _run(command: list[str]) -> None:
    subprocess.run(command, env=ENVIRONMENT | SPARSE, stdout=subprocess.DEVNULL, check=True)


# Without PETSc's events as regions, all products of an operator are one series.
SPARSE = {"HALOSCOPE_ANNOTATIONS": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def arrays(profile: Path) -> Arrays:
    """Return a run's times in the form of the simulated cells. T is both blocks, without mirror elements."""
    timings = read_timings(profile, "matvec")
    found: Arrays = {own: np.asarray(timings.others[name]) for own, name in VALUES.items()}
    times = found["t_in"] + found["t_out"]
    found |= {"slowest": times.max(axis=0), "total": np.array([_end(timings)])}
    found |= {f"rank_{name}": found[name].mean(axis=1) for name in ("input_wait", "output_wait")}
    found |= {"rank_mean_alpha": found["alpha"].mean(axis=1), "rank_alpha": found["alpha"][:, -1]}
    # The paper samples ten MatVecs of each of many ranks; two ranks have few, so all are taken.
    found["samples"] = np.stack([found["t_in"].T, found["t_out"].T], axis=-1)
    return found


def _end(timings: Timings) -> float:
    """Return the seconds from the first MatVec to the last one."""
    starts = timings.others["start"]
    return float((starts[:, -1] - starts[:, 0]).max())


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))
