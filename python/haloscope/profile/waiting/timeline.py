"""The calls of a trace by location, a thread of a rank, with times that never go back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers, Integers32
from haloscope.profile.trace import Trace


@dataclass(frozen=True)
class Timeline:
    """A trace's calls, a row each and in the trace's order, and its visits of regions, by location.

    `locations` has `rank` and `thread`, the first thread of a rank first; `location` of a call is a row of
    it. Times are nanoseconds. `first_call` and `first_visit`, (locations + 1,), are the begins of each
    location's rows. `jumps` counts calls whose times were moved because a clock went back.
    """

    locations: pl.DataFrame
    location: Integers32
    begin: Integers
    end: Integers
    path: Integers32
    names: pl.Series
    first_call: Integers
    visits: pl.DataFrame
    first_visit: Integers
    parents: Integers
    jumps: int

    @classmethod
    def from_trace(cls, trace: Trace) -> Timeline:
        """Return the timeline of a trace, whose calls and regions are sorted by rank and thread."""
        where = ["rank", "thread"]
        runs = trace.runs.with_columns(pl.lit(0, pl.Int32).alias("thread"))
        every = [frame.select(where) for frame in (trace.calls, trace.regions, runs)]
        locations = pl.concat(every).unique().sort(where)
        locations = locations.with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("location"))
        calls = _locate_rows(trace.calls, locations).select("location", "begin", "end", "path", "call")
        moved = _forwards(calls)
        jumps = int(((moved["begin"] != calls["begin"]) | (moved["end"] != calls["end"])).sum())
        regions = _locate_rows(trace.regions, locations).select("location", "begin", "end", "path")
        inside = pl.concat(
            [moved.with_columns(calls["location"]), regions.select("begin", "end", "location")]
        )
        visits = pl.concat([_locate_programs(trace.runs, locations, inside), regions])
        # Cutting needs visits in the order of their begins; a visit does not end before its begin.
        visits = visits.with_columns(pl.max_horizontal("begin", "end").alias("end"))
        visits = visits.sort("location", "begin", maintain_order=True)
        count = len(locations)
        return cls(
            locations=locations.select(where),
            location=calls["location"].to_numpy(),
            begin=moved["begin"].to_numpy(),
            end=moved["end"].to_numpy(),
            path=calls["path"].cast(pl.Int32).to_numpy(),
            names=calls["call"].cast(pl.String),
            first_call=ranges(calls["location"].to_numpy(), count),
            visits=visits,
            first_visit=ranges(visits["location"].to_numpy(), count),
            parents=trace.paths["parent"].cast(pl.Int64).to_numpy(),
            jumps=jumps,
        )

    @property
    def ranks(self) -> Integers32:
        """The rank of each location, (locations,)."""
        return self.locations["rank"].to_numpy()

    @property
    def paths(self) -> int:
        """The number of paths."""
        return len(self.parents)

    @cached_property
    def start(self) -> int:
        """The earliest time of all (ns)."""
        return int(min(self._firsts, default=0))

    @cached_property
    def last(self) -> Integers:
        """The time of each location's last event (ns), (locations,)."""
        last = np.full(len(self.locations), self.start)
        np.maximum.at(last, self.location, self.end)
        visits = self.visits
        np.maximum.at(last, visits["location"].to_numpy(), visits["end"].to_numpy())
        return last

    @property
    def duration(self) -> int:
        """The duration of the run (ns): if its runs are unknown, from the first to the last event."""
        return int(self.last.max() - self.start) if len(self.locations) else 0

    @property
    def _firsts(self) -> list[int]:
        columns = (self.begin, self.visits["begin"].to_numpy())
        return [int(column.min()) for column in columns if len(column)]


def ranges(sorted_places: Integers32, count: int) -> Integers:
    """Return the index of the first of each of `count` numbers in a sorted array, then the array's length."""
    return np.searchsorted(sorted_places, np.arange(count + 1)).astype(np.int64)


def _locate_rows(frame: pl.DataFrame, locations: pl.DataFrame) -> pl.DataFrame:
    return frame.join(locations, on=["rank", "thread"], how="left", maintain_order="left")


def _locate_programs(runs: pl.DataFrame, locations: pl.DataFrame, inside: pl.DataFrame) -> pl.DataFrame:
    """Return the visits of the program, one by the first thread of each rank, around all that it did."""
    first = locations.unique("rank", keep="first", maintain_order=True)
    spans = inside.group_by("location").agg(pl.col("begin").min(), pl.col("end").max())
    rows = runs.join(first, on="rank").join(spans, on="location", how="left", suffix="_inside")
    return rows.select(
        "location",
        pl.min_horizontal("begin", "begin_inside"),
        pl.max_horizontal("end", "end_inside"),
        pl.lit(0, pl.Int32).alias("path"),
    )


def _forwards(calls: pl.DataFrame) -> pl.DataFrame:
    """Return begins and ends that never go back within a location."""
    begins_and_ends = np.empty(2 * len(calls), dtype=np.int64)
    begins_and_ends[0::2], begins_and_ends[1::2] = calls["begin"].to_numpy(), calls["end"].to_numpy()
    marks = pl.DataFrame(
        {"location": np.repeat(calls["location"].to_numpy(), 2), "time": begins_and_ends}
    ).select(pl.col("time").cum_max().over("location"))
    times = marks["time"].to_numpy()
    return pl.DataFrame({"begin": times[0::2], "end": times[1::2]})
