"""POP's efficiencies: the share of the run in which ranks compute, and the causes of the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloscope.profile.waiting.stretches import COMPUTING, Stretches
from haloscope.profile.waiting.timeline import Timeline


@dataclass(frozen=True)
class Efficiency:
    """Shares of 1: `parallel` = `load_balance` × `serialisation` × `transfer`. Times are seconds.

    `computing_mean` and `computing_max` are over the ranks; `ideal_time` is the run time on a network that
    takes no time.
    """

    parallel: float
    load_balance: float
    serialisation: float
    transfer: float
    run_time: float
    ideal_time: float
    computing_mean: float
    computing_max: float


def efficiency(timeline: Timeline, cut: Stretches, ideal_length: float) -> Efficiency | None:
    """Return the efficiencies of a run; None if it is empty.

    In a rank with several threads, the one with the smallest number computes: it called MPI_Init.

    Args:
        timeline: The calls of the run.
        cut: The stretches of each location.
        ideal_length: Length (ns) of a replay on a network that takes no time.
    """
    is_computing = cut.kind == COMPUTING
    computed = np.bincount(
        cut.location[is_computing], weights=cut.time[is_computing], minlength=len(timeline.locations)
    )
    _, first_thread = np.unique(timeline.ranks, return_index=True)
    per_rank = computed[first_thread]
    run_time = timeline.duration
    if not run_time or not per_rank.max():
        return None
    mean, most = float(per_rank.mean()), float(per_rank.max())
    return Efficiency(
        parallel=mean / run_time,
        load_balance=mean / most,
        serialisation=most / ideal_length,
        transfer=ideal_length / run_time,
        run_time=run_time / 1e9,
        ideal_time=ideal_length / 1e9,
        computing_mean=mean / 1e9,
        computing_max=most / 1e9,
    )
