"""A trace as columns for the compiled exporters, without copies where possible.

The structures are those of `src/explain/exporting/columns.hpp`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray, Integers, Integers32
from haloscope.profile.trace import Trace

_POINTER, _WIDE = ctypes.c_void_p, ctypes.c_int64
_SLICE = 1 << 17  # rows that are processed at once
_ENDS = {"started": np.int64, "completed": np.int64, "rank": np.int32}
_MESSAGES = {"partner": np.int32, "tag": np.int32, "communicator": np.int32, "bytes": np.int64}
_COLLECTIVES = {
    "operation": np.uint32,
    "communicator": np.int32,
    "root": np.int32,
    "number": np.int64,
    "bytes_sent": np.int64,
    "bytes_received": np.int64,
}
_CALLS = {"begin": np.int64, "end": np.int64, "call": np.uint32, "path": np.int32, "bytes": np.int64}
_REGIONS = {"begin": np.int64, "end": np.int64, "path": np.int32}
_MEMBERS = {"communicator": np.int32, "rank": np.int32, "place": np.int32}


class _Ends(ctypes.Structure):
    _fields_ = (("count", _WIDE), *((name, _POINTER) for name in _ENDS))


class _Messages(ctypes.Structure):
    _fields_ = (("ends", _Ends), *((name, _POINTER) for name in _MESSAGES))


class _Collectives(ctypes.Structure):
    _fields_ = (("ends", _Ends), *((name, _POINTER) for name in _COLLECTIVES), ("operations", _POINTER))


class _Members(ctypes.Structure):
    _fields_ = (("count", _WIDE), *((name, _POINTER) for name in _MEMBERS))


class _Columns(ctypes.Structure):
    _fields_ = (
        ("locations", _WIDE),
        *((name, _POINTER) for name in ("ranks", "threads", "first_calls", "first_regions")),
        *((f"call_{name}", _POINTER) for name in _CALLS),
        *((f"region_{name}", _POINTER) for name in _REGIONS),
        ("functions", _POINTER),
        ("parents", _POINTER),
        ("paths", _WIDE),
        ("earliest", _WIDE),
        ("sends", _Messages),
        ("receives", _Messages),
        ("collectives", _Collectives),
        ("members", _Members),
    )


@dataclass
class TraceColumns:
    """The columns of a trace, and the meaning of their numbers. Its own memory does not grow with the trace.

    `operations` maps a collective's operation to its number in the format; other operations are left out.
    With `by_communicator` partners and roots are numbered by communicator, and unknown ones are left out.
    Times are shifted so that none is negative.
    """

    trace: Trace
    operations: Mapping[str, int]
    by_communicator: bool

    def __post_init__(self) -> None:
        self._kept: list[AnyArray] = []  # pointers do not keep arrays alive

    @cached_property
    def locations(self) -> pl.DataFrame:
        """One row per thread (`rank`, `thread`), sorted; every rank has at least one."""
        found = [frame.select("rank", "thread") for frame in (self._counts["calls"], self._counts["regions"])]
        known = [self.trace.processes["rank"].cast(pl.Int32), self.members["rank"]]
        alone = [pl.DataFrame({"rank": ranks}).with_columns(thread=pl.lit(0, pl.Int32)) for ranks in known]
        return pl.concat([*found, *alone]).unique().sort("rank", "thread")

    @cached_property
    def members(self) -> pl.DataFrame:
        """Ranks of communicators (`communicator`, `rank`) and their `place` in them, in order."""
        ranks = self.trace.communicators.select("communicator", rank="ranks").explode("rank")
        known = ranks.filter(pl.col("rank") >= 0).unique(maintain_order=True)
        return known.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int32).over("communicator"))

    @cached_property
    def earliest(self) -> int:
        """The smallest time or 0, in nanoseconds."""
        begins = [frame["begin"].min() for frame in (self.trace.calls, self.trace.regions)]
        return min(0, *(int(begin) for begin in begins if isinstance(begin, int)), 0)

    @cached_property
    def length(self) -> int:
        """Nanoseconds from the smallest to the largest time, at least 1."""
        ends = [frame["end"].max() for frame in (self.trace.calls, self.trace.regions)]
        return max(1, *(int(end) - self.earliest for end in ends if isinstance(end, int)), 1)

    @cached_property
    def functions(self) -> list[str]:
        """Names of the functions of MPI, by number."""
        return sorted(set(self._calls.values()))

    @cached_property
    def struct(self) -> ctypes.Structure:
        """The structure for the exporters."""
        trace, keep = self.trace, self._keep
        numbers = {name: number for number, name in enumerate(self.functions)}
        parents = trace.paths.sort("path")["parent"]
        return _Columns(
            len(self.locations),
            *(keep(self.locations[name], np.int32) for name in ("rank", "thread")),
            *(keep(self._find_first_rows(of), np.int64) for of in ("calls", "regions")),
            *self._collect_columns(trace.calls, _CALLS),
            *self._collect_columns(trace.regions, _REGIONS),
            keep(_make_table(self._calls, numbers), np.int32),
            keep(parents, np.int32),
            len(parents),
            self.earliest,
            *(
                _Messages(self._make_ends(frame), *self._collect_columns(frame, _MESSAGES))
                for frame in (trace.sends, trace.receives)
            ),
            _Collectives(
                self._make_ends(trace.collectives),
                *self._collect_columns(trace.collectives, _COLLECTIVES),
                keep(_make_table(self._operations, self.operations), np.int32),
            ),
            self._make_members(),
        )

    @cached_property
    def omitted(self) -> dict[str, int]:
        """Numbers of messages and collectives whose partner or operation the format does not know."""
        trace = self.trace
        counts = {
            "messages": self._count_unknown_partners(trace.sends)
            + self._count_unknown_partners(trace.receives),
            "collectives": sum(
                self._count_unknown_operations(part) for part in _iterate_slices(trace.collectives)
            ),
        }
        return {kind: count for kind, count in counts.items() if count}

    @cached_property
    def _calls(self) -> dict[int, str]:
        return _list_names(self.trace.calls["call"])

    @cached_property
    def _operations(self) -> dict[int, str]:
        return _list_names(self.trace.collectives["operation"])

    @cached_property
    def _counts(self) -> dict[str, pl.DataFrame]:
        """Numbers of calls and regions per thread."""
        found = {}
        for name, frame in (("calls", self.trace.calls), ("regions", self.trace.regions)):
            parts = [part.group_by("rank", "thread").len() for part in _iterate_slices(frame)]
            found[name] = pl.concat(parts).group_by("rank", "thread").agg(pl.col("len").sum())
        return found

    def _keep(self, values: pl.Series | AnyArray, kind: type) -> int | None:
        array = values.to_numpy() if isinstance(values, pl.Series) else values
        kept: AnyArray = np.ascontiguousarray(array, dtype=kind)
        self._kept.append(kept)
        return kept.ctypes.data if kept.size else None

    def _collect_columns(self, frame: pl.DataFrame, kinds: Mapping[str, type]) -> list[int | None]:
        found = []
        for name, kind in kinds.items():
            column = frame[name]
            if kind is np.uint32:
                column = column.to_physical().fill_null(0) if column.null_count() else column.to_physical()
            found.append(self._keep(column, kind))
        return found

    def _find_first_rows(self, of: str) -> Integers:
        """Return the first row of each location, and the number of rows."""
        counts = self._counts[of]
        found = self.locations.join(counts, on=["rank", "thread"], how="left", maintain_order="left")
        return np.concatenate([[0], found["len"].fill_null(0).cast(pl.Int64).cum_sum().to_numpy()])

    def _make_ends(self, frame: pl.DataFrame) -> _Ends:
        return _Ends(len(frame), *self._collect_columns(frame, _ENDS))

    def _make_members(self) -> _Members:
        none = pl.lit(-1, pl.Int32)
        known = self.trace.communicators.select(pl.col("communicator").unique(), rank=none, place=none)
        frame = pl.concat([self.members.select(list(_MEMBERS)), known])
        return _Members(len(frame), *self._collect_columns(frame, _MEMBERS))

    def _count_unknown_partners(self, frame: pl.DataFrame) -> int:
        """Return the number of messages with an unknown partner."""
        count = 0
        for part in _iterate_slices(frame):
            # A receive that was not completed has no message.
            received = part.filter(pl.col("completed") >= 0)
            if self.by_communicator:
                members = self.members.rename({"rank": "partner"})
                count += len(received.join(members, on=["communicator", "partner"], how="anti"))
            else:
                count += int((received["partner"] < 0).sum())
        return count

    def _count_unknown_operations(self, collectives: pl.DataFrame) -> int:
        """Return the number of collectives with an unknown operation or communicator."""
        codes = [code for code, name in self._operations.items() if self.operations.get(name, -1) >= 0]
        is_known = collectives["operation"].to_physical().is_in(codes)
        if self.by_communicator:
            is_known &= collectives["communicator"].is_in(self.trace.communicators["communicator"].implode())
        return len(is_known) - int(is_known.sum())


def _iterate_slices(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield slices of a table; an empty table yields itself."""
    yield from frame.iter_slices(_SLICE) if len(frame) else (frame,)


def c_text(text: str) -> bytes:
    """Return a text for C, in which zero bytes are escaped."""
    return text.replace("\0", "\\0").encode("utf-8", "replace")


def _list_names(column: pl.Series) -> dict[int, str]:
    """Return the names of a column, by code."""
    found: dict[int, str] = {}
    for part in _iterate_slices(column.to_frame("name").with_columns(code=column.to_physical())):
        names = part.drop_nulls().unique("code").with_columns(pl.col("name").cast(pl.String))
        found.update(names.select("code", "name").iter_rows())
    return found


def _make_table(names: Mapping[int, str], numbers: Mapping[str, int]) -> Integers32:
    """Return one number per code; -1 for codes without a number."""
    table = np.full(max(names, default=0) + 1, -1, np.int32)
    for code, name in names.items():
        table[code] = numbers.get(name, -1)
    return table
