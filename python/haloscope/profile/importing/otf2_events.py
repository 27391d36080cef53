"""The events of an OTF2 archive as visits of regions, MPI calls, messages and collectives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray, Integers
from haloscope.profile.importing.mpi_functions import call_name
from haloscope.profile.importing.otf2_archive import KINDS, Archive
from haloscope.profile.importing.otf2_world import ArchiveWorld
from haloscope.profile.shown.cells import PROGRAM

_MPI = 4  # a paradigm
_ENTER, _LEAVE = KINDS.index("enter"), KINDS.index("leave")
_MOST_DEPTH = 1024  # the recorder's limit: deeper regions count for the region around them
_BEGINS = ("MPI_Init", "MPI_Init_thread", "MPI_Session_init")
_ENDS = ("MPI_Finalize", "MPI_Session_finalize")


@dataclass
class ArchiveEvents:
    """The events, in nanoseconds since the begin of the archive's clock.

    `names` and `parents` are those of the regions by path, 0 the program. `visits` has `rank`, `thread`,
    `path`, `begin`, `end`. `calls` has the same columns and `call`, the name; those of a thread are in order.
    `moments` has the messages and collectives: `rank`, `thread`, `path`, `row` of `calls` (−1: outside),
    `time`, `kind` (as in KINDS), and for messages `partner` (a world rank, −1: unknown), `communicator`,
    `tag`, `bytes`, `received`, `request`. `spans` has `rank`, `begin`, `end`: from MPI_Init to MPI_Finalize,
    else from the first event to the last. `remarks` describes inconsistent events.
    """

    names: list[str]
    parents: list[int]
    visits: pl.DataFrame
    calls: pl.DataFrame
    moments: pl.DataFrame
    spans: pl.DataFrame
    remarks: list[str] = field(default_factory=list)


def read_events(archive: Archive, world: ArchiveWorld) -> ArchiveEvents:
    """Return the events of all threads of ranks."""
    events, location = _select_ranks(archive, world)
    remarks = list(archive.damage)
    time = _nanoseconds(archive, events["time"])
    time, back = _forward(time, location)
    if back:
        remarks.append(f"{back} events were before the one that they follow")
    paired = _pair(events, location, time)
    if paired.unmatched:
        remarks.append(f"{paired.unmatched} ends of regions have no begin, {paired.open} begins no end")
    names, is_call = _region_names(archive, paired.region)
    paths = _paths(paired, names, is_call)
    where = _Where(world, location)
    visits = where.frame(paired.enter).with_columns(
        pl.Series("path", paths.of_visit), pl.Series("begin", paired.begin), pl.Series("end", paired.end)
    )
    called = np.flatnonzero(paths.is_call)
    texts = pl.Series([names[region] for region in paired.region[called].tolist()], dtype=pl.String)
    calls = visits[called].with_columns(texts.alias("call"))
    rows = np.full(len(paired.enter), -1)
    rows[called] = np.arange(len(called))
    is_message = np.flatnonzero(events["kind"] > _LEAVE)
    around = _open_at(paired, location, is_message)
    moments = where.frame(is_message).with_columns(
        pl.Series("path", np.where(around >= 0, paths.of_visit[around], 0)),
        pl.Series("row", _find_calls(paths.call_of, rows, around)),
        pl.Series("time", time[is_message]),
        pl.Series("kind", events["kind"][is_message].astype(np.int64)),
        *_messages(archive, world, events["value"][is_message], where.ranks[is_message]),
    )
    every = pl.DataFrame({"rank": where.ranks, "time": time})
    spans = _spans(every, calls)
    return ArchiveEvents(
        paths.names,
        paths.parents,
        _clip_visits(visits.filter(pl.Series(paths.is_region)), spans),
        calls,
        moments,
        spans,
        remarks,
    )


def _select_ranks(archive: Archive, world: ArchiveWorld) -> tuple[AnyArray, AnyArray]:
    """Return the events of all threads of ranks, and the location of each."""
    locations = np.array([number for number, _ in archive.locations], dtype=np.uint64)
    counts = [count for _, count in archive.locations]
    location = np.repeat(locations, counts)
    wanted = np.repeat([number in world.ranks for number, _ in archive.locations], counts).astype(bool)
    return archive.events[wanted], location[wanted]


def _nanoseconds(archive: Archive, time: AnyArray) -> Integers:
    ticks = archive.clock.get("clock", 10**9) or 10**9
    offset = archive.clock.get("offset")
    if offset is None:
        offset = int(time.min()) if len(time) else 0
    since = (time - np.uint64(offset)).astype(np.int64)
    if ticks != 10**9:
        since = np.rint(since * (1e9 / ticks)).astype(np.int64)
    return np.asarray(since, dtype=np.int64)


def _forward(time: Integers, location: AnyArray) -> tuple[Integers, int]:
    """Return times that never go back within a location, and how many had to be moved."""
    frame = pl.DataFrame({"time": time, "location": location})
    moved = frame.select(pl.col("time").cum_max().over("location"))["time"].to_numpy()
    return moved, int((moved != time).sum())


@dataclass
class _Pairs:
    """Visits in the order of their begins: events that begin and end them (−1: none), times, depth (from 1),
    regions, and the visits around them.
    """

    enter: AnyArray
    leave: AnyArray
    begin: AnyArray
    end: AnyArray
    level: AnyArray
    region: AnyArray
    parent: AnyArray
    unmatched: int
    open: int


def _pair(events: AnyArray, location: AnyArray, time: AnyArray) -> _Pairs:
    """Return the visits; ends without a begin are left out, begins without an end last until the end."""
    marks = np.flatnonzero(events["kind"] <= _LEAVE)
    step = np.where(events["kind"][marks] == _ENTER, 1, -1)
    frame = pl.DataFrame({"mark": marks, "step": step, "location": location[marks]})
    depth = pl.col("step").cum_sum().over("location")
    lowest = pl.min_horizontal(depth.cum_min().over("location").shift(1).over("location").fill_null(0), 0)
    is_excess = (pl.col("step") < 0) & (depth < lowest)
    frame = frame.with_columns(is_excess.alias("excess"))
    unmatched = int(frame["excess"].sum())
    frame = frame.filter(~pl.col("excess")).with_columns(depth.alias("depth"))
    is_enter = frame["step"].to_numpy() > 0
    level = frame["depth"].to_numpy() + ~is_enter
    mark = frame["mark"].to_numpy()
    # Within a location and level, begins and ends alternate.
    order = np.lexsort((mark, level, frame["location"].to_numpy()))
    enters = order[is_enter[order]]
    following = np.empty(len(order), dtype=np.int64)
    following[order[:-1]] = order[1:]
    if len(order):
        following[order[-1]] = -1
    after = following[enters]
    is_closed = (after >= 0) & ~is_enter[after] if len(enters) else np.zeros(0, dtype=bool)
    is_closed &= level[after] == level[enters]
    is_closed &= location[mark[after]] == location[mark[enters]]
    last = _last_times(location, time)
    in_order = np.argsort(mark[enters])
    enters, after, is_closed = enters[in_order], after[in_order], is_closed[in_order]
    begun, levels = mark[enters], level[enters]
    left = np.where(is_closed, mark[after], -1)
    end = np.where(is_closed, time[left], last[begun])
    return _Pairs(
        begun,
        left,
        time[begun],
        end,
        levels,
        events["value"][begun].astype(np.int64),
        _parents(levels, location[begun]),
        unmatched,
        int((~is_closed).sum()),
    )


def _last_times(location: AnyArray, time: AnyArray) -> AnyArray:
    """Return for each event the time of the last event of its location."""
    frame = pl.DataFrame({"time": time, "location": location})
    return frame.select(pl.col("time").max().over("location"))["time"].to_numpy()


def _parents(level: AnyArray, location: AnyArray) -> Integers:
    """Return the visit around each visit, −1 for none: the last one before it that is a level higher."""
    parent = np.full(len(level), -1, dtype=np.int64)
    above = np.zeros(0, dtype=np.int64)
    for depth in range(1, int(level.max(initial=0)) + 1):
        here = np.flatnonzero(level == depth)
        if depth > 1:
            parent[here] = above[np.searchsorted(above, here) - 1]
        above = here
    return parent


def _region_names(archive: Archive, regions: AnyArray) -> tuple[dict[int, str], dict[int, bool]]:
    """Return the name of each region that was entered, and whether it is an MPI function."""
    names, is_call = {}, {}
    for number in np.unique(regions).tolist():
        defined = archive.regions.get(number)
        text = f"region {number}" if defined is None else archive.text(defined["name"])
        bare = text.upper()
        is_call[number] = bare.startswith(("MPI_", "PMPI_")) and " " not in text
        names[number] = call_name(text) if is_call[number] else text
    return names, is_call


@dataclass
class _Paths:
    """Regions by path, and the path of each visit; a call has the path of the region around it."""

    names: list[str]
    parents: list[int]
    of_visit: AnyArray
    is_call: AnyArray  # the outermost calls of MPI
    is_region: AnyArray
    call_of: AnyArray  # the outermost call that a visit is in or is itself, −1: none


def _paths(paired: _Pairs, names: dict[int, str], is_call: dict[int, bool]) -> _Paths:
    count = len(paired.enter)
    of_visit = np.zeros(count, dtype=np.int64)
    call_of = np.full(count, -1, dtype=np.int64)
    called = np.array([is_call[region] for region in paired.region.tolist()], dtype=bool)
    path_names, path_parents = [PROGRAM], [-1]
    known: dict[tuple[int, str], int] = {}
    for depth in range(1, int(paired.level.max(initial=0)) + 1):
        here = np.flatnonzero(paired.level == depth)
        parents = paired.parent[here]
        around = np.where(parents >= 0, of_visit[parents], 0)
        call_of[here] = np.where(parents >= 0, call_of[parents], -1)
        outermost = here[called[here] & (call_of[here] < 0)]
        call_of[outermost] = outermost
        of_visit[here] = around
        new = here[call_of[here] < 0] if depth <= _MOST_DEPTH else here[:0]
        keys = np.stack([of_visit[new], paired.region[new]], axis=1)
        distinct, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        numbers = np.zeros(len(distinct), dtype=np.int64)
        for index in np.argsort(first).tolist():
            parent, region = distinct[index].tolist()
            key = (parent, names[region])
            if key not in known:
                known[key] = len(path_names)
                path_names.append(names[region])
                path_parents.append(parent)
            numbers[index] = known[key]
        of_visit[new] = numbers[which.reshape(-1)]
    is_outer = call_of == np.arange(count)
    is_region = (call_of < 0) & (paired.level <= _MOST_DEPTH)
    return _Paths(path_names, path_parents, of_visit, is_outer, is_region, call_of)


def _open_at(paired: _Pairs, location: AnyArray, events: AnyArray) -> Integers:
    """Return the innermost visit that is open at each event, −1 for none."""
    closed = np.flatnonzero(paired.leave >= 0)
    marks = np.concatenate([paired.enter, paired.leave[closed]])
    current = np.concatenate([np.arange(len(paired.enter)), paired.parent[closed]])
    order = np.argsort(marks)
    marks, current = marks[order], current[order]
    index = np.searchsorted(marks, events) - 1
    if not len(marks):
        return np.full(len(events), -1, dtype=np.int64)
    is_here = (index >= 0) & (location[marks[index]] == location[events])
    return np.where(is_here, current[index], -1)


class _Where:
    """Rank and thread of events."""

    def __init__(self, world: ArchiveWorld, location: AnyArray) -> None:
        numbers, which = np.unique(location, return_inverse=True)
        places = np.array([world.ranks[int(number)] for number in numbers], dtype=np.int64).reshape(-1, 2)
        self.ranks, self.threads = places[which.reshape(-1), 0], places[which.reshape(-1), 1]
        self.location = location

    def frame(self, events: AnyArray) -> pl.DataFrame:
        """Return `rank` and `thread` of some events."""
        return pl.DataFrame({"rank": self.ranks[events], "thread": self.threads[events]})


def _find_calls(call_of: AnyArray, rows: AnyArray, visits: AnyArray) -> AnyArray:
    """Return the row of the call that each visit is in, −1 for none."""
    if not len(call_of):
        return np.full(len(visits), -1, dtype=np.int64)
    call = np.where(visits >= 0, call_of[visits], -1)
    return np.where(call >= 0, rows[call], -1)


def _messages(archive: Archive, world: ArchiveWorld, values: AnyArray, ranks: AnyArray) -> list[pl.Series]:
    """Return the data of messages and collectives, for events whose value is a row of them."""
    is_there = values < len(archive.messages)
    if not len(archive.messages):
        archive_rows = np.zeros(len(values), archive.messages.dtype)
    else:
        archive_rows = archive.messages[np.where(is_there, values, 0)]
    communicators = archive_rows["communicator"].astype(np.int64)
    numbers = archive_rows["partner"].astype(np.int64)
    partner = np.where(is_there, world.world_ranks(communicators, numbers, ranks), -1)
    named = {
        "partner": partner,
        "communicator": np.where(is_there, communicators, -1),
        "tag": archive_rows["tag"].astype(np.int64),
        "bytes": np.where(is_there, archive_rows["bytes"].astype(np.int64), 0),
        "received": np.where(is_there, archive_rows["received"].astype(np.int64), 0),
        "request": np.where(is_there, archive_rows["request"].astype(np.int64), -1),
    }
    return [pl.Series(name, values) for name, values in named.items()]


def _spans(every: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the analysed time of each rank: from MPI_Init to MPI_Finalize, if these exist."""
    whole = every.group_by("rank").agg(
        pl.col("time").min().alias("first"), pl.col("time").max().alias("last")
    )
    begun = (
        calls.filter(pl.col("call").is_in(_BEGINS)).group_by("rank").agg(pl.col("end").max().alias("begin"))
    )
    ended = calls.filter(pl.col("call").is_in(_ENDS)).group_by("rank").agg(pl.col("begin").min().alias("end"))
    joined = whole.join(begun, on="rank", how="left").join(ended, on="rank", how="left")
    return joined.select(
        "rank",
        pl.coalesce("begin", "first").alias("begin"),
        pl.max_horizontal(pl.coalesce("end", "last"), pl.coalesce("begin", "first")).alias("end"),
    ).sort("rank")


def _clip_visits(visits: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return visits clipped to the span of their rank; those before and after it are left out."""
    span = spans.select("rank", pl.col("begin").alias("first"), pl.col("end").alias("last"))
    return (
        visits.join(span, on="rank", how="left", maintain_order="left")
        .filter(
            (pl.col("end") > pl.col("first")) & (pl.col("begin") < pl.col("last"))
            | (pl.col("begin") == pl.col("end")) & pl.col("begin").is_between("first", "last")
        )
        .with_columns(
            pl.max_horizontal("begin", "first").alias("begin"), pl.min_horizontal("end", "last").alias("end")
        )
        .drop("first", "last")
    )
