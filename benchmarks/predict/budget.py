"""How near a tenth of a sweep's time comes to the whole sweep: `tune --budget`, on kept data.

For each platform and collective: what was simulated on up to 64 ranks stands for a machine on which a launch
takes a second by itself. Times that are measured scatter: by 3 % from launch to launch, each call by 20 %.
A whole sweep has 1100 calls of each algorithm at each point. A loss is how much longer what is chosen takes
than the best, without that scatter; each point of a collective takes as much of the program's time as any
other. `_budget.py` was made with the allreduce of the torus, and with none of the others.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import emit_allowed

from haloscope.predict import Launch, Measuring, Way, few_calls, measure_within

__all__ = ["CASES", "measure"]

DATA = Path(__file__).resolve().parent / "kept" / "simulated.parquet"
MADE_WITH = ("torus", "allreduce")
MOST_RANKS = 64
CALLS, LAUNCH = 1100, 1.0
BETWEEN, WITHIN = 0.03, 0.2
SHARE, AIM = 0.1, 0.03
SELECTORS = ("mpich", "mvapich2")
Times = dict[Way, dict[tuple[int, int], float]]
CASES = ("a tenth of a sweep's time: loss, mean", "a tenth of a sweep's time: loss of the worst collective")


def sweeps() -> dict[tuple[str, str], Times]:
    """The times of each platform and collective; the selector for Open MPI is the library's own choice."""
    rows = pl.read_parquet(DATA).filter(
        pl.col("ranks") <= MOST_RANKS,
        pl.col("last").is_not_null(),
        pl.col("algorithm").cast(pl.String).is_in(SELECTORS).not_(),
    )
    found: dict[tuple[str, str], Times] = {}
    columns = ("platform", "collective", "algorithm", "ranks", "bytes", "last")
    for platform, collective, algorithm, ranks, size, last in rows.select(columns).iter_rows():
        way = Way(collective, "default" if algorithm == "ompi" else algorithm)
        found.setdefault((platform, collective), {}).setdefault(way, {})[ranks, size] = last
    return found


def seconds(known: Mapping[tuple[int, int], float], launch: Launch, calls: int) -> float:
    """What a launch takes."""
    return LAUNCH + calls * sum(known.get((launch.ranks, size), 0.0) for size in launch.sizes)


def losses(collective: str, times: Times, calls: int, seed: int) -> tuple[list[float], float]:
    """What choices lose after a tenth of a whole sweep's time, and the share of it that was taken."""
    lot = random.Random(seed)
    own = times[Way(collective, "default")]
    places = [(collective, *place) for place in own]
    whole = sum(
        seconds(known, Launch(way, ranks, tuple(size for count, size in known if count == ranks)), CALLS)
        for way, known in times.items()
        for ranks in {count for count, _ in known}
    )
    measuring = Measuring(times, {place: 1 / own[place[1:]] for place in places}, calls)

    def measured(launch: Launch) -> tuple[dict[int, float], float]:
        known, between = times[launch.way], lot.gauss(0, BETWEEN)
        noise = 1.25 * WITHIN / calls**0.5  # of a median
        found = {
            size: known[launch.ranks, size] * float(np.exp(between + lot.gauss(0, noise)))
            for size in launch.sizes
            if (launch.ranks, size) in known
        }
        return found, seconds(known, launch, calls)

    taken = measure_within(measuring, measured, SHARE * whole)
    lost = [
        times[way][place[1:]] / min(known[place[1:]] for known in times.values() if place[1:] in known) - 1
        for place, way in measuring.chosen().items()
    ]
    return lost, taken / whole


def all_losses(calls: int) -> dict[tuple[str, str], float]:
    """The mean loss of each platform and collective, over three draws of the scatter."""
    found = {}
    for (platform, collective), times in sweeps().items():
        drawn = [losses(collective, times, calls, seed) for seed in range(3)]
        lost = [loss for some, _ in drawn for loss in some]
        found[platform, collective] = float(np.mean(lost))
        share = float(np.mean([part for _, part in drawn]))
        print(
            f"budget: {platform} {collective}, {calls} calls: {100 * np.mean(lost):.1f} % mean, "
            f"{100 * max(lost):.0f} % worst, {100 * share:.1f} % of the time",
            file=sys.stderr,
        )
    return found


def measure() -> None:
    """Print the rows: without what the rules were made with."""
    found = all_losses(few_calls(CALLS))
    others = [loss for key, loss in found.items() if key != MADE_WITH]
    for case, loss in zip(CASES, (float(np.mean(others)), max(others)), strict=True):
        emit_allowed("predict", case, 100 * loss, 100 * AIM, "%")


if __name__ == "__main__":
    measure()
