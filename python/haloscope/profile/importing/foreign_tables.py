"""Files of other tools, as tables of a profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import ProfileError
from haloscope.profile.store.columns import type_columns
from haloscope.profile.store.info_keys import TRACE_TABLES
from haloscope.profile.trace import Trace

# Shown tables whose name differs from that of their stored table.
_STORED_AS = {"regions": "ranks", "pop": "ranks", "binding": "processes", "info": "processes"}


def make_unreadable_error(path: Path, what: str, why: str) -> ProfileError:
    """Return the error for an unreadable file of another tool."""
    return ProfileError(f"{path}: {what} cannot be read: {why}")


@dataclass
class Foreign:
    """Tables of a run that another tool profiled, held in memory.

    `source` names the tool and file, such as `mpiP 3.5 report`. `tables` has the stored tables and columns
    that the file has; all others are null. Without data per rank, `totals` has the columns of the table
    `regions`, by `path`, inclusive and exclusive. `load`, if given, returns the tables on first use.
    `own_trace` returns the trace, if there is one.
    """

    path: Path
    source: str
    info: Mapping[str, Any]
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    totals: tuple[pl.DataFrame, pl.DataFrame] | None = None
    load: Callable[[], Mapping[str, pl.DataFrame]] | None = None
    own_trace: Callable[[], Trace] | None = None

    def _table(self, name: str) -> pl.DataFrame | None:
        if name not in self.tables and self.load is not None:
            load, self.load = self.load, None
            self.tables.update(load())
        return self.tables.get(name)

    def rows(self, table: str) -> int:
        """Return the number of rows of a table, 0 if it is not known."""
        frame = self._table(table)
        return 0 if frame is None else frame.height

    def frame(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of a table; columns that the tool does not know are null."""
        frame = self._table(table)
        if frame is None:
            return type_columns(table, columns)
        known = {name: frame[name] for name in columns if name in frame.columns}
        if not known:  # a table of nulls, with the length of the known one
            return type_columns(table, columns, {columns[0]: pl.repeat(None, frame.height, eager=True)})
        whole = type_columns(table, columns, known)
        return whole.select(
            pl.col(name).cast(kind) for name, kind in type_columns(table, columns).schema.items()
        )

    def over_ranks(self, exclusive: bool) -> pl.DataFrame | None:
        """Return the columns of `regions` if single ranks are not known."""
        return None if self.totals is None else self.totals[exclusive]

    def lacks(self, table: str) -> str | None:
        """Return a text if the tool does not know a table, else None."""
        if table in TRACE_TABLES and self.own_trace is not None:
            return None
        stored = _STORED_AS.get(table, table)
        if table == "regions" and self.totals is not None:
            return None
        return f"nothing is known of {table} from {self.source}" if self._table(stored) is None else None

    def verify(self) -> None:
        """Read all of it. Raises `ProfileError`."""
        self._table("paths")

    def close(self) -> None:
        """Nothing is open."""


def path_rows(names: Sequence[str], parents: Sequence[int], communication: Sequence[bool]) -> pl.DataFrame:
    """Return the table `paths` of a tree whose first entry is the program."""
    return pl.DataFrame(
        {
            "path": range(len(names)),
            "parent": parents,
            "name": names,
            "communication": [int(flag) for flag in communication],
        },
        schema={"path": pl.Int64, "parent": pl.Int64, "name": pl.String, "communication": pl.Int64},
    )
