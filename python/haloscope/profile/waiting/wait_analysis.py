"""What a trace tells about waiting: all questions share what is worked out once."""

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
from haloscope.profile.waiting.edges import Unit, as_recorded, ideal
from haloscope.profile.waiting.efficiency import Efficiency, efficiency
from haloscope.profile.waiting.graph import Edges, Tape, tape
from haloscope.profile.waiting.matching import Matches, match_trace
from haloscope.profile.waiting.states import wait_states
from haloscope.profile.waiting.stretches import Stretches, stretches
from haloscope.profile.waiting.timeline import Timeline
from haloscope.profile.waiting.tolerance import Pieces, find_length_without_waiting, find_tolerance, pieces

__all__ = ["WaitAnalysis", "analyse_waiting"]

_NANOSECONDS = 1e9


class WaitAnalysis:
    """Wait states, their causes, the critical path, efficiencies and the tolerance of latency of one trace.

    Times are seconds, `path` a row of the trace's `paths`, without the regions inside. Nothing is worked out
    before it is asked for. A `Unit` is what something is added to: each latency, of which a collective takes
    as many as a tree of its ranks is high, or each byte. With `is_injected` latencies are those of `haloscope
    inject`.
    """

    def __init__(self, trace: Trace, *, is_injected: bool = False) -> None:
        self.trace = trace
        self._is_injected = is_injected
        self._tapes: dict[Unit, Tape] = {}

    @cached_property
    def waits(self) -> pl.DataFrame:
        """Who waited for whom: `path`, `kind`, `rank`, `partner`, `waits` (how many), `time` and two of them.

        `time_median` and `time_max` are of single waits. `partner` came late; it is null for
        `barrier_completion`, `nxn_completion` and for `other`, the time in MPI that was neither. The kinds
        together are the time in MPI.
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
        others = pl.DataFrame({"path": timeline.path, "rank": rank, "time": rest}).select(
            "path", pl.lit("other").alias("kind"), "rank", pl.lit(None, pl.Int32).alias("partner"), "time"
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
        """Who caused the waiting: `path`, `rank`, `direct`, `indirect` and `cost`, their sum.

        `direct` is the waiting of those who waited for this rank, `indirect` that of others who waited
        because of them. All costs together are all waiting, completions apart.
        """
        rows = delay_costs(self.timeline, self._stretches, self.states, self.matches)
        both = [pl.col(name) / _NANOSECONDS for name in ("direct", "indirect")]
        cost = (pl.col("direct") + pl.col("indirect")).alias("cost") / _NANOSECONDS
        return rows.with_columns(*both, cost)

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """Where the critical path went: `path`, `rank`, `time`, `mpi_time` (in MPI), `share` of the run."""
        rows = critical_path(self.timeline, self._stretches, self.states)
        times = [pl.col(name) / _NANOSECONDS for name in ("time", "mpi_time")]
        return rows.with_columns(*times, (pl.col("time") / max(self.timeline.duration, 1)).alias("share"))

    @cached_property
    def efficiency(self) -> Efficiency | None:
        """POP's efficiencies; None for a trace in which nobody computes."""
        return efficiency(self.timeline, self._stretches, self._ideal.length)

    @property
    def run_time(self) -> float:
        """From the first to the last event of all."""
        return self.timeline.duration / _NANOSECONDS

    def run_time_with(self, most: float, unit: Unit = "latency") -> Pieces:
        """Return how long the run takes with up to `most` (s) added to each latency, or byte, exactly."""
        played = self._tape(unit)
        return pieces(played, played.every, most * _NANOSECONDS).scaled(1 / _NANOSECONDS)

    def tolerance(
        self, regions: Sequence[Flags], longer: Sequence[float] = (0.01, 0.02, 0.05), unit: Unit = "latency"
    ) -> pl.DataFrame:
        """Return for each of some `regions`, masks over the paths, what it tolerates.

        `units`: how many latencies, or bytes, of it are on the critical path; `most_0`, `most_1`, …: what can
        be added to each until the run takes longer by these shares (s; null: any).
        """
        most, slopes = find_tolerance(self._tape(unit), regions, longer)
        columns = {
            f"most_{i}": [None if np.isinf(x) else x / _NANOSECONDS for x in most[:, i]]
            for i in range(len(longer))
        }
        return pl.DataFrame({"units": slopes, **columns}, schema_overrides=dict.fromkeys(columns, pl.Float64))

    def without_waiting(self, regions: Sequence[Flags]) -> Floats:
        """Return how long the run would take (s) if nobody waited in a region, for each of some masks."""
        return find_length_without_waiting(self._tape("latency"), regions) / _NANOSECONDS

    def graph(self, unit: Unit = "latency") -> Edges:
        """Return the event graph, whose longest path takes as long as the run did."""
        return as_recorded(self.trace, self.timeline, self._depends, unit, is_injected=self._is_injected)

    @property
    def remarks(self) -> list[str]:
        """What could not be taken into account, in sentences."""
        lost, counts = self.matches.unmatched, []
        events = int(self.trace.dropped["events"].sum()) if len(self.trace.dropped) else 0
        counts += [(events, "events were dropped when the trace was recorded")]
        counts += [
            (lost["sends"], "sends have no receive that is known"),
            (lost["receives"], "receives have no send that is known"),
            (lost["differing_messages"], "messages were left out, as sender and receiver know another size"),
            (lost["collectives"], "parts of collectives were left out, as not all ranks' parts are known"),
            (lost["other_collectives"], "parts of collectives of another kind were left out"),
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
        return Timeline.of(self.trace)

    @cached_property
    def matches(self) -> Matches:
        """Which send belongs to which receive, and who took part in which collective."""
        return match_trace(self.trace)

    @cached_property
    def _depends(self) -> Dependencies:
        return dependencies(self.timeline, self.matches)

    @cached_property
    def states(self) -> pl.DataFrame:
        """What each call waited for: `call` and `cause` (rows of the timeline), `kind`, `time` (ns)."""
        return wait_states(self.timeline, self._depends)

    @cached_property
    def _stretches(self) -> Stretches:
        return stretches(self.timeline, self.states)

    def _tape(self, unit: Unit) -> Tape:
        if unit not in self._tapes:
            self._tapes[unit] = tape(self.timeline, self.graph(unit))
        return self._tapes[unit]

    @cached_property
    def _ideal(self) -> Tape:
        return tape(self.timeline, ideal(self.timeline, self._depends))


def analyse_waiting(profile: ProfileData) -> WaitAnalysis:
    """Return the analysis of the trace of a profile. Raises `UsageError` without one, `ProfileError`."""
    return WaitAnalysis(read_trace(profile))
