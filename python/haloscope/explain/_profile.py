"""One profile, as tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from haloscope.explain._directory import LAYOUT, DamageError
from haloscope.explain._format import ProfileFile
from haloscope.explain._ranks import Hosts
from haloscope.explain._tree import RegionTree

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from haloscope.explain._instances import Instances

__all__ = ["Profile", "open_profile"]

_T = TypeVar("_T")


class Profile:
    """What one run left behind. Columns are read and checked when a table needs them.

    Close it, or use it in a `with` statement, when many profiles are open at a time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the profile at `path`. Raises `ProfileError` if it is not a whole profile."""
        self.file = ProfileFile(path)

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
        return self.file.path

    @property
    def info(self) -> Mapping[str, Any]:
        """The run information as the recorder wrote it; the table `info` says more."""
        return self.file.info

    def table(self, name: str, *, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
        """Return a table with the columns of the reference (docs/reference/tables.md).

        Values are inclusive of nested regions unless `exclusive`; `region` keeps the rows whose
        region or path is that. Counts and bytes are Int64, times Float64 seconds, what is unknown
        is null. Raises `UsageError` for an unknown table or region, `ProfileError` for damage.
        """
        from haloscope.explain._tables import build

        return self.guarded(lambda: build(self, name, exclusive, region))

    def instances(self, region: str) -> Instances:
        """Return start, duration and wait of every instance of a region, as matrices.

        `instances("halo").duration[p, k]` are the seconds that pass k through `halo` took on the
        p-th rank. Raises `UsageError` unless instances of one path were kept (`run --series`),
        `ProfileError` for damage.
        """
        from haloscope.explain._instances import Instances

        return self.guarded(lambda: Instances(self, region))

    def verify(self) -> None:
        """Check every byte of the file. Raises `ProfileError`."""
        self.file.verify()

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()

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
        names = list(LAYOUT[table]) if columns is None else list(columns)
        if table not in self.file.tables:
            return _empty(table, names)
        arrays = self.file.columns(table, names)
        if table != "paths" and "path" in arrays:
            self._check_paths(arrays["path"], table)
        series = {name: pl.Series(name, array) for name, array in arrays.items()}
        for name in names:
            kind = LAYOUT[table][name]
            if kind == "string":
                series[name] = self._strings.gather(series[name]).alias(name)
            elif kind == "real" and not np.isfinite(arrays[name]).all():
                series[name] = series[name].set(~series[name].is_finite(), None)
        return pl.DataFrame(list(series.values()))

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
        processes = self.frame("processes", ["rank", "host"])
        ranks = processes["rank"].to_numpy()
        return self.guarded(lambda: Hosts(ranks, processes["host"].to_list()))

    @cached_property
    def _strings(self) -> pl.Series:
        return pl.Series("strings", self.file.strings, dtype=pl.String)

    def _check_paths(self, paths: np.ndarray[Any, Any], table: str) -> None:
        if len(paths) and not (paths.min() >= 0 and paths.max() < len(self.regions)):
            raise DamageError(f"its table {table} names a region that is not there")


def open_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile at `path`. Raises `ProfileError`."""
    return Profile(path)


def _empty(table: str, names: Sequence[str]) -> pl.DataFrame:
    types = {"integer": pl.Int64, "real": pl.Float64, "string": pl.String}
    return pl.DataFrame(schema={name: types[LAYOUT[table][name]] for name in names})
