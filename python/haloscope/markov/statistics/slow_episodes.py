"""Slow episodes of the machine, hosts and ranks: stretches of unusually many slow times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
import polars as pl

from haloscope.base.arrays import Bytes, Flags, Floats, Integers
from haloscope.markov.statistics.samples import ROWS

Stretches = list[tuple[int, int]]

# Number of stretches of one instance that are added, so that a few long ones do not seem usual.
_FEW_RUNS = np.ones(10, dtype=np.int64)
# The probability that any episode is reported for a machine without episodes.
_FALSE_ALARM = 0.05


@dataclass(frozen=True)
class Slow:
    """Counts by group of ranks, those of one host, and instance: (groups, instances) each.

    `bad` instances in a bad regime, `there` instances at all, `excess` seconds over the rank's usual time;
    `exists` and `events`, (ranks, instances), the instances that there are and the bad ones; `usual` each
    rank's median time outside the bad regimes, or of all if it's always in one. `names` of the groups: hosts,
    and None for the ranks whose host is unknown. `stays`: the probability that a bad instance follows a bad
    one, from the usual stretches: a few very long ones do not matter. `stretches`: the number of stretches of
    bad instances of all ranks.
    """

    names: list[str | None]
    group: Integers
    exists: Flags
    events: Flags
    bad: Integers
    there: Integers
    excess: Floats
    usual: Floats
    stays: float
    stretches: int

    @classmethod
    def from_states(
        cls, durations: Floats, states: Bytes, regimes: range, hosts: tuple[str | None, ...]
    ) -> Slow:
        """Count; `regimes` are the bad states."""
        names = list(dict.fromkeys(hosts))
        group = np.array([names.index(host) for host in hosts], dtype=np.int64)
        shape = (len(names), durations.shape[1])
        bad, there = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        excess = np.zeros(shape)
        exists = states < regimes.stop
        events = exists & (states >= regimes.start)
        usual = np.empty(len(durations))
        for row, times in enumerate(durations):
            usual[row] = _compute_usual(times, exists[row], events[row])
            index = group[row]
            bad[index] += events[row]
            there[index] += exists[row]
            excess[index] += np.where(exists[row], times - usual[row], 0)
        lengths = [_run_lengths(events[row : row + ROWS]) for row in range(0, len(events), ROWS)]
        stays = _stays(np.concatenate([_FEW_RUNS, *lengths]))
        number = sum(part.size for part in lengths)
        return cls(names, group, exists, events, bad, there, excess, usual, stays, number)

    def typical_share(self) -> Floats:
        """Return the share of bad instances on the median host, the lower of two: (instances,).

        With the lower one, one host of two or three does not count as the machine.
        """
        shares = np.where(self.there > 0, self.bad / np.maximum(self.there, 1), np.inf)
        present = (self.there > 0).sum(axis=0)
        ordered = np.sort(shares, axis=0)
        middle = np.maximum(present - 1, 0) // 2
        median = np.take_along_axis(ordered, middle[None, :], axis=0)[0]
        return np.where(present > 0, median, 0.0)


def _compute_usual(times: Floats, exists: Flags, bad: Flags) -> float:
    good = times[exists & ~bad]
    if not good.size:
        good = times[exists]
    return float(np.median(good, overwrite_input=True)) if good.size else 0.0


def _stays(lengths: Integers) -> float:
    """Return the probability of the geometric distribution with the median of these lengths."""
    median = float(np.median(lengths))
    return float(0.5 ** (1 / median)) if median > 1 else float((lengths > 1).mean())


def _run_lengths(events: Flags) -> Integers:
    """Return the length of each stretch of events in a row."""
    padded = np.zeros((len(events), events.shape[1] + 2), dtype=np.int8)
    padded[:, 1:-1] = events
    change = np.diff(padded, axis=1).ravel()
    return np.flatnonzero(change == -1) - np.flatnonzero(change == 1)


def bar(places: int) -> float:
    """Return the score that by chance one of `places` reaches in one case of twenty."""
    return log(max(places, 1) / _FALSE_ALARM)


def scores(base: float, stays: float = 0) -> tuple[float, float]:
    """Return the scores of an event and of its absence, for the base rate `base` in (0, 1).

    If events follow each other with probability `stays`, a long row of them is not unlikely: each scores −log
    `stays` at most, and absence in proportion.
    """
    raised = (1 + base) / 2
    event, absence = log(raised / base), log((1 - raised) / (1 - base))
    factor = min(1.0, -log(stays) / event) if stays > 0 else 1.0
    return event * factor, absence * factor


def stretches(steps: Sequence[float], height: float) -> list[tuple[int, int]]:
    """Return first and last step of each stretch whose score reaches `height`.

    A stretch also ends where the score has fallen from its peak by `height`.
    """
    found = []
    total = peak = 0.0
    first = last = 0
    for index, score in enumerate(steps):
        if total <= 0:
            total, peak, first = 0.0, 0.0, index
        total += score
        if total > peak:
            peak, last = total, index
        elif peak >= height and (total <= 0 or total < peak - height):
            found.append((first, last))
            total = 0.0
    return [*found, (first, last)] if total > 0 and peak >= height else found


def stretches_of_row(
    events: Flags, counted: Flags, rates: tuple[float, float], height: float
) -> list[tuple[int, int]]:
    """Return the stretches in one rank's instances; those not `counted` score nothing.

    Works on runs of instances with equal scores, and skips rows that cannot have a stretch.
    """
    if not events.size:
        return []
    points = np.where(counted, np.where(events, *rates), 0.0)
    begins = np.concatenate(([0], np.flatnonzero(points[1:] != points[:-1]) + 1))
    lengths = np.diff(begins, append=points.size)
    steps = points[begins] * lengths
    total = np.cumsum(steps)
    if (total - np.minimum.accumulate(np.minimum(total, 0))).max() < height:
        return []
    found = stretches(steps.tolist(), height)
    ends = (begins + lengths - 1).tolist()
    return [(int(begins[first]), ends[last]) for first, last in found]


def find_covered(found: Sequence[tuple[int, int]], instances: int) -> Flags:
    """Return which instances are in one of the stretches."""
    inside = np.zeros(instances, dtype=bool)
    for first, last in found:
        inside[first : last + 1] = True
    return inside


# With fewer bad stretches in all ranks, their usual length is unknown.
_KNOWN = 30
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "kind": pl.String,
    "who": pl.String,
    "first": pl.Int64,
    "last": pl.Int64,
    **dict.fromkeys(("start", "duration", "share", "lost"), pl.Float64),
}
_CHANCE = 0.02  # that independent ranks score more; below 1 in 20, as rotation joins both ends of the time
_FEWEST, _MOST, _POINTS = (49, 199, 1 << 27)  # rotations at least and at most; instances of all


def episodes(
    durations: Floats,
    states: Bytes,
    n_regimes: int,
    *,
    ranks: Integers,
    hosts: tuple[str | None, ...],
    starts: Floats | None = None,
    slow: int = 1,
) -> pl.DataFrame:
    """Return the stretches in which the machine, a host or a rank was slow: one row per episode.

    `durations`, `states` and `starts` (seconds since MPI_Init, None if unknown) are (ranks, instances);
    `ranks` and `hosts` are those of each row; the `slow` slowest of the `n_regimes` regimes are the bad ones.
    Columns: `kind` (machine, host, rank), `who` (the host's name, the rank's number; null for the machine),
    `first` and `last` instance, `start` and `duration` in seconds (null without starts), `share` and `lost`.
    `share` is that of these ranks' instances in a bad regime. `lost` is the excess (s) of the average of
    these ranks over its median time outside the bad regimes. The order is: machine, hosts, ranks; within
    these, the largest loss first.

    Episode of the machine: the share of bad instances on the median host is nearer to 1 than to the base
    rate. Of a host: more of its ranks are bad than elsewhere, outside of the machine's episodes. Of a rank:
    it is bad more often than it and others are in the whole run, outside of its host's episodes. So a rank
    that is always slow has none. Each is tested against the binomial distribution over all places where an
    episode could begin (`_scan`). Episodes of hosts, ranks and of a single series must also be longer than
    usual stretches, because regimes persist by nature.
    """
    if not durations.size or not 0 < slow < n_regimes:
        return pl.DataFrame(schema=SCHEMA)
    seen = Slow.from_states(durations, states, range(n_regimes - slow, n_regimes), hosts)
    instances = durations.shape[1]
    machine, base = _find_machine(seen)
    report = EpisodeCollector(durations, seen, starts)
    report.add("machine", None, np.arange(len(durations)), machine)
    calm = ~find_covered(machine, instances)
    quiet = np.tile(calm, (len(seen.names), 1))
    if len(seen.names) > 1:
        for index, name in enumerate(seen.names):
            if name is not None:
                found = _find_host(seen, index, base, calm)
                quiet[index] &= ~find_covered(found, instances)
                report.add("host", name, np.flatnonzero(seen.group == index), found)
    if len(durations) > 1 and seen.stretches >= _KNOWN:
        for row, rank in enumerate(ranks.tolist()):
            found = _find_rank(seen, row, base, quiet[seen.group[row]])
            report.add("rank", str(rank), np.array([row]), found)
    return report.frame()


def _find_machine(seen: Slow) -> tuple[Stretches, float]:
    """Return the machine's stretches, and the rate of bad instances outside of them.

    The base rate is first that of all instances, then that of the calm ones.
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
        base = _rate(seen, ~find_covered(found, seen.there.shape[1]))
    return found, base


