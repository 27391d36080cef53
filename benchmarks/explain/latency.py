"""Predicted run time with an additional latency, compared with runs under `haloscope inject`.

For each latency, a program is traced under the injector with a latency of 1 ns and with that latency,
alternately. Both include the cost of the injector itself. Medians over rounds are compared. Programs are one
of the tests, whose ranks sleep while messages are under way, the bundled `cg` and `sweep` on two ranks, which
compute, and those of `--also`. If a program makes the same calls in each run, a second prediction uses the
computing times of the run that it is compared with. The difference of the two predictions is due to the
machine, the remaining error is due to the model. The order of `sweep`'s messages differs between runs, so it
also runs with a fixed order (`in_order.c`). Prints one JSON object per line.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT

import haloscope
from haloscope.base.launcher import report_toolchain
from haloscope.profile.waiting import Question, WaitAnalysis, tape

PROGRAM = Path(__file__).resolve().parents[2] / "tests" / "explain" / "programs" / "latencies.c"
IN_ORDER = Path(__file__).with_name("in_order.c")
# The installed command, because `inject` finds the MPI from the launcher after `haloscope run`.
HALOSCOPE = (str(Path(sys.executable).with_name("haloscope")),)
# Approximate growth of the longest path by the injected latencies, as shares of the run without them.
LONGER = (0.02, 0.05, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Case:
    """A program with its launch command and directory."""

    name: str
    command: list[str]
    directory: Path

    def traced(self, profile: Path, latency: float) -> WaitAnalysis:
        """Return the analysis of a run with `latency` (s) injected."""
        inject = [*HALOSCOPE, "inject", "--quiet", "--latency", f"constant:{latency * 1e9:.0f}ns", "--"]
        command = [*inject, *HALOSCOPE, "run", "--trace", "--output", str(profile), "--", *self.command]
        done = subprocess.run(
            command, check=False, env=MPI_ENVIRONMENT, capture_output=True, text=True, cwd=self.directory
        )
        if done.returncode:
            raise SystemExit(f"{shlex.join(command)}: {done.stderr.strip()}")
        with haloscope.open(profile) as opened:
            return WaitAnalysis(opened.trace(), is_injected=True)

    def run(self, rounds: int) -> None:
        """Record, predict, inject; the first runs determine the latencies."""
        profile = self.directory / f"{self.name}.halo"
        self.traced(profile, 1e-9)
        curve = self.traced(profile, 1e-9)
        whole = np.ones((1, int(curve.timeline.paths)), dtype=np.bool_)
        row = curve.tolerance(list(whole), LONGER).row(0)
        latencies = [round(x, 6) for x in row[1:]]
        predicted, alike, measured = np.full((3, rounds, len(latencies)), np.nan)
        for i in range(rounds):
            for j, latency in enumerate(latencies):
                base, injected = self.traced(profile, 1e-9), self.traced(profile, latency)
                predicted[i, j] = base.run_time_with(1.1 * latency).evaluate(latency)
                alike[i, j] = _with_computing_of(base, injected, latency)
                measured[i, j] = injected.run_time
        for j, latency in enumerate(latencies):
            self._print(latency, predicted[:, j], alike[:, j], measured[:, j])

    def _print(self, latency: float, predicted: Array, alike: Array, measured: Array) -> None:
        expected, took = float(np.median(predicted)), float(np.median(measured))
        error = float(np.median(alike / measured) - 1)
        record = {
            "benchmark": "explain-latency",
            "case": f"{self.name}: {latency * 1e6:.0f} us",
            "predicted": round(expected, 4),
            "measured": round(took, 4),
            "unit": "s",
            "error": round(expected / took - 1, 4),
            "error_with_its_computing": None if np.isnan(error) else round(error, 4),
            "spread": round(float(np.ptp(measured)) / took, 4),
        }
        print(json.dumps(record), flush=True)


Array = np.ndarray[tuple[int], np.dtype[np.float64]]


def _with_computing_of(base: WaitAnalysis, injected: WaitAnalysis, latency: float) -> float:
    """Return the prediction of `base` for `latency` (s) with the other's computing; NaN if calls differ."""
    ours, theirs = base.timeline, injected.timeline
    if ours.names.to_list() != theirs.names.to_list() or (ours.location != theirs.location).any():
        return float("nan")
    other = injected.graph()
    played = tape(ours, replace(base.graph(), gap=other.gap, tail=other.tail))
    return float(played.play([Question(latency * 1e9, played.all_roles)])[0, 0]) * 1e-9


def cases(launcher: list[str], compiler: str, also: Iterable[str], directory: Path) -> list[Case]:
    """Return the programs. Commands of `also` run in the current directory."""
    program = directory / "latencies"
    subprocess.run([compiler, "-O2", PROGRAM, "-o", program], check=True)
    found = [Case("sleeping", [*launcher, str(program), "20", "20000"], directory)]
    grid = "--nx 32 --ny 32 --nz 32 --iterations 200"
    for name, arguments in (("cg", grid), ("sweep", "--procs 1,1,2 --zones 16,32,32 --niter 6")):
        where = subprocess.run([*HALOSCOPE, "where", name], check=True, capture_output=True, text=True)
        found.append(Case(name, [*launcher, where.stdout.strip(), *arguments.split()], directory))
    in_order = directory / "in_order.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", IN_ORDER, "-o", in_order], check=True)
    before = ["sh", "-c", f'LD_PRELOAD={in_order}:$LD_PRELOAD exec "$@"', "sh"]
    found.append(Case("sweep in order", [*launcher, *before, *found[-1].command[len(launcher) :]], directory))
    for command in also:
        words = shlex.split(command)
        found.append(Case(Path(words[0]).name, [*launcher, *words], Path.cwd()))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    tools = report_toolchain()
    parser.add_argument("--compiler", default=str(tools.compiler.with_name("mpicc")))
    parser.add_argument("--launcher", default=shlex.join([str(tools.launcher), "-n", "2"]))
    parser.add_argument("--also", action="append", default=[], help="one more program with its arguments")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(shlex.split(chosen.launcher), chosen.compiler, chosen.also, Path(folder)):
            case.run(chosen.rounds)
