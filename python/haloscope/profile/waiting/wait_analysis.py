"""The analysis of waiting in a trace; intermediate results are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Floats
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.trace_tables import Trace
from haloscope.profile.trace.from_profile import read_trace
from haloscope.profile.waiting.critical import critical_path
from haloscope.profile.waiting.delays import delay_costs
from haloscope.profile.waiting.dependencies import Dependencies, dependencies
from haloscope.profile.waiting.edges import Unit, build_ideal_edges, build_recorded_edges
from haloscope.profile.waiting.efficiency import Efficiency, efficiency
from haloscope.profile.waiting.graph import Edges, Tape, tape
from haloscope.profile.waiting.matching import Matches, match_trace
from haloscope.profile.waiting.polling import find_polls, mark_gaps
from haloscope.profile.waiting.states import wait_states
from haloscope.profile.waiting.stretches import Stretches, stretches
from haloscope.profile.waiting.timeline import Timeline
from haloscope.profile.waiting.tolerance import Pieces, find_length_without_waiting, find_tolerance, pieces

_NANOSECONDS = 1e9


class WaitAnalysis:
    """Wait states, their causes, the critical path, efficiencies and the tolerance of latency of one trace.

    Times are seconds, `path` is a row of the trace's `paths`, exclusive. Results are computed on first use. A
    `Unit` is a latency or a byte; a collective has the height of a tree of its ranks as latencies. With
    `is_injected` latencies are those of `haloscope inject`.
    """

    def __init__(self, trace: Trace, *, is_injected: bool = False) -> None:
        self.trace = trace
        self._is_injected = is_injected
        self._tapes: dict[Unit, Tape] = {}

    @cached_property
    def waits(self) -> pl.DataFrame:
        """The waits: `path`, `kind`, `rank`, `partner`, `waits`, `time`, `time_median` and `time_max`.

        `waits` is their number, `time` the sum, the last two are of single waits. `partner` was late; it is
        null for `barrier_completion`, `nxn_completion`, `polling` and for `other`, the rest of the time in
        MPI. The sum of all kinds is the time in MPI.
        """
        timeline, states = self.timeline, self.states
        call, cause = states["call"].to_numpy(), states["cause"].to_numpy()
        rank = timeline.ranks[timeline.location]
        found = pl.DataFrame(
            {
                "path": timeline.path[call],
                "kind": states["kind"],
                "rank": rank[call],
                "partner": pl.Series(rank[np.maximum(cause, 0)]).set(pl.Series(cause < 0), None),
                "time": states["time"],
            }
        )
        rest = timeline.end - timeline.begin
        np.subtract.at(rest, call, states["time"].to_numpy())
        kind = pl.Series("kind", np.where(find_polls(timeline), "polling", "other"), dtype=pl.String)
        others = pl.DataFrame({"path": timeline.path, "rank": rank, "time": rest}).select(
            "path", kind, "rank", pl.lit(None, pl.Int32).alias("partner"), "time"
        )
        keys = ["path", "kind", "rank", "partner"]
        time = pl.col("time") / _NANOSECONDS
        rows = (
            pl.concat([found, others])
            .group_by(keys)
            .agg(
                pl.len().cast(pl.Int64).alias("waits"),
                time.sum().alias("time"),
                time.median().alias("time_median"),
                time.max().alias("time_max"),
            )
        )
        return rows.with_columns(pl.col("path", "rank", "partner").cast(pl.Int64)).sort(keys)

    @cached_property
    def delays(self) -> pl.DataFrame:
        """Causes of waiting: `path`, `rank`, `direct`, `indirect` and `cost`, their sum.

        `direct` is the waiting of ranks that waited for this rank, `indirect` that of others that waited
        because of them. The sum of all costs is all waiting, without completions.
        """
        rows = delay_costs(self.timeline, self._stretches, self.states, self.matches)
        both = [pl.col(name) / _NANOSECONDS for name in ("direct", "indirect")]
        cost = (pl.col("direct") + pl.col("indirect")).alias("cost") / _NANOSECONDS
        return rows.with_columns(*both, cost)

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """The critical path: `path`, `rank`, `time`, `mpi_time` (in MPI), `share` of the run."""
        rows = critical_path(self.timeline, self._stretches, self.states)
        times = [pl.col(name) / _NANOSECONDS for name in ("time", "mpi_time")]
        return rows.with_columns(*times, (pl.col("time") / max(self.timeline.duration, 1)).alias("share"))

    @cached_property
    def efficiency(self) -> Efficiency | None:
        """POP's efficiencies; None for a trace without computing."""
        return efficiency(self.timeline, self._stretches, self._ideal.length)

    @property
    def run_time(self) -> float:
        """The time (s) from the first MPI_Init to the last MPI_Finalize, else between events."""
        return self.timeline.duration / _NANOSECONDS

    def run_time_with(self, most: float, unit: Unit = "latency") -> Pieces:
        """Return the exact length of the run with up to `most` (s) added per latency, or per byte."""
        played = self._tape(unit)
        return pieces(played, played.all_roles, most * _NANOSECONDS).scale(1 / _NANOSECONDS)

    def tolerance(
        self, regions: Sequence[Flags], longer: Sequence[float] = (0.01, 0.02, 0.05), unit: Unit = "latency"
    ) -> pl.DataFrame:
        """Return the tolerance of each of `regions`, which are masks over the paths.

        `units`: the number of its latencies, or bytes, on the critical path; `most_0`, `most_1`, …: the time
        (s) that can be added to each until the run is longer by these shares (null: any).
        """
        most, slopes = find_tolerance(self._tape(unit), regions, longer)
        columns = {
            f"most_{i}": [None if np.isinf(x) else x / _NANOSECONDS for x in most[:, i]]
            for i in range(len(longer))
        }
        return pl.DataFrame({"units": slopes, **columns}, schema_overrides=dict.fromkeys(columns, pl.Float64))

    def compute_without_waiting(self, regions: Sequence[Flags]) -> Floats:
        """Return the run's length (s) without waiting in a region, for each mask of regions."""
        return find_length_without_waiting(self._tape("latency"), regions) / _NANOSECONDS

    def graph(self, unit: Unit = "latency") -> Edges:
        """Return the event graph, whose longest path has the length of the run."""
        return build_recorded_edges(
            self.trace, self.timeline, self._depends, unit, is_injected=self._is_injected
        )

    @property
    def remarks(self) -> list[str]:
        """Sentences on data that the analysis leaves out."""
        lost, counts = self.matches.unmatched, []
        events = int(self.trace.dropped["events"].sum()) if len(self.trace.dropped) else 0
        counts += [(events, "events were dropped when the trace was recorded")]
        counts += [
            (lost["sends"], "sends have no known receive"),
            (lost["receives"], "receives have no known send"),
            (
                lost["differing_messages"],
                "messages were left out, as sender and receiver have different sizes",
            ),
            (lost["collectives"], "parts of collectives were left out, as parts of other ranks are unknown"),
            (lost["other_collectives"], "parts of other kinds of collectives were left out"),
            (
                self._depends.reversed,
                "messages arrive before they were sent, and were left out: clocks differ",
            ),
            (self.timeline.jumps, "calls were moved, as their clock went back"),
            (
                self._tape("latency").circles,
                "waits were left out, as all waited for each other: clocks differ",
            ),
        ]
        return [f"{count} {text}" for count, text in counts if count]

    @cached_property
    def timeline(self) -> Timeline:
        """The calls by location."""
        return Timeline.from_trace(self.trace)

    @cached_property
    def matches(self) -> Matches:
        """The matches of sends with receives, and of ranks with collectives."""
        return match_trace(self.trace)

    @cached_property
    def _depends(self) -> Dependencies:
        return dependencies(self.timeline, self.matches)

    @cached_property
    def states(self) -> pl.DataFrame:
        """The wait of each call: `call` and `cause` (rows of the timeline), `kind`, `time` (ns)."""
        return wait_states(self.timeline, self._depends)

    @cached_property
    def _stretches(self) -> Stretches:
        return mark_gaps(self.timeline, stretches(self.timeline, self.states))

    def _tape(self, unit: Unit) -> Tape:
        if unit not in self._tapes:
            self._tapes[unit] = tape(self.timeline, self.graph(unit))
        return self._tapes[unit]

    @cached_property
    def _ideal(self) -> Tape:
        return tape(self.timeline, build_ideal_edges(self.timeline, self._depends))


def analyse_waiting(profile: ProfileData) -> WaitAnalysis:
    """Return the analysis of the trace of a profile. Raises `UsageError` without one, `ProfileError`."""
    return WaitAnalysis(read_trace(profile))
