"""Where the tables of a profile come from: the recorder's file, or what another tool left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from haloscope.profile.store.format import ProfileFile
from haloscope.profile.importing import kind_of_foreign, open_foreign

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from haloscope.profile.trace import Trace

__all__ = ["Source", "open_source"]


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


def open_source(path: str | os.PathLike[str]) -> Source:
    """Return what stands at `path`, whatever its name. Raises `ProfileError` if it is no profile."""
    kind = kind_of_foreign(path)
    return ProfileFile(path) if kind is None else open_foreign(path, kind)
