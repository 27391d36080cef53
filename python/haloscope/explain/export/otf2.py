"""`--to otf2`: an archive for Vampir, Pipit and Scalasca, written by the OTF2 library."""

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
from haloscope.explain.export.otf2_words import find_role, number_operations
from haloscope.explain.export.remarks import list_remarks
from haloscope.explain.export.trace_columns import TraceColumns, c_text
from haloscope.explain.export.traced import TracedProfile
from haloscope.profile.importing import otf2_library

# Pipit opens only this name.
_ANCHOR = "traces.otf2"
_CODE, _UNDEFINED = 4, 2**64 - 1


def write_otf2(traced: TracedProfile, output: Path) -> list[str]:
    """Write a trace as the OTF2 archive `output`/traces.otf2; return remarks about events left out.

    Regions with the same name in several paths are one region; functions of MPI are regions of paradigm MPI.
    Messages and collectives are recorded in the functions that start and complete them.

    Raises:
        OutputError: The archive cannot be written.
        ComponentError: The OTF2 library is missing.
    """
    library = otf2_library()
    operations = traced.trace.collectives["operation"].unique().cast(pl.String).drop_nulls().to_list()
    columns = TraceColumns(traced.trace, number_operations(operations), by_communicator=True)
    with write_directory(output, _ANCHOR, "OTF2 archive") as directory:
        # OTF2 creates the directory itself, and accepts an existing empty one.
        archive = library.haloscope_otf2_open(
            os.fsencode(directory), f"Haloscope {version('haloscope')}".encode()
        )
        try:
            _check_result(library, archive, output)
            definitions = _Definitions(library, traced, columns)
            _check_result(library, definitions.write(archive), output)
        finally:
            closed = library.haloscope_otf2_close(archive) == 0 if archive else True
        _check_result(library, closed, output)
    return list_remarks(traced.trace, columns)


def _check_result(library: ctypes.CDLL, good: object, output: Path) -> None:
    if not good:
        reason = (library.haloscope_otf2_error() or b"no reason given").decode("utf-8", "replace")
        raise OutputError(f"{output}: OTF2 cannot write it: {reason}; check the free space")


@dataclass
class _Definitions:
    """Definitions that the events refer to, by number."""

    library: ctypes.CDLL
    traced: TracedProfile
    columns: TraceColumns
    writer: Any = None
    texts: dict[str, int] = field(default_factory=dict)
    good: bool = True

    def write(self, archive: int) -> bool:
        """Write the events, then their definitions; return whether both succeeded."""
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
            self._define_clock()
            self._define_regions(regions)
            self._define_processes(events)
            self._define_communicators()
        return self.good

    def _define(self, kind: str, *arguments: object) -> None:
        self.good = (
            self.good and getattr(self.library, f"haloscope_otf2_{kind}")(self.writer, *arguments) == 0
        )

    def _text(self, text: str) -> int:
        """Return the number of a text, which is defined on first use."""
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            self._define("string", self.texts[text], c_text(text))
        return self.texts[text]

    def _define_clock(self) -> None:
        since = self.traced.info.get("start")
        is_known = isinstance(since, int | float) and 0 < since < 1e10
        self._define("clock", self.columns.length, int(since * 1e9) if is_known else _UNDEFINED)  # type: ignore[operator]
        self._define("paradigm", self._text("MPI"))

    def _define_regions(self, regions: dict[str, int]) -> None:
        nothing = self._text("")
        for number, name in enumerate(self.columns.functions):
            self._define("region", number, self._text(name), nothing, find_role(name), 1)
        for name, number in regions.items():
            self._define("region", number, self._text(name), nothing, _CODE, 0)

    def _define_processes(self, events: NDArray[np.uint64]) -> None:
        locations = self.columns.locations
        hosts_of_ranks = dict(self.traced.trace.processes.select("rank", "host").iter_rows())
        hosts = {
            rank: hosts_of_ranks.get(rank) or "unknown host" for rank in locations["rank"].unique().sort()
        }
        nodes = {host: at + 1 for at, host in enumerate(dict.fromkeys(hosts.values()))}
        self._define("node", 0, self._text("machine"), self._text("machine"), -1)
        for host, number in nodes.items():
            self._define("node", number, self._text(host), self._text("node"), 0)
        for rank, host in hosts.items():
            self._define("process", rank, self._text(f"MPI Rank {rank}"), nodes[host])
        for number, (rank, thread) in enumerate(locations.iter_rows()):
            name = self._text(f"Thread {thread}" if thread else "Master thread")
            self._define("location", number, name, int(events[number]), rank)
        self._define_counts()

    def _define_counts(self) -> None:
        trace = self.traced.trace
        counts = {"DROPPED": trace.dropped, "MOVED": trace.clocks.select("rank", "moved")}
        for what, rows in counts.items():
            of_rank = dict(rows.iter_rows())
            for number, (rank, thread) in enumerate(self.columns.locations.iter_rows()):
                if thread == 0 and of_rank.get(rank):
                    self._define("dropped", number, self._text(f"HALOSCOPE::{what}_EVENTS"), of_rank[rank])

    def _define_communicators(self) -> None:
        masters = self.columns.locations.with_row_index("location").unique("rank", keep="first").sort("rank")
        self._define_group(0, "MPI_COMM_WORLD locations", True, masters["location"].to_numpy())
        index = masters.with_row_index("index").select("rank", "index")
        members = self.columns.members.join(index, on="rank", maintain_order="left")
        groups = dict(members.group_by("communicator", maintain_order=True).agg("index").iter_rows())
        for at, (number, name) in enumerate(
            self.traced.trace.communicators.select("communicator", "name").iter_rows()
        ):
            self._define_group(at + 1, "", False, np.array(groups.get(number, ())))
            self._define("communicator", number, self._text(name or f"communicator {number}"), at + 1)

    def _define_group(self, number: int, name: str, is_first: bool, members: AnyArray) -> None:
        numbers = np.ascontiguousarray(members, np.uint64)
        self._define("group", number, self._text(name), int(is_first), len(numbers), numbers.ctypes.data)
