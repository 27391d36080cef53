"""Algorithms that share a launch beside algorithms that have their own: the same times, sooner.

    python benchmarks/predict/launches.py [ROUNDS]      # of the MPI in use; nothing else should run

Each round is a sweep of both kinds. Printed are the seconds of a sweep, and the medians of shared launches
over those of own ones, of each point over all rounds; beside them own launches over own ones.
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
    """A launcher that passes no input on: each algorithm has a launch of its own."""
    script = Path(directory) / "mpiexec"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(report_toolchain().launcher))} "$@" </dev/null\n')
    script.chmod(0o755)
    return [str(script)]


def sweep(seed: int, launcher: Sequence[str] = ()) -> tuple[pl.DataFrame, float]:
    """The points of a sweep, and its seconds."""
    begin = time.monotonic()
    points = collective(GRID, replace(METHOD, seed=seed), launcher=launcher).points
    return points.filter(pl.col("status") == "ok"), time.monotonic() - begin


def ratios(ours: Sequence[pl.DataFrame], theirs: Sequence[pl.DataFrame]) -> str:
    """Of the medians of each point: the geometric mean, and between what nine tenths lie."""
    both = [pl.concat(some).group_by(POINT).agg(pl.col("median").median()) for some in (ours, theirs)]
    rows = both[0].join(both[1], on=POINT, suffix="_own")
    logs = np.log((rows["median"] / rows["median_own"]).to_numpy())
    low, high = np.exp(np.quantile(logs, (0.05, 0.95)))
    return f"{np.exp(logs.mean()):.2f} ({low:.2f} to {high:.2f}) at {len(logs)} points"


def main() -> None:
    """Print all of it."""
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
