"""Whether a run under `haloscope inject` takes as long as the trace of a run without says.

A program of the tests, in which ranks compute (sleep) while messages are under way, is recorded with a trace.
How long it takes with so much latency is read off that trace, and compared with runs to which that latency is
injected: medians of rounds that take turns. Prints one JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT

import haloscope
from haloscope.explain.waiting import Analysis

PROGRAM = Path(__file__).resolve().parents[2] / "tests" / "explain" / "programs" / "latencies.c"
LATENCIES = (10, 25, 50, 100, 200)


def run(launcher: list[str], compiler: str, rounds: int) -> None:
    """Record, predict, inject."""
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        program = here / "latencies"
        subprocess.run([compiler, "-O2", PROGRAM, "-o", program], check=True)
        command = [*launcher, str(program), "20", "100000"]
        predicted = np.empty((rounds, len(LATENCIES)))
        measured = np.empty((rounds, len(LATENCIES)))
        for i in range(rounds):
            base = traced(command, here / f"base{i}.halo", None)
            curve = base.run_time_with(1.1e-3 * max(LATENCIES))
            for j, latency in enumerate(LATENCIES):
                predicted[i, j] = curve.at(latency / 1e3)
                measured[i, j] = traced(command, here / f"{latency}-{i}.halo", latency).run_time
        for j, latency in enumerate(LATENCIES):
            said, took = np.median(predicted[:, j]), np.median(measured[:, j])
            record = {
                "benchmark": "explain-latency",
                "case": f"{latency} ms",
                "predicted": round(float(said), 4),
                "measured": round(float(took), 4),
                "unit": "s",
                "error": round(float(said / took - 1), 4),
            }
            print(json.dumps(record), flush=True)


def traced(command: list[str], profile: Path, latency: int | None) -> Analysis:
    """Return the analysis of a run, with `latency` (ms) injected."""
    ours = [sys.executable, "-m", "haloscope.cli"]
    inject = [] if latency is None else [*ours, "inject", "--latency", f"constant:{latency}ms", "--"]
    full = [*inject, *ours, "run", "--trace", "--output", str(profile), "--", *command]
    subprocess.run(full, check=True, env=MPI_ENVIRONMENT, capture_output=True)
    with haloscope.open(profile) as opened:
        # A collective is one latency to the injector.
        return Analysis(opened.trace(), is_tree=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compiler", default="mpicc.openmpi")
    parser.add_argument("--launcher", default="mpiexec.openmpi --oversubscribe -n 4")
    chosen = parser.parse_args()
    run(chosen.launcher.split(), chosen.compiler, chosen.rounds)
