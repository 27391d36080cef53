"""Correctness of findings: programs with one planted problem, the same without it, and clean programs.

For each problem of planted.c it prints whether the rule of its cause finds it. It also prints the stated
gain, and the time that is saved without the problem; runs with and without it alternate. In clean programs,
every finding is wrong. Prints one JSON object per line. `--case NAME` runs only these cases, `--keep DIR`
stores the profiles. miniAMR, HPCG and CloverLeaf run if they are in `--outside DIR`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, Estimate, emit
from problems import CLEAN, PROBLEMS, Clean, Problem
from scipy.stats import binomtest

import haloscope
from haloscope.base.paths import include
from haloscope.explain.findings import Finding, MachineMeasurements, findings

HALOSCOPE = Path(sys.executable).with_name("haloscope")
SOURCES = Path(__file__).parent
ENVIRONMENT = MPI_ENVIRONMENT | {"OMPI_MCA_rmaps_base_oversubscribe": "1"}
WITHIN = 1.5  # a stated gain may be wrong by this factor
PLATFORM = """name: hosts
topology: torus
dimensions: [{hosts}, 1, 1]
bandwidth: {bandwidth}
latency: {latency}
cores: {cores}
"""


class Programs:
    """Compiles planted.c and clean.c, runs them, and computes their findings."""

    def __init__(self, directory: Path, mpi: str, *, trace: bool) -> None:
        self.directory, self.mpi, self.trace = directory, mpi, trace

    def program(self, name: str, *, simulated: bool = False) -> Path:
        """Return planted.c or clean.c, compiled for this MPI or for simulations."""
        wrapper = "smpicc" if simulated else f"mpicc.{self.mpi}"
        target = self.directory / f"{name}-{wrapper}"
        if not target.exists():
            words = ["-O2", f"-I{include()}", str(SOURCES / f"{name}.c"), "-o", str(target)]
            subprocess.run([wrapper, *words], check=True)
        return target

    def run(self, problem: Problem, switch: str, output: Path) -> float:
        """Run a problem, or the program without it, and return its seconds from MPI_Init to MPI_Finalize."""
        words = [problem.name, switch, str(problem.times), str(problem.scale)]
        if problem.hosts or self.mpi == "simulated":
            self._simulate(problem, switch, words, output)
        else:
            self._watch(problem, switch, words, output)
        with haloscope.open(output) as profile:
            return float(profile.table("regions")["time_max"][0])

    def _watch(self, problem: Problem, switch: str, words: Sequence[str], output: Path) -> None:
        bound = ["taskset", "-c", "0"] if problem.is_bound and switch == "on" else []
        self._watched(problem.ranks, [*bound, str(self.program("planted")), *words], output, self.directory)

    def _watched(self, ranks: int, words: Sequence[str], output: Path, directory: Path) -> None:
        none = ["--bind-to", "none"] if self.mpi == "openmpi" else []
        watch = [
            str(HALOSCOPE),
            "run",
            "--quiet",
            *(["--trace"] if self.trace else []),
            "-o",
            str(output),
            "--",
        ]
        command = [*watch, f"mpiexec.{self.mpi}", *none, "-n", str(ranks), *words]
        subprocess.run(
            command, env=ENVIRONMENT, check=True, timeout=300, cwd=directory, stdout=subprocess.DEVNULL
        )

    def _simulate(self, problem: Problem, switch: str, words: Sequence[str], output: Path) -> None:
        self._simulated(problem, switch, [str(self.program("planted", simulated=True)), *words], output)

    def _simulated(self, problem: Problem, switch: str, words: Sequence[str], output: Path) -> None:
        hosts = problem.hosts or 1
        platform = self.directory / f"{problem.name.replace(', ', '-')}.yaml"
        cores = problem.ranks // hosts
        network = {"latency": problem.latency, "bandwidth": problem.bandwidth}
        platform.write_text(PLATFORM.format(hosts=hosts, cores=cores, **network))
        algorithm = f",{problem.algorithm}" if problem.algorithm and switch == "on" else ""
        options = [
            "--platform",
            str(platform),
            "-n",
            str(problem.ranks),
            "--collectives",
            f"openmpi{algorithm}",
        ]
        command = [str(HALOSCOPE), "simulate", *options, "-o", str(output), "--", *words]
        silent = subprocess.DEVNULL
        subprocess.run(command, check=True, timeout=300, stdout=silent, stderr=silent)

    def clean(self, program: Clean, outside: Path | None) -> list[Finding] | None:
        """Return the findings of a clean program; None if its files are missing."""
        words = [self._word(word, outside, simulated=bool(program.hosts)) for word in program.words.split()]
        if None in words:
            return None
        output = self.directory / f"{program.name.replace(', ', '-').replace(' ', '-')}.halo"
        command = [word for word in words if word]
        if program.hosts:
            problem = Problem(program.name, (), program.ranks, hosts=program.hosts)
            problem = replace(problem, latency="1 us", bandwidth="100 Gbit/s")
            self._simulated(problem, "", command, output)
        else:
            with tempfile.TemporaryDirectory() as directory:
                for file in sorted((outside / "in").iterdir()) if outside else ():
                    shutil.copy(file, directory)
                self._watched(program.ranks, command, output, Path(directory))
        return findings(output)

    def _word(self, word: str, outside: Path | None, *, simulated: bool) -> str | None:
        name = word[1:-1]
        if not word.startswith("{"):
            return word if word != "lmp" or (shutil.which("lmp") and self.mpi == "openmpi") else None
        if name == "clean":
            return str(self.program(name, simulated=simulated))
        if "/" in name:
            path = outside and outside / name.replace("bin/", f"bin/{self.mpi}/")
            return str(path) if path and path.exists() else None
        found = subprocess.run([HALOSCOPE, "where", name], check=True, capture_output=True, text=True)
        return found.stdout.strip() if self.mpi == "openmpi" else None


def measured_of(problem: Problem, paths: dict[str, Path]) -> MachineMeasurements | None:
    """Return the result of a sweep for a collective, from runs with and without the algorithm."""
    if not problem.algorithm:
        return None
    tables = {}
    for switch, path in paths.items():
        with haloscope.open(path) as profile:
            tables[switch] = profile.table("collectives", exclusive=True)
    keys = ["operation", "comm_size", "bytes"]
    mean = (pl.col("time_total").sum() / pl.col("calls").sum()).alias("time")
    on, off = (tables[switch].group_by(keys).agg(mean) for switch in ("on", "off"))
    points = on.join(off.rename({"time": "best_time"}), on=keys).with_columns(
        pl.lit("default").alias("algorithm")
    )
    return MachineMeasurements(collectives=points)


def trial(programs: Programs, problem: Problem, turns: int) -> dict[str, object]:
    """Return the findings of a program with a problem, and the time saved without the problem."""
    times: dict[str, list[float]] = {"on": [], "off": []}
    paths: dict[str, Path] = {}
    for turn in range(1 if problem.hosts or programs.mpi == "simulated" else turns):
        for switch, seconds in times.items():
            paths[switch] = programs.directory / f"{problem.name}-{switch}-{turn}.halo"
            seconds.append(programs.run(problem, switch, paths[switch]))
    saved = float(np.median(times["on"]) - np.median(times["off"]))
    middle = int(np.argsort(times["on"])[len(times["on"]) // 2])
    chosen = paths["on"].with_name(f"{problem.name}-on-{middle}.halo")
    found = findings(chosen, measured_of(problem, paths))
    right = [one for one in found if one.rule in problem.rules]
    gain = sum(one.gain for one in right)
    clean = findings(paths["off"], measured_of(problem, paths))
    return {
        "case": problem.name,
        "found": bool(right),
        "others": listed(one for one in found if one.rule not in problem.rules),
        "without_it": listed(clean),
        "gain": round(gain, 4),
        "gain_low": round(sum(one.gain_low for one in right), 4),
        "gain_high": round(sum(one.gain_high for one in right), 4),
        "saved": round(saved, 4),
        "time": round(float(np.median(times["on"])), 4),
        "gain_right": bool(right) and saved / WITHIN <= gain <= WITHIN * saved,
        "sentence": right[0].sentence if right else None,
    }


def listed(found: Iterable[Finding]) -> list[str]:
    return [f"{one.rule} {one.gain:.3f} s ({one.share:.1%})" for one in found]


def count(case: str, hits: int, trials: int, aim: float) -> None:
    """Print the number of programs with the correct result."""
    interval = binomtest(hits, trials).proportion_ci(method="exact")
    share = Estimate(hits / trials, interval.low, interval.high)
    emit(
        "explain-findings",
        case,
        ours=hits,
        peer=trials,
        peer_name="programs",
        unit="right",
        ratio=share,
        target=aim,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", help="only this one; may be repeated")
    parser.add_argument("--turns", type=int, default=5, help="runs with a problem, and without it")
    parser.add_argument("--mpi", choices=("openmpi", "mpich", "simulated"), default="openmpi")
    parser.add_argument("--trace", action="store_true", help="record traces")
    parser.add_argument(
        "--held",
        action="store_true",
        help="different numbers of ranks and lengths than in the development of the rules",
    )
    parser.add_argument("--outside", type=Path, metavar="DIR", help="in: inputs, bin/MPI: programs")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    options = parser.parse_args()
    kind = f"{options.mpi}{', traces' if options.trace else ''}{', held out' if options.held else ''}"
    with tempfile.TemporaryDirectory() as aside:
        directory = (options.keep or Path(aside)).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        programs = Programs(directory, options.mpi, trace=options.trace)
        rows = []
        for problem in PROBLEMS:
            if problem.here_only and options.mpi == "simulated":
                continue
            if options.case is None or problem.name in options.case:
                rows.append(trial(programs, problem.held_out if options.held else problem, options.turns))
                print(json.dumps(rows[-1]), flush=True)
        if rows:
            count(f"{kind}: found, by its cause", sum(bool(row["found"]) for row in rows), len(rows), 0.95)
            right = sum(bool(row["gain_right"]) for row in rows)
            count(f"{kind}: gain within a factor of {WITHIN}", right, len(rows), 0.75)
        quiet = []
        for program in () if options.held or options.mpi == "simulated" else CLEAN:
            if options.case is None or program.name in options.case:
                found = programs.clean(program, options.outside)
                print(json.dumps({"clean": program.name, "findings": found and listed(found)}), flush=True)
                quiet += [] if found is None else [not found]
        if quiet:
            count(f"{kind}: clean, and nothing found", sum(quiet), len(quiet), 0.95)


if __name__ == "__main__":
    main()