def _steps(seen: Slow, base: float, stays: float) -> Floats:
    """Return the score of each instance as evidence for a slow machine."""
    share = seen.typical_share()
    event, absence = scores(base, stays)
    steps: Floats = seen.there.sum(axis=0) * (share * event + (1 - share) * absence)
    return steps


def _rate(seen: Slow, where: Flags) -> float:
    return float((seen.bad[:, where].sum() + 1) / (seen.there[:, where].sum() + 2))


def _find_host(seen: Slow, index: int, base: float, counted: Flags) -> Stretches:
    event, absence = scores(base, seen.stays)
    bad, there = seen.bad[index], seen.there[index]
    steps = (bad * event + (there - bad) * absence) * counted
    return stretches(steps.tolist(), bar(seen.bad.size))


def _find_rank(seen: Slow, row: int, base: float, counted: Flags) -> Stretches:
    events = seen.events[row]
    there = counted & seen.exists[row]
    own = float((np.count_nonzero(events & there) + 1) / (np.count_nonzero(there) + 2))
    return stretches_of_row(events, there, scores(max(base, own), seen.stays), bar(seen.events.size))


class EpisodeCollector:
    """Collects episodes."""

    def __init__(self, durations: Floats, seen: Slow, starts: Floats | None) -> None:
        self._durations, self._seen, self._starts = durations, seen, starts
        self._rows: list[dict[str, object]] = []

    def add(self, kind: str, who: str | None, rows: Integers, found: Sequence[tuple[int, int]]) -> None:
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

    def _sums(self, rows: Integers) -> tuple[Floats, ...]:
        """Return bad instances, instances, and seconds lost by the average rank, by instance."""
        seen = self._seen
        if rows.size == 1:
            row = rows[0]
            there = seen.exists[row]
            excess = np.where(there, self._durations[row] - seen.usual[row], 0)
            return seen.events[row], there, excess
        groups = np.unique(seen.group[rows])
        bad, there, excess = (part[groups].sum(axis=0) for part in (seen.bad, seen.there, seen.excess))
        return bad, there, excess / np.maximum(there, 1)

    def _times(self, rows: Integers, first: Integers, last: Integers) -> tuple[Floats, Floats]:
        """Return begin and length, from the first of these ranks to the last; NaN: unknown."""
        if self._starts is None:
            unknown = np.full(first.size, np.nan)
            return unknown, unknown
        begin = np.fmin.reduce(self._starts[np.ix_(rows, first)], axis=0)
        ends = np.ix_(rows, last)
        end = np.fmax.reduce(self._starts[ends] + self._durations[ends], axis=0)
        return begin, end - begin

    def frame(self) -> pl.DataFrame:
        """Return the episodes: the machine's, then hosts', then ranks'; the largest loss first."""
        kinds = pl.col("kind").replace_strict({"machine": 0, "host": 1, "rank": 2})
        table = pl.DataFrame(self._rows, schema=SCHEMA, infer_schema_length=None)
        return table.with_columns(pl.col("start", "duration").fill_nan(None)).sort(
            kinds, pl.col("lost").neg(), "first", maintain_order=True
        )


