"""`--to otf2`: the archive that Vampir, Pipit, Scalasca and others read, by OTF2's own library."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haloscope.base.arrays import AnyArray
from haloscope.base.errors import OutputError
from haloscope.base.files import write_directory
from haloscope.explain.export.otf2_words import operations_of, role_of
from haloscope.explain.export.remarks import remarks_on
from haloscope.explain.export.trace_columns import TraceColumns, c_text
from haloscope.explain.export.traced import TracedProfile
from haloscope.profile.importing import otf2_library

# Pipit opens this name alone.
_ANCHOR = "traces.otf2"
_CODE, _UNDEFINED = 4, 2**64 - 1


def write_otf2(traced: TracedProfile, output: Path) -> list[str]:
    """Write a trace as the OTF2 archive `output`/traces.otf2; return what was left out.

    A region is what has a name, be it in several paths; functions of MPI are regions of paradigm MPI.
    Messages and collectives are recorded in the functions that start and complete them. Raises
    `OutputError`, and `ComponentError` where OTF2 is missing.
    """
    library = otf2_library()
    operations = traced.trace.collectives["operation"].unique().cast(pl.String).drop_nulls().to_list()
    columns = TraceColumns(traced.trace, operations_of(operations), by_communicator=True)
    with write_directory(output, _ANCHOR, "OTF2 archive") as directory:
        # OTF2 makes the directory itself; it may be ours, as it is empty.
        archive = library.haloscope_otf2_open(
            os.fsencode(directory), f"Haloscope {version('haloscope')}".encode()
        )
        try:
            _check(library, archive, output)
            definitions = _Definitions(library, traced, columns)
            _check(library, definitions.write(archive), output)
        finally:
            closed = library.haloscope_otf2_close(archive) == 0 if archive else True
        _check(library, closed, output)
    return remarks_on(traced.trace, columns)


def _check(library: ctypes.CDLL, good: object, output: Path) -> None:
    if not good:
        reason = (library.haloscope_otf2_error() or b"no reason given").decode("utf-8", "replace")
        raise OutputError(f"{output}: OTF2 cannot write it: {reason}; is there room for it?")


@dataclass
class _Definitions:
    """What the events refer to, by number."""

    library: ctypes.CDLL
    traced: TracedProfile
    columns: TraceColumns
    writer: Any = None
    texts: dict[str, int] = field(default_factory=dict)
    good: bool = True

    def write(self, archive: int) -> bool:
        """Write the events, then what they mean; return whether that went well."""
        functions = np.arange(len(self.columns.functions), dtype=np.uint32)
        names = self.traced.trace.paths.sort("path")["name"].to_list() or ["<program>"]
        regions = {name: len(functions) + at for at, name in enumerate(dict.fromkeys(names))}
        of_paths = np.array([regions[name] for name in names], np.uint32)
        events = np.zeros(len(self.columns.locations), np.uint64)
        arrays = [array.ctypes.data for array in (functions, of_paths, events)]
        if self.library.haloscope_otf2_events(archive, ctypes.byref(self.columns.struct), *arrays):
            return False
        self.writer = self.library.haloscope_otf2_definitions(archive)
        self.good = bool(self.writer)
        if self.good:
            self._clock()
            self._regions(regions)
            self._processes(events)
            self._communicators()
        return self.good

    def _say(self, kind: str, *arguments: object) -> None:
        self.good = (
            self.good and getattr(self.library, f"haloscope_otf2_{kind}")(self.writer, *arguments) == 0
        )

    def _text(self, text: str) -> int:
        """Return the number of a text, which is defined when it comes first."""
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            self._say("string", self.texts[text], c_text(text))
        return self.texts[text]

    def _clock(self) -> None:
        since = self.traced.info.get("start")
        is_known = isinstance(since, int | float) and 0 < since < 1e10
        self._say("clock", self.columns.length, int(since * 1e9) if is_known else _UNDEFINED)  # type: ignore[operator]
        self._say("paradigm", self._text("MPI"))

    def _regions(self, regions: dict[str, int]) -> None:
        nothing = self._text("")
        for number, name in enumerate(self.columns.functions):
            self._say("region", number, self._text(name), nothing, role_of(name), 1)
        for name, number in regions.items():
            self._say("region", number, self._text(name), nothing, _CODE, 0)

    def _processes(self, events: NDArray[np.uint64]) -> None:
        locations = self.columns.locations
        told = dict(self.traced.trace.processes.select("rank", "host").iter_rows())
        hosts = {rank: told.get(rank) or "unknown host" for rank in locations["rank"].unique().sort()}
        nodes = {host: at + 1 for at, host in enumerate(dict.fromkeys(hosts.values()))}
        self._say("node", 0, self._text("machine"), self._text("machine"), -1)
        for host, number in nodes.items():
            self._say("node", number, self._text(host), self._text("node"), 0)
        for rank, host in hosts.items():
            self._say("process", rank, self._text(f"MPI Rank {rank}"), nodes[host])
        for number, (rank, thread) in enumerate(locations.iter_rows()):
            name = self._text(f"Thread {thread}" if thread else "Master thread")
            self._say("location", number, name, int(events[number]), rank)
        self._counted()

    def _counted(self) -> None:
        trace = self.traced.trace
        counts = {"DROPPED": trace.dropped, "MOVED": trace.clocks.select("rank", "moved")}
        for what, rows in counts.items():
            of_rank = dict(rows.iter_rows())
            for number, (rank, thread) in enumerate(self.columns.locations.iter_rows()):
                if thread == 0 and of_rank.get(rank):
                    self._say("dropped", number, self._text(f"HALOSCOPE::{what}_EVENTS"), of_rank[rank])

    def _communicators(self) -> None:
        masters = self.columns.locations.with_row_index("location").unique("rank", keep="first").sort("rank")
        self._group(0, "MPI_COMM_WORLD locations", True, masters["location"].to_numpy())
        index = masters.with_row_index("index").select("rank", "index")
        members = self.columns.members.join(index, on="rank", maintain_order="left")
        groups = dict(members.group_by("communicator", maintain_order=True).agg("index").iter_rows())
        for at, (number, name) in enumerate(
            self.traced.trace.communicators.select("communicator", "name").iter_rows()
        ):
            self._group(at + 1, "", False, np.array(groups.get(number, ())))
            self._say("communicator", number, self._text(name or f"communicator {number}"), at + 1)

    def _group(self, number: int, name: str, is_first: bool, members: AnyArray) -> None:
        kept = np.ascontiguousarray(members, np.uint64)
        self._say("group", number, self._text(name), int(is_first), len(kept), kept.ctypes.data)
