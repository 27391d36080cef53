"""An OTF2 archive as a profile: tables from its events."""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.profile.importing.foreign_tables import Foreign, path_rows
from haloscope.profile.importing.mpi_functions import FAMILIES, kinds_of
from haloscope.profile.importing.otf2_archive import KINDS, Archive, take_apart
from haloscope.profile.importing.otf2_events import ArchiveEvents, read_events
from haloscope.profile.importing.otf2_trace import trace_of
from haloscope.profile.importing.otf2_world import ArchiveWorld
from haloscope.profile.store.tree import RegionTree, roll_up
from haloscope.profile.trace import Trace

_SENDS, _RECEIVES, _COLLECTIVES = (
    [KINDS.index(kind) for kind in kinds.split()]
    for kinds in ("send post_send", "receive received", "end_collective collective")
)
_OPERATIONS = (
    "Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw"
    " Allreduce Reduce Reduce_scatter Scan Exscan Reduce_scatter_block"
).split()
_OUTSIDE = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init", "MPI_Session_finalize")
_MOST_SLICES, _LEAST_SLICE = 256, 10**6  # nanoseconds
_SECOND = 1e-9


def read_otf2(path: Path, anchor: Path) -> Foreign:
    """Return the profile of the archive with the file `anchor`. Raises `ProfileError`, `ComponentError`."""
    archive = take_apart(path, anchor)
    world = ArchiveWorld(archive)
    events = read_events(archive, world)
    source = "an OTF2 archive" + (f" that is damaged ({events.remarks[0]})" if events.remarks else "")
    unknown = _unknown(events)
    if unknown and not events.remarks:
        source += f" ({unknown})"
    remarks = [*events.remarks, *([unknown] if unknown else [])]
    metadata = {f"otf2.remark.{number}": text for number, text in enumerate(remarks, 1)}
    information = {
        "program": _program(archive),
        "ranks": world.size,
        "start": _read_start(archive),
        "duration": _seconds((events.spans["end"] - events.spans["begin"]).max()),
        "exact_times": True,
        "source": source,
        "metadata": metadata,
    }
    tables = cache(lambda: _Tables(archive, world, events))
    return Foreign(
        path, source, information, load=lambda: tables().build_all(), own_trace=lambda: tables().trace()
    )


def _unknown(events: ArchiveEvents) -> str:
    """Return a text on messages without a known partner, empty if there are none."""
    of_messages = events.moments.filter(pl.col("kind").is_in([*_SENDS, *_RECEIVES]))
    count = int((of_messages["partner"] < 0).sum())
    return (
        f"{count} sends and receives are left out: their partner is no rank that it defines" if count else ""
    )


def _seconds(nanoseconds: Any) -> float | None:
    return None if nanoseconds is None else nanoseconds * _SECOND


def _program(archive: Archive) -> str | None:
    """Return the name of the system's root, which some tools set to the program."""
    roots = [node for node in archive.nodes.values() if node["parent"] not in archive.nodes]
    if len(roots) == 1 and roots[0]["name"] == roots[0]["class"]:
        return archive.text(roots[0]["name"])
    return None


def _read_start(archive: Archive) -> float | None:
    """Return the begin of the clock, seconds since 1970, None if the archive does not have it."""
    began = archive.clock.get("start", 0)
    return began * _SECOND if 0 < began < 2**63 else None


