"""Loss of choices by `tune --duration` after a tenth of a sweep's time, on stored data.

For each platform and collective, simulated times on up to 64 ranks represent a machine on which a launch
takes a second. Measured times scatter by 3 % between launches and by 20 % between calls. A whole sweep has
1100 calls of each algorithm at each point. Its launches are those of `bench collective`: per number of ranks,
one for all algorithms and one for the library's own choice (Open MPI). If a running program cannot switch
algorithms, each has its own launch. The loss is the additional time of the chosen algorithm compared with the
fastest, without scatter. All points of a collective have the same weight. `tune --duration` was developed
with the torus' allreduce only.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import emit_allowed

from haloscope.predict import Measuring, TrialLaunch, Way, measure_within, reduce_calls

DATA = Path(__file__).resolve().parent / "kept" / "simulated.parquet"
MADE_WITH = ("torus", "allreduce")
MOST_RANKS = 64
CALLS, LAUNCH = 1100, 1.0
BETWEEN, WITHIN = 0.03, 0.2
SHARE, AIM = 0.1, 0.03
SELECTORS = ("mpich", "mvapich2")
Times = dict[Way, dict[tuple[int, int], float]]
LAUNCHES = {"": True, ", each launched": False}
DRAWS = 3
CASES = tuple(
    f"a tenth of a sweep's time{how}: loss{of}"
    for how in LAUNCHES
    for of in (", mean", " of the worst collective")
)


def sweeps() -> dict[tuple[str, str], Times]:
    """Return the times of each platform and collective; Open MPI's selector is the library's own choice."""
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


class Clock:
    """Times of launches, of which one may still be open."""

    def __init__(self, kinds: Mapping[Way, object], calls: int) -> None:
        self._kinds, self._calls = kinds, calls
        self._open: tuple[object, int] | None = None
        self.opened = False

    def seconds(self, known: Mapping[tuple[int, int], float], launch: TrialLaunch) -> float:
        """Return the time of a launch; `opened` is whether it is a new one."""
        place = self._kinds.get(launch.way), launch.ranks
        self.opened = launch.way not in self._kinds or place != self._open
        self._open = place
        spent = self._calls * sum(known.get((launch.ranks, size), 0.0) for size in launch.sizes)
        return LAUNCH * self.opened + spent


def losses(collective: str, times: Times, calls: int, seed: int, shared: bool) -> tuple[list[float], float]:
    """Return the losses after a tenth of a whole sweep's time, and the share of the time that was used."""
    lot = random.Random(seed)
    own = times[Way(collective, "default")]
    places = [(collective, *place) for place in own]
    kinds = {way: way.algorithm == "default" for way in times} if shared else {}
    full, clock, between = Clock(kinds, CALLS), Clock(kinds, calls), 0.0
    whole = sum(
        full.seconds(
            times[way], TrialLaunch(way, ranks, tuple(size for count, size in times[way] if count == ranks))
        )
        for ranks in sorted({count for known in times.values() for count, _ in known})
        for way in times
        if any(count == ranks for count, _ in times[way])
    )
    measuring = Measuring(times, {place: 1 / own[place[1:]] for place in places}, calls, kinds=kinds)

    def measured(launch: TrialLaunch) -> tuple[dict[int, float], float]:
        nonlocal between
        known = times[launch.way]
        taken = clock.seconds(known, launch)
        if clock.opened:
            between = lot.gauss(0, BETWEEN)
        noise = 1.25 * WITHIN / calls**0.5  # of a median
        found = {
            size: known[launch.ranks, size] * float(np.exp(between + lot.gauss(0, noise)))
            for size in launch.sizes
            if (launch.ranks, size) in known
        }
        return found, taken

    taken = measure_within(measuring, measured, SHARE * whole)
    lost = [
        times[way][place[1:]] / min(known[place[1:]] for known in times.values() if place[1:] in known) - 1
        for place, way in measuring.choose_fastest().items()
    ]
    return lost, taken / whole


def case(one: tuple[str, str, Times, bool]) -> float:
    """Return the mean loss of a platform and collective over some draws of the scatter."""
    platform, collective, times, shared = one
    drawn = [losses(collective, times, reduce_calls(CALLS), seed, shared) for seed in range(DRAWS)]
    lost = [loss for some, _ in drawn for loss in some]
    share = float(np.mean([part for _, part in drawn]))
    how = "launches shared" if shared else "each launched"
    summary = f"{100 * np.mean(lost):.1f} % mean, {100 * max(lost):.0f} % worst"
    text = f"budget: {platform} {collective}, {how}: {summary}, {100 * share:.1f} % of the time"
    print(text, file=sys.stderr, flush=True)
    return float(np.mean(lost))


def measure() -> None:
    """Print the rows, without the data that were used in the development."""
    others = [(*key, times) for key, times in sweeps().items() if key != MADE_WITH]
    asked = [(*one, shared) for shared in LAUNCHES.values() for one in others]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = list(pool.map(case, asked))
    figures = [of(found[at : at + len(others)]) for at in (0, len(others)) for of in (np.mean, max)]
    for name, loss in zip(CASES, figures, strict=True):
        emit_allowed("predict", name, 100 * float(loss), 100 * AIM, "%")


if __name__ == "__main__":
    measure()
