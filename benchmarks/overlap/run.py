"""Overlap: policies against the fixed half, with latency by the injector, on two ranks; a toy.

A chain of cells with some milliseconds of independent work. In the late rows contributions to
neighbours are under way for about as long as half of that work takes, drawn anew for each message,
while the input comes at once. What there is to hide is the step without any overlap, less the
longer of work and latency; the hidden share is the part of it that a policy saves, the median over
steps. Sides alternate.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, Estimate, emit, estimate

from haloscope.watch._applications import build_overlap, toolchain

BENCHMARK = "overlap"
HERE = Path(__file__).resolve().parent
HALOSCOPE = Path(sys.executable).with_name("haloscope")
CELLS, STEPS, LEFT_OUT = 20000, 120, 20
POLICIES = {"fixed": 0, "dynamic": 1, "test": 2, "adaptive": 3}

Floats = NDArray[np.float64]


def build(directory: Path) -> Path:
    """The program, with the MPI on PATH."""
    compiler = toolchain().compiler.with_name("mpicc")
    program = directory / "toy"
    include = HERE.parents[1] / "include"
    subprocess.run(
        [str(compiler), "-O3", f"-I{include}", str(HERE / "toy.c"), str(build_overlap()),
         "-o", str(program), "-lstdc++", "-lm"], check=True,
    )  # fmt: skip
    return program


def run(
    program: Path, words: Sequence[str], latency: str | None, seed: int
) -> tuple[Floats, Floats]:
    """Seconds of each step on each rank, and the latencies of what each rank got: (2, steps)."""
    launch = [str(toolchain().launcher), "-n", "2", str(program), f"steps={STEPS}", *words]
    with tempfile.TemporaryDirectory() as directory:
        record = Path(directory) / "injected.csv"
        if latency is not None:
            options = ["--latency", latency, "--seed", str(seed), "--no-collectives", "--quiet"]
            launch = [str(HALOSCOPE), "inject", *options, "-o", str(record), "--", *launch]
        done = subprocess.run(
            launch, env=MPI_ENVIRONMENT, capture_output=True, text=True, check=True
        )
        rows = [line.split() for line in done.stdout.splitlines() if " step " in line]
        times = np.array([[float(row[2]) for row in rows if row[0] == str(r)] for r in (0, 1)])
        latencies = np.zeros_like(times)
        if latency is not None:
            import polars

            table = polars.read_csv(record)
            for rank in (0, 1):  # the sender's row
                drawn = table.filter(table["partner"] == rank)["latency"].to_numpy()
                latencies[rank] = drawn[:STEPS]
    return times[:, LEFT_OUT:], latencies[:, LEFT_OUT:]


def work_seconds(program: Path, words: Sequence[str]) -> float:
    """A step's work, when nothing is late."""
    return float(np.median(run(program, [*words, "policy=0"], None, 0)[0]))


def measure_late(program: Path, rounds: int, words: Sequence[str]) -> None:
    work = work_seconds(program, words)
    for case, latency in (
        ("half the work, lognormal", f"lognormal:{work / 2 * 1e6:.1f}us,0.4"),
        ("three quarters of the work", f"constant:{0.75 * work * 1e6:.1f}us"),
    ):
        shares: dict[str, list[float]] = {name: [] for name in POLICIES}
        steps: dict[str, list[float]] = {name: [] for name in POLICIES}
        for seed in range(rounds):
            for name, policy in POLICIES.items():
                epsilon = f"epsilon={work / 100:.3g}"
                arguments = [*words, f"policy={policy}", epsilon, "theta=0.5", "quick_input=1"]
                times, late = run(program, arguments, latency, seed)
                # Both ranks start together; a step is over when the slower one is.
                none, perfect = work + late, np.maximum(work, late)
                shares[name].append(float(np.median((none - times) / (none - perfect))))
                steps[name].append(float(np.median(times)))
        for name in ("dynamic", "test", "adaptive"):
            share = estimate(shares[name])
            emit(
                BENCHMARK, f"hidden, {case}: {name}", ours=100 * share.median,
                peer=100 * estimate(shares["fixed"]).median, peer_name="fixed half", unit="%",
                ratio=share, target=0.9,
            )  # fmt: skip
            faster = estimate(np.array(steps["fixed"]) / np.array(steps[name]))
            emit(
                BENCHMARK, f"step, {case}: {name}", ours=1e3 * estimate(steps[name]).median,
                peer=1e3 * estimate(steps["fixed"]).median, peer_name="fixed half", unit="ms",
                ratio=faster, target=1.1,
            )  # fmt: skip


def measure_polls(program: Path, rounds: int, words: Sequence[str]) -> None:
    """Nothing is late: all that polls can do is cost."""
    for name in ("test", "adaptive"):
        pairs = []
        for _ in range(rounds):
            ours, peer = (
                float(np.median(run(program, [*words, f"policy={POLICIES[policy]}"], None, 0)[0]))
                for policy in (name, "fixed")
            )
            pairs.append((ours, peer))
        ours_all, peers = np.array(pairs).T
        ratio: Estimate = estimate(peers / ours_all)
        emit(
            BENCHMARK, f"polling when nothing is late: {name}", unit="ms", ratio=ratio,
            ours=1e3 * estimate(ours_all).median, peer=1e3 * estimate(peers).median,
            peer_name="fixed half", target=0.99,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--work", type=int, default=60, help="operations a cell, in units of two")
    options = parser.parse_args()
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    with tempfile.TemporaryDirectory() as directory:
        program = build(Path(directory))
        words = [f"cells={CELLS}", f"work={options.work}"]
        measure_late(program, options.rounds, words)
        measure_polls(program, options.rounds, words)


if __name__ == "__main__":
    main()