class _Tables:
    """Computes the tables."""

    def __init__(self, archive: Archive, world: ArchiveWorld, events: ArchiveEvents) -> None:
        self.world, self.events, self.archive = world, events, archive
        parents = pl.Series(events.parents, dtype=pl.Int64).to_numpy()
        self.tree = RegionTree(events.names, parents, parents * 0)
        kinds = kinds_of(events.calls["call"])
        spans = events.spans.select("rank", pl.col("begin").alias("first"), pl.col("end").alias("last"))
        numbered = events.calls.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
        self.calls = (
            numbered.join(kinds, on="call", how="left", maintain_order="left")
            .join(spans, on="rank", how="left", maintain_order="left")
            .filter(~pl.col("call").is_in(_OUTSIDE))
            .filter((pl.col("begin") >= pl.col("first")) & (pl.col("end") <= pl.col("last")))
            .with_columns(((pl.col("end") - pl.col("begin")) * _SECOND).alias("seconds"))
        )
        moments = events.moments.join(
            self.calls.select("row", "call", "family", "seconds"), on="row", how="left", maintain_order="left"
        )
        self.sends = moments.filter(pl.col("kind").is_in(_SENDS) & (pl.col("partner") >= 0))
        self.receives = moments.filter(pl.col("kind").is_in(_RECEIVES) & (pl.col("partner") >= 0))
        self.collectives = moments.filter(pl.col("kind").is_in(_COLLECTIVES)).pipe(self._name_operations)

    def _name_operations(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return collectives with `operation` and `comm_size`, without those that only create a handle."""
        names = dict(enumerate(_OPERATIONS))
        sizes = {number: self.world.size_of(number) for number in rows["communicator"].unique().to_list()}
        operation = pl.col("tag").replace_strict(names, default=None, return_dtype=pl.String)
        size = pl.col("communicator").replace_strict(sizes, default=None, return_dtype=pl.Int64)
        return rows.with_columns(operation.alias("operation"), size.alias("comm_size")).drop_nulls(
            "operation"
        )

    def build_all(self) -> dict[str, pl.DataFrame]:
        """Return the stored tables that can be computed from an archive."""
        shares = self._shares()
        return {
            "paths": path_rows(self.events.names, self.events.parents, [False] * len(self.events.names)),
            "processes": self._processes(),
            "ranks": self._ranks(),
            "calls": self._calls(),
            "partners": self._partners(shares),
            "sizes": self._sizes(shares),
            "collectives": self._collectives(),
            "communicators": self._communicators(),
            "slices": self._slices(),
        }

    def trace(self) -> Trace:
        """Return the archive as a trace."""
        return trace_of(self.events, self.world, self.calls, self.collectives, self._processes())

    def _processes(self) -> pl.DataFrame:
        threads: dict[int, int] = {}
        for rank, _ in self.world.ranks.values():
            threads[rank] = threads.get(rank, 0) + 1
        ranks = range(self.world.size)
        rows = pl.DataFrame(
            {
                "rank": ranks,
                "host": [self.world.host(rank) for rank in ranks],
                "threads": [threads.get(r) for r in ranks],
            },
            schema={"rank": pl.Int64, "host": pl.String, "threads": pl.Int64},
        )
        spans = self.events.spans.select(
            "rank", ((pl.col("end") - pl.col("begin")) * _SECOND).alias("duration")
        )
        return rows.join(spans, on="rank", how="left", maintain_order="left")

    def _ranks(self) -> pl.DataFrame:
        keys = ["path", "rank"]
        times = self.calls.group_by(keys).agg(
            *(
                pl.col("seconds").filter(pl.col("family") == name).sum().alias(f"{name}_time")
                for name in FAMILIES
            ),
            pl.col("seconds").filter("waits").sum().alias("wait_time"),
        )
        sent = self.sends.group_by(keys).agg(
            pl.len().alias("sends"),
            pl.col("bytes").sum().alias("bytes_sent"),
            pl.col("bytes").max().alias("largest_message"),
        )
        received = self.receives.group_by(keys).agg(
            pl.len().alias("recvs"), pl.col("bytes").sum().alias("bytes_recv")
        )
        collective = self.collectives.group_by(keys).agg(
            pl.len().alias("colls"), pl.col("bytes").sum().alias("coll_bytes")
        )
        rows = self._sum_visits()
        for part in (times, sent, received, collective, *self._distinct()):
            rows = rows.join(part, on=keys, how="left", maintain_order="left")
        return rows.with_columns(pl.exclude(*keys, "time").fill_null(0))

    def _sum_visits(self) -> pl.DataFrame:
        """Return `path`, `rank`, `time` and `instances` of the program and of regions that a rank entered."""
        whole = self.events.spans.select(
            pl.lit(0, pl.Int64).alias("path"),
            pl.col("rank"),
            ((pl.col("end") - pl.col("begin")) * _SECOND).alias("time"),
            pl.lit(1, pl.Int64).alias("instances"),
        )
        visits = self.events.visits.group_by("path", "rank", maintain_order=True).agg(
            ((pl.col("end") - pl.col("begin")) * _SECOND).sum().alias("time"),
            pl.len().cast(pl.Int64).alias("instances"),
        )
        return pl.concat([whole, visits])

    def _distinct(self) -> list[pl.DataFrame]:
        """Return the number of distinct partners of each region and rank, exclusive and inclusive."""
        found = []
        for rows, name in ((self.sends, "dest_ranks"), (self.receives, "src_ranks")):
            pairs = rows.select("path", "rank", "partner").unique(maintain_order=True)
            whole = roll_up(pairs, self.tree, ["rank", "partner"], {})
            for frame, suffix in ((pairs, "_exclusive"), (whole, "")):
                found.append(frame.group_by("path", "rank").agg(pl.len().alias(name + suffix)))
        return found

    def _shares(self) -> pl.DataFrame:
        """Return all messages sent and received, each with its share of the time of its calls."""
        columns = ["path", "rank", "partner", "bytes", "row", "seconds"]
        both = pl.concat(
            [
                self.sends.select(*columns, pl.lit(True).alias("is_send")),
                self.receives.select(*columns, pl.lit(False).alias("is_send")),
            ]
        )
        share = (pl.col("seconds") / pl.len().over("row")).fill_null(0.0)
        return both.with_columns(share.alias("share"))

    def _partners(self, shares: pl.DataFrame) -> pl.DataFrame:
        sent = pl.col("is_send")
        return shares.group_by("path", "rank", "partner", maintain_order=True).agg(
            sent.sum().cast(pl.Int64).alias("sends"),
            pl.col("bytes").filter(sent).sum().alias("bytes_sent"),
            (~sent).sum().cast(pl.Int64).alias("recvs"),
            pl.col("bytes").filter(~sent).sum().alias("bytes_recv"),
            pl.col("share").sum().alias("time"),
        )

    def _sizes(self, shares: pl.DataFrame) -> pl.DataFrame:
        messages = shares.group_by("path", "bytes").agg(
            pl.lit("p2p").alias("kind"),
            pl.col("is_send").sum().cast(pl.Int64).alias("messages"),
            pl.col("share").sum().alias("time_total"),
        )
        collective = self.collectives.group_by("path", "bytes").agg(
            pl.lit("coll").alias("kind"),
            pl.len().cast(pl.Int64).alias("messages"),
            pl.col("seconds").sum().alias("time_total"),
        )
        rows = pl.concat([messages, collective])
        return rows.with_columns(pl.col("bytes").alias("bytes_upper"))

    def _calls(self) -> pl.DataFrame:
        rows = self.calls.group_by("path", "call", maintain_order=True).agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("seconds").sum().alias("time_total"),
            pl.col("seconds").max().alias("time_max"),
        )
        moved = pl.concat(
            [part.select("path", "call", "bytes") for part in (self.sends, self.receives, self.collectives)]
        )
        carried = moved.drop_nulls("call").group_by("path", "call").agg(pl.col("bytes").sum())
        return rows.join(carried, on=["path", "call"], how="left").with_columns(pl.col("bytes").fill_null(0))

    def _collectives(self) -> pl.DataFrame:
        return self.collectives.group_by("path", "operation", "comm_size", "bytes", maintain_order=True).agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("seconds").sum().alias("time_total"),
            pl.col("seconds").max().alias("time_max"),
        )

    def _communicators(self) -> pl.DataFrame:
        used = pl.concat(
            [
                self.sends.select("communicator", "rank", "bytes"),
                self.receives.select("communicator", "rank", pl.lit(0, pl.Int64).alias("bytes")),
                self.collectives.select("communicator", "rank", "bytes"),
            ]
        )
        rows = used.group_by("communicator", maintain_order=True).agg(
            pl.col("rank").n_unique().cast(pl.Int64).alias("ranks"),
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("bytes").sum(),
        )
        numbers = rows["communicator"].to_list()
        members = [zlib.crc32(repr(self.world.members(number)).encode()) for number in numbers]
        return rows.with_columns(
            pl.Series("name", [self.world.name(number) for number in numbers], dtype=pl.String),
            pl.Series("size", [self.world.size_of(number) for number in numbers], dtype=pl.Int64),
            pl.Series("members", members, dtype=pl.Int64),
        )

    def _slices(self) -> pl.DataFrame:
        """Return the activity in each slice of time; a call counts in the slice in which it ends."""
        longest = (self.events.spans["end"] - self.events.spans["begin"]).max() or 0
        width = max(-(-int(longest) // _MOST_SLICES), _LEAST_SLICE)
        begins = self.events.spans.select("rank", pl.col("begin").alias("first"))

        def slice_rows(rows: pl.DataFrame, time: str) -> pl.DataFrame:
            number = ((pl.col(time) - pl.col("first")) // width).clip(0)
            return (
                rows.drop("first", strict=False)
                .join(begins, on="rank", how="left")
                .with_columns(number.alias("slice"))
            )

        keys = ["rank", "slice"]
        rows = (
            slice_rows(self.calls, "end")
            .group_by(keys)
            .agg(
                *(
                    pl.col("seconds").filter(pl.col("family") == name).sum().alias(f"{name}_time")
                    for name in ("p2p", "coll", "rma", "io")
                ),
                pl.col("seconds").filter("waits").sum().alias("wait_time"),
            )
        )
        counted = (
            (self.sends, "sends", "bytes_sent"),
            (self.receives, "recvs", "bytes_recv"),
            (self.collectives, "colls", "coll_bytes"),
        )
        for part, count, size in counted:
            sums = (
                slice_rows(part, "time")
                .group_by(keys)
                .agg(pl.len().cast(pl.Int64).alias(count), pl.col("bytes").sum().alias(size))
            )
            rows = rows.join(sums, on=keys, how="full", coalesce=True)
        return rows.with_columns(pl.exclude(keys).fill_null(0)).with_columns(
            (pl.col("slice") * width * _SECOND).alias("start"), pl.lit(width * _SECOND).alias("duration")
        )
