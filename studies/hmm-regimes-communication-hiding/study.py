"""The study's results in the form that `haloscope regimes` uses: timings and regimes per method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cells
import numpy as np
from numpy.typing import NDArray

from haloscope.markov import Decoded, RegimeModel, Regimes, RunTimings, Timings, find_regimes

Floats = NDArray[np.float64]

RANKS_FITTED, REGIMES = 20, 3
REGIMES_OF_SLOWEST = 2  # the quiet machine has one
POOLED = 3  # the fastest runs of a method, as in section 4.3


@dataclass(frozen=True)
class Method:
    """A method's runs under one scenario and solver."""

    name: str
    runs: Sequence[cells.Arrays]  # the fastest first
    ranks: Regimes  # of the fastest run
    slowest: Regimes  # of the pooled runs, one after the other

    @property
    def fastest(self) -> cells.Arrays:
        """The fastest run."""
        return self.runs[0]

    @property
    def view(self) -> RunTimings:
        """The timings and regimes that figures draw."""
        whole, slowest = (
            Decoded(found.timings, found.states, found.model.n_regimes)
            for found in (self.ranks, self.slowest)
        )
        return RunTimings(whole, slowest, self.ranks.training)


def methods(
    todo: Sequence[cells.Cell], results: Path, names: Sequence[str] = tuple(cells.METHODS)
) -> list[Method]:
    """Return each method of these cells (of one scenario and solver) that has results."""
    found = []
    for name in names:
        there = [cell for cell in todo if cell.method == name and cells.is_done(cell, results)]
        if there:
            runs = [cells.load(cell, results) for cell in there]
            # Later runs have too few ranks for figures of single ranks.
            wide = max(len(run["t_in"]) for run in runs)
            runs.sort(key=lambda run: (len(run["t_in"]) < wide, float(run["total"][0])))
            found.append(method(name, runs, 1 if there[0].scenario == "quiet" else REGIMES_OF_SLOWEST))
    return found


def method(
    name: str, runs: list[cells.Arrays], regimes: int = REGIMES_OF_SLOWEST, emission: str = "lognormal"
) -> Method:
    """Return a method's runs, the fastest first, with regimes of ranks and of T^max."""
    first = runs[0]
    blocks = [np.asarray(first[key], dtype=np.float64) for key in ("t_in", "t_out")]
    timings = Timings.from_matrix(blocks[0] + blocks[1], name)
    timings = Timings(
        name,
        "matvec",
        timings.durations,
        timings.counts,
        _kept(first),
        timings.hosts,
        {"T_in": blocks[0], "T_out": blocks[1]},
    )
    model = RegimeModel(REGIMES, emission, n_init=5)
    ranks = find_regimes(timings, model, ranks=RANKS_FITTED)
    pooled = sorted((run["slowest"] for run in runs), key=lambda times: float(times.sum()))
    slowest = Timings.from_matrix(np.concatenate(pooled[:POOLED]).astype(np.float64), name)
    of_slowest = find_regimes(slowest, RegimeModel(regimes, emission, n_init=5))
    return Method(name, runs, ranks, of_slowest)


def _kept(run: cells.Arrays) -> NDArray[np.int64]:
    """Return the world ranks of the stored rows."""
    kept, ranks = len(run["t_in"]), len(run["rank_alpha"])
    return np.arange(kept, dtype=np.int64) * ranks // kept


def decoded_right(method: Method) -> float:
    """Return the share of MatVecs whose decoded regime is the regime of their latency."""
    truth = method.fastest["regime"].astype(np.int64)
    return float((method.ranks.states == truth).mean())


def swept(results: Path) -> dict[str, Floats]:
    """Return per method the median T^max after α has converged: elements per rank × ranks, NaN if not run."""
    shape = len(cells.SWEPT_EDGES), len(cells.SWEPT_RANKS)
    found: dict[str, Floats] = {}
    for cell in cells.sweep():
        table = found.setdefault(cell.method, np.full(shape, np.nan))
        if cells.is_done(cell, results):
            times = cells.load(cell, results)["slowest"]
            place = cells.SWEPT_EDGES.index(cell.elements[0]), cells.SWEPT_RANKS.index(cell.ranks)
            table[place] = np.median(times[times.size // 2 :])
    return found
