"""When the machine turned bad, for how long, and where: stretches of unusually many slow times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from haloscope.explain.regimes.statistics._slow import Slow, bar, covered, scores, stretches, stretches_of_row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Stretches = list[tuple[int, int]]

__all__ = ["episodes"]

# Of fewer bad stretches of all ranks nobody can tell how long they usually are.
_KNOWN = 30
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "kind": pl.String,
    "who": pl.String,
    "first": pl.Int64,
    "last": pl.Int64,
    "start": pl.Float64,
    "duration": pl.Float64,
    "share": pl.Float64,
    "lost": pl.Float64,
}
_CHANCE = 0.02  # that independent ranks score more; under 1 in 20, as time has begin and end
_FEWEST, _MOST, _POINTS = 49, 199, 1 << 27  # rotations, and instances of all of them


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
    return stretches_of_row(events, there, scores(max(base, own), seen.stays), bar(seen.events.size))


class Report:
    """Collects episodes as they are found."""

    def __init__(
        self, durations: NDArray[np.float64], seen: Slow, starts: NDArray[np.float64] | None
    ) -> None:
        self._durations, self._seen, self._starts = durations, seen, starts
        self._rows: list[dict[str, object]] = []

    def add(
        self, kind: str, who: str | None, rows: NDArray[np.int64], found: Sequence[tuple[int, int]]
    ) -> None:
        """Add stretches, first and last instance, of these rows of the matrix."""
        if not found:
            return
        first, last = np.array(found).T
        bad, there, excess = (_running(part) for part in self._sums(rows))
        share = (bad[last + 1] - bad[first]) / (there[last + 1] - there[first])
        lost = excess[last + 1] - excess[first]
        start, duration = self._times(rows, first, last)
        columns = (first, last, start, duration, share, lost)
        self._rows += [
            {"kind": kind, "who": who, **dict(zip(list(SCHEMA)[2:], row, strict=True))}
            for row in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def _sums(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """Bad instances, instances, and seconds lost by the average rank, by instance."""
        seen = self._seen
        if rows.size == 1:
            row = rows[0]
            there = seen.exists[row]
            excess = np.where(there, self._durations[row] - seen.usual[row], 0)
            return seen.events[row], there, excess
        groups = np.unique(seen.group[rows])
        bad, there, excess = (part[groups].sum(axis=0) for part in (seen.bad, seen.there, seen.excess))
        return bad, there, excess / np.maximum(there, 1)

    def _times(
        self, rows: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """From the first of these ranks that began to the last that ended; NaN: unknown."""
        if self._starts is None:
            unknown = np.full(first.size, np.nan)
            return unknown, unknown
        begin = np.fmin.reduce(self._starts[np.ix_(rows, first)], axis=0)
        ends = np.ix_(rows, last)
        end = np.fmax.reduce(self._starts[ends] + self._durations[ends], axis=0)
        return begin, end - begin

    def frame(self) -> pl.DataFrame:
        """Return what was found, the most lost first, the machine before hosts before ranks."""
        kinds = pl.col("kind").replace_strict({"machine": 0, "host": 1, "rank": 2})
        table = pl.DataFrame(self._rows, schema=SCHEMA, infer_schema_length=None)
        return table.with_columns(pl.col("start", "duration").fill_nan(None)).sort(
            kinds, pl.col("lost").neg(), "first", maintain_order=True
        )


def _running(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate(([0.0], np.cumsum(values)))


def chance_peak(seen: Slow, steps: Callable[[Slow], NDArray[np.float64]]) -> float:
    """Return the score that rotated runs seldom reach; `steps` scores each instance of a run."""
    number = int(np.clip(_POINTS // max(seen.events.size, 1), _FEWEST, _MOST))
    random = np.random.default_rng(0)
    peaks = np.sort([peak(steps(_rotated(seen, random))) for _ in range(number)])
    return float(peaks[int(np.ceil((1 - _CHANCE) * (number + 1))) - 1])


def peak(steps: NDArray[np.float64]) -> float:
    """Return the largest sum of steps in a row."""
    total = np.concatenate(([0.0], np.cumsum(steps)))
    return float((total - np.minimum.accumulate(total)).max())


def _rotated(seen: Slow, random: np.random.Generator) -> Slow:
    """Return the counts of a run whose ranks each began at another of their own instances."""
    bad = np.zeros_like(seen.bad)
    ends = np.maximum(seen.exists.shape[1] - seen.exists[:, ::-1].argmax(axis=1), 1)
    shifts = random.integers(0, ends)
    for row, (end, shift) in enumerate(zip(ends.tolist(), shifts.tolist(), strict=True)):
        events, counts = seen.events[row], bad[seen.group[row]]
        counts[shift:end] += events[: end - shift]
        counts[:shift] += events[end - shift : end]
    return replace(seen, bad=bad)
