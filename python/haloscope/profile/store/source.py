"""Where the tables of a profile come from: the recorder's file, or what another tool left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from haloscope.profile.store.trace_tables import Trace

__all__ = ["Source"]


class Source(Protocol):
    """What a profile asks of the place that it is read from."""

    @property
    def path(self) -> Path:
        """Where it stands."""

    @property
    def info(self) -> Mapping[str, Any]:
        """The run information by key."""

    @property
    def own_trace(self) -> Callable[[], Trace] | None:
        """What returns its trace, None if that is in stored tables, or is not known."""

    def rows(self, table: str) -> int:
        """Return the number of rows of a table, 0 for one that is not there."""

    def frame(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of a stored table; what is unknown is null. Raises `DamageError`."""

    def over_ranks(self, exclusive: bool) -> pl.DataFrame | None:
        """Return `path` and columns of the table `regions` where single ranks are not known, else None."""

    def lacks(self, table: str) -> str | None:
        """Return in words why there is nothing in a table, None if it could have rows."""

    def verify(self) -> None:
        """Read and check all of it. Raises `ProfileError`."""

    def close(self) -> None:
        """Let go of it."""
