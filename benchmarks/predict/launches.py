"""Sweeps whose algorithms share a launch, compared with a launch per algorithm: same times, shorter sweep.

    python benchmarks/predict/launches.py [ROUNDS]      # of the MPI in use; needs an idle machine

Each round is a sweep of both kinds. It prints the seconds of a sweep, and the ratios of medians with shared
launches over those with own launches, per point over all rounds. Ratios of two sets of own launches follow.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.launcher import report_toolchain
from haloscope.predict.bench import BenchGrid, CollectiveMethod, collective, library

GRID = BenchGrid(["bcast", "allreduce"], ranks=[2], sizes=[8, 4096, 65536])
METHOD = CollectiveMethod(iterations=200, warmup=20, time_limit=20)
POINT = ("collective", "algorithm", "bytes")


def deaf(directory: str) -> list[str]:
    """Return a launcher without standard input, with which each algorithm has its own launch."""
    script = Path(directory) / "mpiexec"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(report_toolchain().launcher))} "$@" </dev/null\n')
    script.chmod(0o755)
    return [str(script)]


def sweep(seed: int, launcher: Sequence[str] = ()) -> tuple[pl.DataFrame, float]:
    """Return the points of a sweep, and its seconds."""
    begin = time.monotonic()
    points = collective(GRID, replace(METHOD, seed=seed), launcher=launcher).points
    return points.filter(pl.col("status") == "ok"), time.monotonic() - begin


def ratios(ours: Sequence[pl.DataFrame], theirs: Sequence[pl.DataFrame]) -> str:
    """Return the ratio of medians over points: the geometric mean, and the 5 % and 95 % quantiles."""
    both = [pl.concat(some).group_by(POINT).agg(pl.col("median").median()) for some in (ours, theirs)]
    rows = both[0].join(both[1], on=POINT, suffix="_own")
    logs = np.log((rows["median"] / rows["median_own"]).to_numpy())
    low, high = np.exp(np.quantile(logs, (0.05, 0.95)))
    return f"{np.exp(logs.mean()):.2f} ({low:.2f} to {high:.2f}) at {len(logs)} points"


def main() -> None:
    """Print seconds and ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    with tempfile.TemporaryDirectory() as directory:
        own = deaf(directory)
        found = [(sweep(seed), sweep(seed, own)) for seed in range(rounds)]
    together, apart = ([pair[kind][0] for pair in found] for kind in (0, 1))
    seconds = [float(np.median([pair[kind][1] for pair in found])) for kind in (0, 1)]
    print(f"{library().name}: a sweep takes {seconds[0]:.1f} s, each launched {seconds[1]:.1f} s")
    print(f"shared / own: {ratios(together, apart)}")
    print(f"own / own: {ratios(apart[::2], apart[1::2])}")


if __name__ == "__main__":
    main()
