"""Profiles as tables: one profile, or many read together."""

from __future__ import annotations

import os
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from haloscope.base.errors import ProfileError, UsageError
from haloscope.explain._columns import NEEDED
from haloscope.explain._directory import DamageError
from haloscope.explain._format import ProfileFile
from haloscope.explain._ranks import Hosts
from haloscope.explain._source import open_source
from haloscope.explain._tables import run_information
from haloscope.explain._tree import RegionTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from haloscope.explain._instances import Instances
    from haloscope.explain.sites import SiteBook
    from haloscope.explain.trace import Trace
    from haloscope.explain.waiting import Analysis

__all__ = ["Ensemble", "Profile", "labelled", "open_all", "open_profile", "run_columns"]

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
        from haloscope.explain._tables import build

        return self.guarded(lambda: build(self, name, exclusive, region))

    def lacks(self, name: str) -> str | None:
        """Return why nothing can be in the table `name`, None where the run decides.

        Other tools than the recorder do not know all tables.
        """
        return self.source.lacks(name)

    def remarks(self, table: str) -> list[str]:
        """Return what a table leaves out, or why it has nothing, in sentences."""
        from haloscope.explain._tables import TRACE_TABLES

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
        from haloscope.explain._instances import Instances

        return self.guarded(lambda: Instances(self, region))

    @property
    def has_trace(self) -> bool:
        """Whether the run was recorded with a trace (`run --trace`)."""
        from haloscope.explain.trace._from_profile import has_trace

        return self.source.own_trace is not None or has_trace(self)

    def trace(self) -> Trace:
        """Return every call, region and message with its time.

        Raises `UsageError` if the run was recorded without a trace, `ProfileError` for damage.
        """
        from haloscope.explain.trace._from_profile import read_trace

        return self.guarded(self.source.own_trace or (lambda: read_trace(self)))

    @cached_property
    def waiting(self) -> Analysis:
        """What the trace tells about waiting: who waited for whom, why, and what matters.

        Raises `UsageError` if the run was recorded without a trace, `ProfileError` for damage.
        """
        from haloscope.explain.waiting import Analysis

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
            self._check_paths(frame["path"].to_numpy(), table)
        return frame

    def exchanges(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return what ranks exchange, by p2p messages and by neighbourhood collectives."""
        return pl.concat([self.frame("partners", columns), self.frame("neighbors", columns)])

    @cached_property
    def regions(self) -> RegionTree:
        """The tree of regions."""
        paths = self.frame("paths", ["path", "parent", "communication", "name"])
        if not np.array_equal(paths["path"].to_numpy(), np.arange(len(paths))):
            raise DamageError("its table paths is not numbered by row").of(self.path)
        columns = (paths["parent"].to_numpy(), paths["communication"].to_numpy())
        return self.guarded(lambda: RegionTree(paths["name"].to_list(), *columns))

    @cached_property
    def hosts(self) -> Hosts:
        """Which rank ran where."""
        processes = self.frame("processes", ["rank", "host"]).drop_nulls()
        ranks = processes["rank"].to_numpy()
        return self.guarded(lambda: Hosts(ranks, processes["host"].to_list()))

    @cached_property
    def site_book(self) -> SiteBook:
        """Where in the source the calls came from, if that was recorded (`run --callsites`)."""
        from haloscope.explain.sites import SiteBook

        return SiteBook(self)

    def _check_paths(self, paths: np.ndarray[Any, Any], table: str) -> None:
        if len(paths) and not (paths.min() >= 0 and paths.max() < len(self.regions)):
            raise DamageError(f"its table {table} names a region that is not there")


def open_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile at `path`. Raises `ProfileError`."""
    return Profile(path)


_RUN_KEYS = ("ranks", "hosts", "mpi_library", "start", "duration", "partial", "version")


class Ensemble:
    """The profiles at `paths`, opened one after the other for each table."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths = [Path(path) for path in paths]

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def runs(self) -> pl.DataFrame:
        """One row a profile: profile, program, run_ranks, run_hosts (how many), run_start, …"""
        return pl.concat([self._each(path, run_columns) for path in self.paths])

    def table(self, name: str, *, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
        """Return the profiles' tables one below the other, the columns of `runs` before each.

        A profile without `region` adds no rows. Raises `UsageError` if no profile has it, and
        `ProfileError` for the first profile that cannot be read.
        """
        with_region = self.paths if region is None else self._having(region)
        parts = [
            self._each(path, lambda profile: labelled(profile, name, exclusive, region))
            for path in with_region
        ]
        # Diagonal: profiles may have recorded different values, or no range of sizes.
        return pl.concat(parts, how="diagonal")

    def _having(self, region: str) -> list[Path]:
        """Return the profiles that know `region`; the last one's `UsageError` if none does."""
        paths, missing = [], None
        for path in self.paths:
            missing = self._lacks(path, region)
            paths += [] if missing else [path]
        if missing and not paths:
            raise missing
        return paths

    @staticmethod
    def _lacks(path: Path, region: str) -> UsageError | None:
        with Profile(path) as profile:
            try:
                profile.guarded(lambda: profile.regions.matching(region))
            except UsageError as error:
                return error
        return None

    @staticmethod
    def _each(path: Path, action: Callable[[Profile], pl.DataFrame]) -> pl.DataFrame:
        with Profile(path) as profile:
            return profile.guarded(lambda: action(profile))


def open_all(profiles: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Ensemble:
    """Return the ensemble of a glob pattern such as `runs/*.halo`, or of several paths.

    Paths of a pattern come sorted. Raises `ProfileError` if nothing matches.
    """
    if isinstance(profiles, str | os.PathLike):
        pattern = os.fspath(profiles)
        paths = [pattern] if Path(pattern).exists() else sorted(glob(pattern, recursive=True))
    else:
        pattern, paths = "the list of profiles", [os.fspath(path) for path in profiles]
    if not paths:
        raise ProfileError(f"{pattern}: no profile matches; name files that `haloscope run` wrote")
    return Ensemble(paths)


def run_columns(profile: Profile) -> pl.DataFrame:
    """Return the row of `Ensemble.runs` for a profile."""
    told = run_information(profile)
    told["hosts"] = len(told["hosts"])
    types = {
        "ranks": pl.Int64,
        "hosts": pl.Int64,
        "start": pl.Float64,
        "duration": pl.Float64,
        "partial": pl.Boolean,
    }
    columns = [
        pl.Series("profile", [str(profile.path)], dtype=pl.String),
        pl.Series("program", [told["program"]], dtype=pl.String),
        *(pl.Series(f"run_{key}", [told[key]], types.get(key, pl.String)) for key in _RUN_KEYS),
    ]
    return pl.DataFrame(columns)


def labelled(profile: Profile, name: str, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
    """Return a table of a profile with the columns of `run_columns` before it."""
    table = profile.table(name, exclusive=exclusive, region=region)
    return run_columns(profile).join(table, how="cross")
