"""One profile as tables."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from haloscope.base.errors import UsageError
from haloscope.profile.store.columns import NEEDED
from haloscope.profile.store.format import ProfileFile
from haloscope.profile.store.framing import DamageError
from haloscope.profile.tables.ranks import Hosts
from haloscope.profile.store.source import open_source
from haloscope.profile.tables.table_builders import checked_info
from haloscope.profile.store.tree import RegionTree, region_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from haloscope.profile.tables.instances import Instances
    from haloscope.profile.sites import SiteBook
    from haloscope.profile.trace import Trace
    from haloscope.profile.waiting import Analysis

__all__ = ["RUN_COLUMNS", "Profile", "labelled", "open_profile", "run_columns", "run_row"]

_T = TypeVar("_T")
_NO_TRACE = "the run was recorded without a trace: record it with `haloscope run --trace`"


class Profile:
    """What one run left behind. Columns are read and checked when a table needs them.

    Close it, or use it in a `with` statement, when many profiles are open at a time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the profile at `path`. Raises `ProfileError` if it is not a whole profile."""
        self.source = open_source(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<haloscope profile {str(self.path)!r}>"

    @property
    def path(self) -> Path:
        """Where the profile stands."""
        return self.source.path

    @property
    def file(self) -> ProfileFile:
        """The recorder's file. Raises `UsageError` for a profile of another tool."""
        if not isinstance(self.source, ProfileFile):
            raise UsageError(f"{self.path}: only profiles that `haloscope run` wrote have that")
        return self.source

    @property
    def info(self) -> Mapping[str, Any]:
        """The run information as the recorder wrote it; the table `info` says more."""
        return self.source.info

    def table(self, name: str, *, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
        """Return a table with the columns of the reference (docs/reference/tables.md).

        Values are inclusive of nested regions unless `exclusive`; `region` keeps the rows whose
        region or path is that. Counts and bytes are Int64, times Float64 seconds, what is unknown
        is null. Raises `UsageError` for an unknown table or region, `ProfileError` for damage.
        """
        from haloscope.profile.tables.table_builders import build

        return self.guarded(lambda: build(self, name, exclusive, region))

    def lacks(self, name: str) -> str | None:
        """Return why nothing can be in the table `name`, None where the run decides.

        Other tools than the recorder do not know all tables.
        """
        return self.source.lacks(name)

    def remarks(self, table: str) -> list[str]:
        """Return what a table leaves out, or why it has nothing, in sentences."""
        from haloscope.profile.tables.table_builders import TRACE_TABLES

        if lacking := self.lacks(table):
            return [lacking]
        if table in TRACE_TABLES:
            return self.guarded(lambda: self.waiting.remarks) if self.has_trace else [_NO_TRACE]
        return self.site_book.remarks if table == "sites" else []

    def instances(self, region: str) -> Instances:
        """Return start, duration and wait of every instance of a region, as matrices.

        `instances("halo").duration[p, k]` are the seconds that pass k through `halo` took on the
        p-th rank. Raises `UsageError` unless instances of one path were kept (`run --series`),
        `ProfileError` for damage.
        """
        from haloscope.profile.tables.instances import Instances

        return self.guarded(lambda: Instances(self, region))

    @property
    def has_trace(self) -> bool:
        """Whether the run was recorded with a trace (`run --trace`)."""
        from haloscope.profile.trace.from_profile import has_trace

        return self.source.own_trace is not None or has_trace(self)

    def trace(self) -> Trace:
        """Return every call, region and message with its time.

        Raises `UsageError` if the run was recorded without a trace, `ProfileError` for damage.
        """
        from haloscope.profile.trace.from_profile import read_trace

        return self.guarded(self.source.own_trace or (lambda: read_trace(self)))

    @cached_property
    def waiting(self) -> Analysis:
        """What the trace tells about waiting: who waited for whom, why, and what matters.

        Raises `UsageError` if the run was recorded without a trace, `ProfileError` for damage.
        """
        from haloscope.profile.waiting import Analysis

        return Analysis(self.trace())

    def verify(self) -> None:
        """Check every byte of the file. Raises `ProfileError`."""
        self.source.verify()

    def close(self) -> None:
        """Let go of the file."""
        self.source.close()

    def guarded(self, action: Callable[[], _T]) -> _T:
        """Return what `action` does; damage found on the way is a `ProfileError` with our name."""
        try:
            return action()
        except DamageError as damage:
            raise damage.of(self.path) from None

    def frame(self, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return a table of the file with its own column names; empty if the file lacks it.

        `columns` are those to read, default all of format version 1. NaN and infinities are null.
        Raises `ProfileError` for damage.
        """
        return self.guarded(lambda: self._frame(table, columns))

    def _frame(self, table: str, columns: Sequence[str] | None) -> pl.DataFrame:
        frame = self.source.frame(table, NEEDED[table] if columns is None else list(columns))
        if table != "paths" and "path" in frame.columns:
            self.check_paths(frame["path"].to_numpy(), table)
        return frame

    def exchanges(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return what ranks exchange, by p2p messages and by neighbourhood collectives."""
        return pl.concat([self.frame("partners", columns), self.frame("neighbors", columns)])

    @cached_property
    def regions(self) -> RegionTree:
        """The tree of regions."""
        (path, parent, communication), names = self._small(
            "paths", ("path", "parent", "communication"), "name"
        )
        if not np.array_equal(path, np.arange(len(path))):
            raise DamageError("its table paths is not numbered by row").of(self.path)
        return self.guarded(lambda: region_tree(names, parent, communication))

    @cached_property
    def hosts(self) -> Hosts:
        """Which rank ran where."""
        (ranks,), hosts = self._small("processes", ("rank",), "host")
        return self.guarded(lambda: Hosts(ranks, hosts))

    def _small(
        self, table: str, numbers: Sequence[str], text: str
    ) -> tuple[list[np.ndarray[Any, Any]], list[str]]:
        """Return columns of numbers, and one of texts, without rows that are not known whole."""
        if isinstance(self.source, ProfileFile):  # without the detour by frames, for a thousand profiles
            found = self.source.columns(table, [*numbers, text])
            strings = self.source.strings
            return [found[name] for name in numbers], [strings[index] for index in found[text].tolist()]
        frame = self.frame(table, [*numbers, text]).drop_nulls()
        return [frame[name].to_numpy() for name in numbers], frame[text].to_list()

    @cached_property
    def sent_away(self) -> pl.DataFrame:
        """What was sent to other hosts: partners are by far the longest table, and are read once for all."""
        from haloscope.profile.tables.ranks import sent_away

        return self.guarded(lambda: sent_away(self))

    @cached_property
    def site_book(self) -> SiteBook:
        """Where in the source the calls came from, if that was recorded (`run --callsites`)."""
        from haloscope.profile.sites import SiteBook

        return SiteBook(self)

    def check_paths(self, paths: np.ndarray[Any, Any], table: str) -> None:
        """Raise `DamageError` if a table has rows of a region that is not there."""
        if len(paths) and not (paths.min() >= 0 and paths.max() < len(self.regions)):
            raise DamageError(f"its table {table} names a region that is not there")


def open_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile at `path`. Raises `ProfileError`."""
    return Profile(path)


# What says which run a row of several profiles' tables is of.
RUN_COLUMNS: Mapping[str, Any] = {
    "profile": pl.String,
    "program": pl.String,
    "run_ranks": pl.Int64,
    "run_hosts": pl.Int64,
    "run_mpi_library": pl.String,
    "run_start": pl.Float64,
    "run_duration": pl.Float64,
    "run_partial": pl.Boolean,
    "run_version": pl.String,
}


def run_row(profile: Profile) -> dict[str, Any]:
    """Return the values of `RUN_COLUMNS` for a profile; `run_hosts` is how many. Raises `DamageError`."""
    told = checked_info(profile) | {"hosts": len(profile.hosts.names)}
    known = {name: told.get(name.removeprefix("run_")) for name in RUN_COLUMNS}
    return known | {"profile": str(profile.path)}


def run_columns(profile: Profile) -> pl.DataFrame:
    """Return `RUN_COLUMNS` of a profile, one row."""
    return pl.DataFrame([run_row(profile)], schema=RUN_COLUMNS)


def labelled(profile: Profile, name: str, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
    """Return a table of a profile with `RUN_COLUMNS` before it."""
    table = profile.table(name, exclusive=exclusive, region=region)
    return run_columns(profile).join(table, how="cross")
