"""The source of a profile's tables: the recorder's file, or a file of a different tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from haloscope.profile.store.trace_tables import Trace


class Source(Protocol):
    """The interface of a profile's source."""

    @property
    def path(self) -> Path:
        """Its path."""

    @property
    def info(self) -> Mapping[str, Any]:
        """The run information by key."""

    @property
    def own_trace(self) -> Callable[[], Trace] | None:
        """A function that returns its trace, None if that is in stored tables, or unknown."""

    def rows(self, table: str) -> int:
        """Return the number of rows of a table, 0 if it is missing."""

    def frame(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of a stored table; unknown values are null. Raises `DamageError`."""

    def over_ranks(self, exclusive: bool) -> pl.DataFrame | None:
        """Return `path` and columns of the table `regions` if single ranks are not known, else None."""

    def lacks(self, table: str) -> str | None:
        """Return the reason why a table is always empty, None if it could have rows."""

    def verify(self) -> None:
        """Read and check all of it. Raises `ProfileError`."""

    def close(self) -> None:
        """Close it."""
