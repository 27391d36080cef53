"""Aliases for names in exports: `--anonymous`.

All texts are replaced, except names of MPI, names of ours and numbers. Equal texts of one kind have one alias
in all profiles of an export. A column that is not listed as harmless is replaced, so new columns are safe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.profile import Profile
from haloscope.profile.store import ProfileData, ProfileFile, Source
from haloscope.profile.trace import Trace

# Columns of text with names of MPI, names of ours, or numbers.
_HARMLESS = {
    ("calls", "call"),
    ("collectives", "operation"),
    ("metadata", "kind"),
    ("modules", "module"),
    ("processes", "cpus"),
    ("processes", "numa_nodes"),
    ("processes", "sockets"),
    ("sites", "call"),
    ("sites", "stack"),
    ("sizes", "kind"),
    ("symbols", "module"),
    ("transfers", "protocol"),
    ("unaccounted", "call"),
}
# Kinds of texts whose column has a different name.
_KINDS = {
    ("paths", "name"): "region",
    ("communicators", "name"): "communicator",
    ("values", "name"): "value",
    ("modules", "build"): "build",
}
_KEPT = frozenset({"", "<program>", "MPI_COMM_WORLD", "MPI_COMM_SELF"})
_KEPT_INFO = frozenset({"mpi_abi", "mpi_standard", "version", "missing_ranks", "unwatched_ranks"})
_TEXTS = frozenset({"metadata", "job", "environment"})
# The part of a library's text that is kept. The rest has the builder and the place.
_LIBRARY = re.compile(r"(Open MPI|MPICH|Intel\(R\) MPI|MVAPICH2?|HPE? MPI|CRAY MPICH)\b[^,\n]{0,24}?[\d.]+")


class Aliases:
    """Aliases of texts, consistent over all uses of one `Aliases`."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, str]] = {}

    def of(self, kind: str, text: str) -> str:
        """Return the alias of a text of this kind, such as `host 2`."""
        if text in _KEPT:
            return text
        known = self._known.setdefault(kind, {})
        return known.setdefault(text, f"{kind} {len(known) + 1}")

    def column(self, kind: str, texts: pl.Series) -> pl.Series:
        """Return aliases of a column of texts; null stays null."""
        found = texts.unique(maintain_order=True).drop_nulls()
        aliases = pl.Series(texts.name, [self.of(kind, text) for text in found], dtype=pl.String)
        return pl.Series(texts.replace_strict(found, aliases, default=None))

    def frame(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a stored table with aliases in its columns of text."""
        return frame.with_columns(
            self.column(_KINDS.get((table, name), name), frame[name])
            for name, kind in frame.schema.items()
            if kind == pl.String and (table, name) not in _HARMLESS
        )

    def info(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return the run's information: numbers, harmless texts, and aliases of other known texts."""
        anonymous: dict[str, Any] = {}
        for key, value in info.items():
            if key in _KEPT_INFO or isinstance(value, bool | int | float) or value is None:
                anonymous[key] = value
            elif key in ("program", "command"):
                anonymous[key] = self.of(key, str(value))
            elif key == "mpi_library":
                library = _LIBRARY.match(str(value))
                anonymous[key] = library[0] if library else self.of("library", str(value))
            elif key in _TEXTS and isinstance(value, dict):
                anonymous[key] = {self.of("key", k): self.of("text", str(text)) for k, text in value.items()}
        return anonymous


class _AnonymousSource:
    """A source of a profile with aliases for texts. All reads pass through it."""

    def __init__(self, source: Source, aliases: Aliases) -> None:
        self._source, self._aliases = source, aliases

    @property
    def path(self) -> Path:
        """An alias with the suffix of profiles."""
        return Path(self._aliases.of("profile", str(self._source.path)).replace(" ", "-") + ".halo")

    @property
    def info(self) -> Mapping[str, Any]:
        """The source's information, with aliases for texts."""
        return self._aliases.info(self._source.info)

    @property
    def own_trace(self) -> Callable[[], Trace] | None:
        """The source's trace, with aliases."""
        read = self._source.own_trace
        return None if read is None else lambda: anonymise_trace(read(), self._aliases)

    def rows(self, table: str) -> int:
        """Return the number of rows of a table."""
        return self._source.rows(table)

    def frame(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of a stored table with aliases. Raises `DamageError`."""
        return self._aliases.frame(table, self._source.frame(table, columns))

    def over_ranks(self, exclusive: bool) -> pl.DataFrame | None:
        """Return `path` and columns of the table `regions`, None if single ranks are known."""
        return self._source.over_ranks(exclusive)

    def lacks(self, table: str) -> str | None:
        """Return the reason why a table has no rows as text, None if it could have rows."""
        return self._source.lacks(table)

    def verify(self) -> None:
        """Read and check all of it. Raises `ProfileError`."""
        self._source.verify()

    def close(self) -> None:
        """Close the source."""
        self._source.close()


class AnonymousProfile(Profile):
    """A profile with aliases for texts. Numbers are unchanged. It shares the file of the original."""

    def __init__(self, profile: Profile, aliases: Aliases) -> None:
        self.data = _AnonymousData(profile.data, aliases)


class _AnonymousData(ProfileData):
    def __init__(self, data: ProfileData, aliases: Aliases) -> None:
        super().__init__(_AnonymousSource(data.source, aliases))
        self._data = data

    @property
    def file(self) -> ProfileFile:
        """The recorder's file, from which only numbers are read. Raises `UsageError` for other sources."""
        return self._data.file


def anonymise_trace(trace: Trace, aliases: Aliases) -> Trace:
    """Return a trace with aliases for names of regions, hosts and communicators."""
    return replace(
        trace,
        communicators=aliases.frame("communicators", trace.communicators),
        paths=aliases.frame("paths", trace.paths),
        processes=aliases.frame("processes", trace.processes),
    )
