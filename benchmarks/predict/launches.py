"""Algorithms that share a launch beside algorithms that have their own: the same times, sooner.

    python benchmarks/predict/launches.py [ROUNDS]      # of the MPI in use; nothing else should run

Each round is a sweep of both kinds. Printed are the seconds of a sweep, and the medians of shared launches
over those of own ones, of each point over all rounds; beside them own launches over own ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from haloscope.predict.bench import CollectiveMethod, Grid, Sweep, library
from haloscope.predict.bench._grid import units
from haloscope.predict.bench._launches import measure
from haloscope.predict.bench._sweep import Journal

GRID = Grid(["bcast", "allreduce"], ranks=[2], sizes=[8, 4096, 65536])
METHOD = CollectiveMethod(iterations=200, warmup=20, time_limit=20)
POINT = ("collective", "algorithm", "bytes")


@dataclass
class Apart:
    """A library whose programs can't be asked while they run."""

    library: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def asked(self, _algorithm: object) -> None:
        """Nothing can be asked for."""


def sweep(of: Any, seed: int) -> tuple[pl.DataFrame, float]:
    """The points of a sweep, and its seconds."""
    kept, begin = Journal({}, None), time.monotonic()
    measure(units(GRID, of, seed), of, METHOD, kept)
    points = Sweep.of({}, list(kept.points.values())).points
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
    shared = library()
    found = [(sweep(shared, seed), sweep(Apart(shared), seed)) for seed in range(rounds)]
    together, apart = ([pair[kind][0] for pair in found] for kind in (0, 1))
    seconds = [float(np.median([pair[kind][1] for pair in found])) for kind in (0, 1)]
    print(f"{shared.name}: a sweep takes {seconds[0]:.1f} s, each launched {seconds[1]:.1f} s")
    print(f"shared / own: {ratios(together, apart)}")
    print(f"own / own: {ratios(apart[::2], apart[1::2])}")


if __name__ == "__main__":
    main()
