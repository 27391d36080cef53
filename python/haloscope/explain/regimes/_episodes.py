"""When the machine turned bad, for how long, and where: stretches of unusually many slow times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from haloscope.explain.regimes._episode_rows import SCHEMA, Report
from haloscope.explain.regimes._rotations import chance_peak
from haloscope.explain.regimes._scan import bar, covered, scores, stretches, stretches_of_row
from haloscope.explain.regimes._slow import Slow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Stretches = list[tuple[int, int]]

__all__ = ["episodes"]

# Of fewer bad stretches of all ranks nobody can tell how long they usually are.
_KNOWN = 30


def episodes(
    durations: NDArray[np.float64],
    states: NDArray[np.uint8],
    n_regimes: int,
    *,
    ranks: NDArray[np.int64],
    hosts: tuple[str | None, ...],
    starts: NDArray[np.float64] | None = None,
    slow: int = 1,
) -> pl.DataFrame:
    """Return the stretches in which the machine, a host or a rank was slow: one row an episode.

    `durations`, `states` and `starts` (seconds since MPI_Init, None if unknown) are (ranks,
    instances); `ranks` and `hosts` say what each row is; the `slow` slowest of the `n_regimes`
    regimes are the bad ones. Columns: `kind` (machine, host, rank), `who` (the host's name, the
    rank's number; null for the machine), `first` and `last` instance, `start` and `duration` in
    seconds (null without starts), `share` (of these ranks' instances that were in a bad regime)
    and `lost`: seconds that the average of these ranks lost, compared with its median time
    outside the bad regimes. The most lost first, the machine before hosts before ranks.

    The machine's: the share of bad instances on the median host is nearer to all than to the
    base rate. A host's: more of its ranks are bad than elsewhere, other than with the machine. A
    rank's: it is bad more often than it and others are on the whole, other than with its host, so a
    rank that is always slow has none. Each is tested against the binomial distribution over all
    places where an episode could begin (`_scan`); those of hosts, ranks and of a single series also
    have to be longer than stretches usually are, because regimes persist by nature.
    """
    if not durations.size or not 0 < slow < n_regimes:
        return pl.DataFrame(schema=SCHEMA)
    seen = Slow.of(durations, states, range(n_regimes - slow, n_regimes), hosts)
    instances = durations.shape[1]
    machine, base = _of_machine(seen)
    report = Report(durations, seen, starts)
    report.add("machine", None, np.arange(len(durations)), machine)
    calm = ~covered(machine, instances)
    quiet = np.tile(calm, (len(seen.names), 1))
    if len(seen.names) > 1:
        for index, name in enumerate(seen.names):
            if name is not None:
                found = _of_host(seen, index, base, calm)
                quiet[index] &= ~covered(found, instances)
                report.add("host", name, np.flatnonzero(seen.group == index), found)
    if len(durations) > 1 and seen.stretches >= _KNOWN:
        for row, rank in enumerate(ranks.tolist()):
            found = _of_rank(seen, row, base, quiet[seen.group[row]])
            report.add("rank", str(rank), np.array([row]), found)
    return report.frame()


def _of_machine(seen: Slow) -> tuple[Stretches, float]:
    """Return the machine's stretches, and the rate of bad instances outside of them.

    The base rate is first that of all instances, then that of those that seemed calm.
    """
    alone = len(seen.events) == 1
    height = bar(seen.there.shape[1])
    found: Stretches = []
    base = _rate(seen, np.ones(seen.there.shape[1], dtype=bool))
    if not alone:
        height = max(height, chance_peak(seen, lambda run: _steps(run, base, 0)))
    for _ in range(3):
        found = stretches(_steps(seen, base, seen.stays if alone else 0).tolist(), height)
        if not found:
            break
        base = _rate(seen, ~covered(found, seen.there.shape[1]))
    return found, base


def _steps(seen: Slow, base: float, stays: float) -> NDArray[np.float64]:
    """Return what each instance scores for a bad machine."""
    share = seen.typical_share()
    event, absence = scores(base, stays)
    steps: NDArray[np.float64] = seen.there.sum(axis=0) * (share * event + (1 - share) * absence)
    return steps


def _rate(seen: Slow, where: NDArray[np.bool_]) -> float:
    return float((seen.bad[:, where].sum() + 1) / (seen.there[:, where].sum() + 2))


def _of_host(seen: Slow, index: int, base: float, counted: NDArray[np.bool_]) -> Stretches:
    event, absence = scores(base, seen.stays)
    bad, there = seen.bad[index], seen.there[index]
    steps = (bad * event + (there - bad) * absence) * counted
    return stretches(steps.tolist(), bar(seen.bad.size))


def _of_rank(seen: Slow, row: int, base: float, counted: NDArray[np.bool_]) -> Stretches:
    events = seen.events[row]
    there = counted & seen.exists[row]
    own = float((np.count_nonzero(events & there) + 1) / (np.count_nonzero(there) + 2))
    return stretches_of_row(
        events, there, scores(max(base, own), seen.stays), bar(seen.events.size)
    )