def _running(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))


def chance_peak(seen: Slow, steps: Callable[[Slow], Floats]) -> float:
    """Return a score that rotated runs rarely reach; `steps` scores each instance of a run."""
    number = int(np.clip(_POINTS // max(seen.events.size, 1), _FEWEST, _MOST))
    random = np.random.default_rng(0)
    peaks = np.sort([peak(steps(_rotate(seen, random))) for _ in range(number)])
    return float(peaks[int(np.ceil((1 - _CHANCE) * (number + 1))) - 1])


def peak(steps: Floats) -> float:
    """Return the largest sum of steps in a row."""
    total = np.concatenate(([0.0], np.cumsum(steps)))
    return float((total - np.minimum.accumulate(total)).max())


def _rotate(seen: Slow, random: np.random.Generator) -> Slow:
    """Return the counts of a run in which each rank's instances are rotated by a random number."""
    bad = np.zeros_like(seen.bad)
    ends = np.maximum(seen.exists.shape[1] - seen.exists[:, ::-1].argmax(axis=1), 1)
    shifts = random.integers(0, ends)
    for row, (end, shift) in enumerate(zip(ends.tolist(), shifts.tolist(), strict=True)):
        events, counts = seen.events[row], bad[seen.group[row]]
        counts[shift:end] += events[: end - shift]
        counts[:shift] += events[end - shift : end]
    return replace(seen, bad=bad)
