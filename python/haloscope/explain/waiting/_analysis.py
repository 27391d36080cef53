"""What a trace tells about waiting: all questions share what is worked out once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from haloscope.explain.waiting._critical import critical_path
from haloscope.explain.waiting._delays import delay_costs
from haloscope.explain.waiting._dependencies import Dependencies, dependencies
from haloscope.explain.waiting._edges import as_recorded, ideal
from haloscope.explain.waiting._efficiency import Efficiency, efficiency
from haloscope.explain.waiting._graph import Tape, tape
from haloscope.explain.waiting._matching import Matches, matched
from haloscope.explain.waiting._states import wait_states
from haloscope.explain.waiting._stretches import Stretches, stretches
from haloscope.explain.waiting._timeline import Timeline
from haloscope.explain.waiting._tolerance import Pieces, pieces, tolerated, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from haloscope.explain.trace import Trace

__all__ = ["Analysis"]

_NANOSECONDS = 1e9


class Analysis:
    """Wait states, their causes, the critical path, efficiencies and the tolerance of latency of one trace.

    Times are seconds, `path` a row of the trace's `paths`, without the regions inside. Nothing is worked out
    before it is asked for. A collective takes as many latencies as a tree of its ranks is high; without
    `is_tree` one, as `haloscope inject` has it.
    """

    def __init__(self, trace: Trace, *, is_tree: bool = True) -> None:
        self.trace = trace
        self._is_tree = is_tree

    @cached_property
    def waits(self) -> pl.DataFrame:
        """Who waited for whom: `path`, `kind`, `rank`, `partner`, `waits` (how many), `time`, `time_max`.

        `partner` came late; it is null for `barrier_completion`, `nxn_completion` and for `other`, the time
        in MPI that was neither. The kinds together are the time in MPI.
        """
        timeline, states = self._timeline, self._states
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
                pl.len().cast(pl.Int64).alias("waits"), time.sum().alias("time"), time.max().alias("time_max")
            )
        )
        return rows.with_columns(pl.col("path", "rank", "partner").cast(pl.Int64)).sort(keys)

    @cached_property
    def delays(self) -> pl.DataFrame:
        """Who caused the waiting: `path`, `rank`, `direct`, `indirect` and `cost`, their sum.

        `direct` is the waiting of those who waited for this rank, `indirect` that of others who waited
        because of them. All costs together are all waiting, completions apart.
        """
        rows = delay_costs(self._timeline, self._stretches, self._states, self._matches)
        both = [pl.col(name) / _NANOSECONDS for name in ("direct", "indirect")]
        cost = (pl.col("direct") + pl.col("indirect")).alias("cost") / _NANOSECONDS
        return rows.with_columns(*both, cost)

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """Where the critical path went: `path`, `rank`, `time`, `mpi_time` (in MPI), `share` of the run."""
        rows = critical_path(self._timeline, self._stretches, self._states)
        times = [pl.col(name) / _NANOSECONDS for name in ("time", "mpi_time")]
        return rows.with_columns(*times, (pl.col("time") / max(self._timeline.duration, 1)).alias("share"))

    @cached_property
    def efficiency(self) -> Efficiency | None:
        """POP's efficiencies; None for a trace in which nobody computes."""
        return efficiency(self._timeline, self._stretches, self._ideal.length)

    @property
    def run_time(self) -> float:
        """From the first to the last event of all."""
        return self._timeline.duration / _NANOSECONDS

    def run_time_with(self, latency: float) -> Pieces:
        """Return how long the run takes with up to `latency` (s) added to each of its latencies, exactly."""
        return pieces(self._tape, self._tape.every, latency * _NANOSECONDS).scaled(1 / _NANOSECONDS)

    def tolerance(
        self, regions: Sequence[NDArray[np.bool_]], longer: Sequence[float] = (0.01, 0.02, 0.05)
    ) -> pl.DataFrame:
        """Return for each of some `regions`, masks over the paths, what latency it tolerates.

        `latencies`: how many are on the critical path; `latency_0`, `latency_1`, …: what can be added to each
        of its messages until the run takes longer by these shares (s; null: any latency); `without_waiting`:
        how long the run would take if nobody waited there (s).
        """
        most, slopes = tolerated(self._tape, regions, longer)
        columns = {
            f"latency_{i}": [None if np.isinf(x) else x / _NANOSECONDS for x in most[:, i]]
            for i in range(len(longer))
        }
        return pl.DataFrame(
            {"latencies": slopes, **columns, "without_waiting": without(self._tape, regions) / _NANOSECONDS},
            schema_overrides=dict.fromkeys(columns, pl.Float64),
        )

    @property
    def remarks(self) -> list[str]:
        """What could not be taken into account, in sentences."""
        lost, counts = self._matches.unmatched, []
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
            (self._timeline.jumps, "calls were moved, as their clock went back"),
            (self._tape.circles, "waits were left out, as all waited for each other: clocks differ"),
        ]
        return [f"{count} {text}" for count, text in counts if count]

    @cached_property
    def _timeline(self) -> Timeline:
        return Timeline.of(self.trace)

    @cached_property
    def _matches(self) -> Matches:
        return matched(self.trace)

    @cached_property
    def _depends(self) -> Dependencies:
        return dependencies(self._timeline, self._matches)

    @cached_property
    def _states(self) -> pl.DataFrame:
        return wait_states(self._timeline, self._depends)

    @cached_property
    def _stretches(self) -> Stretches:
        return stretches(self._timeline, self._states)

    @cached_property
    def _tape(self) -> Tape:
        return tape(
            self._timeline, as_recorded(self.trace, self._timeline, self._depends, is_tree=self._is_tree)
        )

    @cached_property
    def _ideal(self) -> Tape:
        return tape(self._timeline, ideal(self._timeline, self._depends))
