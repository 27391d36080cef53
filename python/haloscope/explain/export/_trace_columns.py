"""A trace as the columns that the compiled exporters read, without copies where that is possible.

The structures are those of `src/explain/export/columns.hpp`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain.trace import Trace

__all__ = ["TraceColumns", "c_text"]

_POINTER, _WIDE = ctypes.c_void_p, ctypes.c_int64
_MESSAGES = {
    "rank": np.int32,
    "partner": np.int32,
    "tag": np.int32,
    "communicator": np.int32,
    "bytes": np.int64,
}
_COLLECTIVES = {
    "operation": np.int32,
    "communicator": np.int32,
    "root": np.int32,
    "number": np.int64,
    "bytes_sent": np.int64,
    "bytes_received": np.int64,
}


class _Ends(ctypes.Structure):
    _fields_ = (
        ("count", _WIDE),
        *((name, _POINTER) for name in ("started", "completed", "by_start", "by_completion")),
    )


class _Messages(ctypes.Structure):
    _fields_ = (("ends", _Ends), *((name, _POINTER) for name in _MESSAGES))


class _Collectives(ctypes.Structure):
    _fields_ = (("ends", _Ends), *((name, _POINTER) for name in _COLLECTIVES))


class _Columns(ctypes.Structure):
    _fields_ = (
        ("locations", _WIDE),
        *((name, _POINTER) for name in ("ranks", "threads", "first_calls", "first_regions")),
        *((f"call_{name}", _POINTER) for name in ("begin", "end", "function", "path", "bytes")),
        *((f"region_{name}", _POINTER) for name in ("begin", "end", "path")),
        ("parents", _POINTER),
        ("paths", _WIDE),
        ("sends", _Messages),
        ("receives", _Messages),
        ("collectives", _Collectives),
    )


@dataclass
class TraceColumns:
    """The columns of a trace, and what their numbers mean.

    `operations` gives the number of a collective's operation in the format; one that is not there is left
    out. With `by_communicator`, partners and roots are ranks of the communicator, else world ranks; those
    that are not known are -1. Times are shifted so that none is negative.
    """

    trace: Trace
    operations: Mapping[str, int]
    by_communicator: bool

    def __post_init__(self) -> None:
        self._kept: list[NDArray[Any]] = []  # pointers do not keep them alive

    @cached_property
    def locations(self) -> pl.DataFrame:
        """A row a thread (`rank`, `thread`), by these; every rank has one."""
        frames = [self.trace.calls, self.trace.regions]
        found = [frame.select("rank", "thread").unique() for frame in frames]
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
        """The least time, or 0, in nanoseconds."""
        begins = [frame["begin"].min() for frame in (self.trace.calls, self.trace.regions)]
        return min(0, *(int(begin) for begin in begins if isinstance(begin, int)), 0)

    @cached_property
    def length(self) -> int:
        """Nanoseconds from the least to the largest time, 1 at least."""
        ends = [frame["end"].max() for frame in (self.trace.calls, self.trace.regions)]
        return max(1, *(int(end) - self.earliest for end in ends if isinstance(end, int)), 1)

    @cached_property
    def functions(self) -> list[str]:
        """Names of the functions of MPI, by number."""
        names: list[str] = self.trace.calls["call"].unique().cast(pl.String).drop_nulls().sort().to_list()
        return names

    @cached_property
    def struct(self) -> ctypes.Structure:
        """What the exporters get."""
        trace, keep = self.trace, self._keep
        numbers = {name: number for number, name in enumerate(self.functions)}
        shifted = [
            [frame["begin"] - self.earliest, frame["end"] - self.earliest]
            if self.earliest
            else [frame["begin"], frame["end"]]
            for frame in (trace.calls, trace.regions)
        ]
        parents = trace.paths.sort("path")["parent"]
        return _Columns(
            len(self.locations),
            *(keep(self.locations[name], np.int32) for name in ("rank", "thread")),
            *(keep(self._firsts(frame), np.int64) for frame in (trace.calls, trace.regions)),
            *(keep(column, np.int64) for column in shifted[0]),
            keep(_numbered(trace.calls["call"], numbers), np.int32),
            keep(self._known_paths(trace.calls), np.int32),
            keep(trace.calls["bytes"], np.int64),
            *(keep(column, np.int64) for column in shifted[1]),
            keep(self._known_paths(trace.regions), np.int32),
            keep(parents, np.int32),
            len(parents),
            self._messages(trace.sends),
            self._messages(trace.receives),
            self._collectives(trace.collectives),
        )

    @cached_property
    def left_out(self) -> dict[str, int]:
        """How many messages and collectives have no partner or operation that the format knows."""
        _ = self.struct
        return {kind: count for kind, count in self._left_out.items() if count}

    @cached_property
    def _left_out(self) -> dict[str, int]:
        return {}

    def _keep(self, values: pl.Series | NDArray[Any], kind: type) -> int | None:
        array = values.to_numpy() if isinstance(values, pl.Series) else values
        kept: NDArray[Any] = np.ascontiguousarray(array, dtype=kind)
        self._kept.append(kept)
        return kept.ctypes.data if kept.size else None

    def _firsts(self, frame: pl.DataFrame) -> NDArray[np.int64]:
        """Return the first row of each location, and the number of rows."""
        counts = frame.group_by("rank", "thread").len()
        found = self.locations.join(counts, on=["rank", "thread"], how="left", maintain_order="left")
        return np.concatenate([[0], found["len"].fill_null(0).cast(pl.Int64).cum_sum().to_numpy()])

    def _known_paths(self, frame: pl.DataFrame) -> pl.Series:
        """Return numbers of paths; what no path has is taken for the root."""
        paths, last = frame["path"], len(self.trace.paths) - 1
        is_known = paths.is_between(0, last)
        return paths if is_known.all() else pl.select(pl.when(is_known).then(paths).otherwise(0)).to_series()

    def _ends(self, frame: pl.DataFrame) -> _Ends:
        orders = [_order(frame[name].to_numpy()) for name in ("started", "completed")]
        return _Ends(
            len(frame),
            *(self._keep(frame[name], np.int64) for name in ("started", "completed")),
            *(None if order is None else self._keep(order, np.int64) for order in orders),
        )

    def _messages(self, frame: pl.DataFrame) -> _Messages:
        partners = self._ranks(frame, "partner")
        # A receive that nothing completed has no message.
        self._count("messages", partners.filter(frame["completed"] >= 0))
        columns = {name: partners if name == "partner" else frame[name] for name in _MESSAGES}
        return _Messages(
            self._ends(frame), *(self._keep(columns[name], _MESSAGES[name]) for name in _MESSAGES)
        )

    def _collectives(self, frame: pl.DataFrame) -> _Collectives:
        operations = _numbered(frame["operation"], self.operations)
        if self.by_communicator:
            is_known = frame["communicator"].is_in(self.trace.communicators["communicator"].implode())
            operations = pl.select(pl.when(is_known).then(operations).otherwise(-1)).to_series()
        self._count("collectives", operations)
        own = {"operation": operations, "root": self._ranks(frame, "root")}
        columns = {name: own.get(name, frame[name]) for name in _COLLECTIVES}
        return _Collectives(
            self._ends(frame), *(self._keep(columns[name], _COLLECTIVES[name]) for name in _COLLECTIVES)
        )

    def _count(self, kind: str, numbers: pl.Series) -> None:
        self._left_out[kind] = self._left_out.get(kind, 0) + int((numbers < 0).sum())

    def _ranks(self, frame: pl.DataFrame, column: str) -> pl.Series:
        """Return world ranks as ranks of their communicator, if that is wanted."""
        if not self.by_communicator:
            return frame[column]
        keys = ["communicator", column]
        places = self.members.rename({"rank": column})
        joined = frame.select(keys).join(places, on=keys, how="left", maintain_order="left")
        return joined["place"].fill_null(-1)


def c_text(text: str) -> bytes:
    """Return a text for C, where a zero byte would end it."""
    return text.replace("\0", "\\0").encode("utf-8", "replace")


def _numbered(names: pl.Series, numbers: Mapping[str, int]) -> pl.Series:
    """Return a number for each name; -1 for those without one."""
    codes = names.to_physical()
    found = pl.DataFrame({"code": codes, "name": names}).unique("code")
    table = np.full(int(codes.max() or 0) + 1 if len(codes) else 1, -1, np.int32)  # type: ignore[arg-type]
    for code, name in found.with_columns(pl.col("name").cast(pl.String)).iter_rows():
        if code is not None:
            table[code] = numbers.get(name, -1)
    return pl.Series(table[codes.fill_null(0).to_numpy()], dtype=pl.Int32)


def _order(values: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the rows sorted by value, equal ones as they are; none if that is what they are."""
    if len(values) < 2 or bool((values[1:] >= values[:-1]).all()):
        return None
    return np.argsort(values, kind="stable")
