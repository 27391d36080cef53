"""`Profile`, which `haloscope.open` returns: one profile as tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import polars as pl

# Packages load modules on first use: most profiles have no trace and no call sites.
from haloscope.profile import sites
from haloscope.profile import trace as traces
from haloscope.profile import waiting as waits
from haloscope.profile.importing.recognised import kind_of_foreign, open_foreign
from haloscope.profile.store.format import ProfileFile
from haloscope.profile.store.hosts import Hosts
from haloscope.profile.store.info_keys import TRACE_TABLES, check_info
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.source import Source
from haloscope.profile.store.trace_tables import Trace
from haloscope.profile.store.tree import RegionTree
from haloscope.profile.tables.instances import Instances
from haloscope.profile.tables.table_builders import build

if TYPE_CHECKING:
    from typing_extensions import Self

_NO_TRACE = "the run was recorded without a trace: record it with `haloscope run --trace`"


class Profile:
    """The profile of one run. Columns are read and checked when a table needs them.

    Close it, or use it in a `with` statement, when many profiles are open at a time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the profile at `path`. Raises `ProfileError` if it is not a whole profile."""
        self.data = ProfileData(open_source(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<haloscope profile {str(self.path)!r}>"

    def _repr_html_(self) -> str:
        """Return the run and its table `regions`, as notebooks show it."""
        from haloscope.profile.page.notebook import profile_html

        return profile_html(self.data, self.table("regions"))

    @property
    def path(self) -> Path:
        """The path of the profile."""
        return self.data.path

    @property
    def file(self) -> ProfileFile:
        """The recorder's file. Raises `UsageError` for a profile of another tool."""
        return self.data.file

    @property
    def info(self) -> Mapping[str, Any]:
        """The run information as the recorder wrote it; the table `info` has more."""
        return self.data.info

    def table(self, name: str, *, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
        """Return a table with the columns of the reference (docs/reference/tables.md).

        Counts and bytes are Int64, times Float64 seconds, unknown values null.

        Args:
            name: The table.
            exclusive: Values without those of nested regions.
            region: Only rows with this region or path.

        Raises:
            UsageError: If the table or region does not exist.
            ProfileError: If the file is damaged.
        """
        return self.data.guard(lambda: build(self.data, name, exclusive, region))

    def frame(self, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return a table of the file with its own column names; empty if the file does not have it.

        `columns` are those to read, default all of format version 1. NaN and infinities are null. Raises
        `ProfileError` for damage.
        """
        return self.data.frame(table, columns)

    def lacks(self, name: str) -> str | None:
        """Return the reason why the table `name` is always empty, None if it depends on the run.

        Tools other than the recorder do not know all tables.
        """
        return self.data.source.lacks(name)

    def remarks(self, table: str) -> list[str]:
        """Return sentences on data that a table leaves out, or on why it is empty."""
        if lacking := self.lacks(table):
            return [lacking]
        if table in TRACE_TABLES:
            return self.data.guard(lambda: self.waiting.remarks) if self.has_trace else [_NO_TRACE]
        return self.site_book.remarks if table == "sites" else []

    def instances(self, region: str) -> Instances:
        """Return start, duration and wait of every instance of a region, as matrices.

        `instances("halo").duration[p, k]` is the duration (s) of instance k of `halo` on the p-th rank.
        Raises `UsageError` unless instances of one path were recorded (`run --series`), `ProfileError` for
        damage.
        """
        return self.data.guard(lambda: Instances(self.data, region))

    @property
    def regions(self) -> RegionTree:
        """The tree of regions."""
        return self.data.regions

    @property
    def has_phases(self) -> bool:
        """Whether all regions are phases that the recorder found. Their begin varies between runs."""
        phases = set(self.data.phase_names.values())
        names = [name.removesuffix("/iteration") for name in self.regions.full_names[1:]]
        return bool(phases) and phases.issuperset(names)

    @property
    def hosts(self) -> Hosts:
        """The host of each rank."""
        return self.data.hosts

    @property
    def has_trace(self) -> bool:
        """Whether the run was recorded with a trace (`run --trace`)."""
        return self.data.has_trace

    def trace(self) -> Trace:
        """Return every call, region and message with its time.

        Raises `UsageError` if the run was recorded without a trace, `ProfileError` for damage.
        """
        return traces.read_trace(self.data)

    @property
    def waiting(self) -> waits.WaitAnalysis:
        """The wait states of the trace, their causes, and their effect on the run time.

        Raises `UsageError` if the run was recorded without a trace, `ProfileError` for damage.
        """
        return self.data.once(waits.analyse_waiting)

    @property
    def site_book(self) -> sites.SiteBook:
        """The source locations of MPI calls, if they were recorded (`run --callsites`)."""
        return self.data.once(sites.SiteBook)

    def verify(self) -> None:
        """Check every byte of the file. Raises `ProfileError`."""
        self.data.source.verify()

    def close(self) -> None:
        """Close the file."""
        self.data.source.close()


def open(path: str | os.PathLike[str]) -> Profile:
    """Return the profile at `path`. Raises `ProfileError`."""
    return Profile(path)


def open_source(path: str | os.PathLike[str]) -> Source:
    """Return the profile at `path`, whatever its name. Raises `ProfileError` if it is not one."""
    kind = kind_of_foreign(path)
    return ProfileFile(path) if kind is None else open_foreign(path, kind)


# Columns that identify the run in tables of several profiles.
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
    """Return the values of `RUN_COLUMNS` for a profile; `run_hosts` is a number. Raises `DamageError`."""
    information = check_info(profile.info) | {"hosts": len(profile.hosts.names)}
    known = {name: information.get(name.removeprefix("run_")) for name in RUN_COLUMNS}
    return known | {"profile": str(profile.path)}


def run_columns(profile: Profile) -> pl.DataFrame:
    """Return `RUN_COLUMNS` of a profile, one row."""
    return pl.DataFrame([run_row(profile)], schema=RUN_COLUMNS)


def label_table(
    profile: Profile, name: str, exclusive: bool = False, region: str | None = None
) -> pl.DataFrame:
    """Return a table of a profile with `RUN_COLUMNS` before it."""
    table = profile.table(name, exclusive=exclusive, region=region)
    return run_columns(profile).join(table, how="cross")
